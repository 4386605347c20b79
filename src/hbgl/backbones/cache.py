"""Downloads on disk: complete and verified, or absent.

Each entry is a folder with ``ORIGIN.json``: its name, where it came from, and the SHA-256 of each
file. It is written beside and renamed, so that processes that fetch the same backbone at once do
not meet. An entry can be copied anywhere and still be verified.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hbgl.backbones.tokenization import read_json_object
from hbgl.backbones.weights import WEIGHTS_FILE
from hbgl.errors import BackboneError

__all__ = [
    "ORIGIN_FILE",
    "Cache",
    "Located",
    "WrongContentError",
    "default_cache",
    "file_sha256",
    "read_entry",
]

ORIGIN_FILE = "ORIGIN.json"
_RENAME_ATTEMPTS = 10
_ABANDONED_SECONDS = 24 * 3600.0


def default_cache() -> Path:
    """``$HBGL_CACHE``, or ``~/.cache/hbgl``."""
    chosen = os.environ.get("HBGL_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "hbgl"


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal.

    Raises:
        BackboneError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise BackboneError(f"{path}: cannot be read ({error.strerror})") from error
    return digest.hexdigest()


class WrongContentError(BackboneError):
    """A file is there, and is not the one it should be."""

    def __init__(self, path: Path, found: str, expected: str) -> None:
        super().__init__(f"{path}: SHA-256 is {found}, expected {expected}; not used")


@dataclass(frozen=True, slots=True)
class Located:
    """A checkpoint folder whose weights were verified."""

    name: str
    folder: Path
    origin: str
    """Where it came from, without local paths."""
    sha256: str
    """Of model.safetensors."""


def read_entry(folder: Path) -> Located:
    """Read ``ORIGIN.json`` and check every file that it lists.

    Raises:
        BackboneError: a file is damaged or gone; names it.
    """
    record = read_json_object(folder / ORIGIN_FILE)
    digests = _digests(record, folder)
    for name, expected in digests.items():
        found = file_sha256(folder / name)
        if found != expected:
            raise WrongContentError(folder / name, found, expected)
    return Located(str(record["name"]), folder, str(record["origin"]), digests[WEIGHTS_FILE])


class Cache:
    """Verified checkpoint folders under one root."""

    def __init__(self, root: Path) -> None:
        self.root = root / "backbones"

    def folder(self, key: str) -> Path:
        """Where the entry of a key (``owner/name@revision``) is or would be."""
        return self.root / key.replace("/", "--")

    def find(self, key: str) -> Located | None:
        """Return the entry after checking every file, None if there is none.

        Raises:
            BackboneError: a file of the entry is damaged or gone; names it.
        """
        folder = self.folder(key)
        return read_entry(folder) if folder.is_dir() else None

    @contextmanager
    def partial(self) -> Iterator[Path]:
        """Give an empty folder on the cache's file system; it is removed if not stored.

        Raises:
            BackboneError: the cache cannot be written to.
        """
        # Not tempfile.mkdtemp: its folders are private, and a cache may be shared by a group.
        folder = self.root / f".partial-{os.getpid()}-{uuid.uuid4().hex}"
        try:
            folder.mkdir(parents=True)
            self._sweep()
        except OSError as error:
            raise BackboneError(
                f"{self.root}: the cache cannot be written to ({error.strerror}); "
                "set HBGL_CACHE to a folder that can"
            ) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def store(self, partial: Path, key: str, name: str, origin: str) -> Located:
        """Move a filled partial folder into its place; an equal entry there is kept instead.

        Raises:
            BackboneError: the place cannot be written to.
        """
        digests = {path.name: file_sha256(path) for path in sorted(partial.iterdir())}
        record = {"name": name, "origin": origin, "sha256": digests}
        (partial / ORIGIN_FILE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        for _ in range(_RENAME_ATTEMPTS):
            try:
                partial.rename(self.folder(key))
            except OSError as error:
                reason = error.strerror
            else:
                return Located(name, self.folder(key), origin, digests[WEIGHTS_FILE])
            # Something is there: another process was faster, or an entry that was found damaged.
            entry = self._intact(key)
            if entry is not None and entry.sha256 == digests[WEIGHTS_FILE]:
                return entry
            self._remove(key)
        raise BackboneError(f"{self.folder(key)}: cannot be written ({reason}); remove it")

    def _sweep(self) -> None:
        """Delete what processes that were killed long ago left behind."""
        for old in self.root.glob(".partial-*"):
            # Its owner may be removing it at this moment.
            with suppress(FileNotFoundError):
                if time.time() - old.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(old, ignore_errors=True)

    def _intact(self, key: str) -> Located | None:
        try:
            return self.find(key)
        except BackboneError:
            return None

    def _remove(self, key: str) -> None:
        """Move the entry aside before deleting it, so that nobody reads half of it."""
        with self.partial() as trash:
            try:
                self.folder(key).rename(trash / "entry")
            except FileNotFoundError:
                return
            except OSError as error:
                raise BackboneError(
                    f"{self.folder(key)}: damaged, and cannot be replaced ({error.strerror}); "
                    "remove it"
                ) from error


def _digests(record: dict[str, Any], folder: Path) -> dict[str, str]:
    digests = record.get("sha256")
    if (
        not isinstance(digests, dict)
        or WEIGHTS_FILE not in digests
        or not {"name", "origin"} <= record.keys()
    ):
        raise BackboneError(f"{folder / ORIGIN_FILE}: incomplete; remove {folder}")
    return {str(name): str(digest) for name, digest in digests.items()}
