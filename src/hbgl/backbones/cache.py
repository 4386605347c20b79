"""Downloads on disk: complete and verified, or absent.

Each entry is a folder with ``ORIGIN.json``: where it came from and the SHA-256 of each file. It is
written beside and renamed, so that processes that fetch the same backbone at once do not meet.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hbgl.backbones.tokenization import read_json_object
from hbgl.backbones.weights import WEIGHTS_FILE
from hbgl.errors import BackboneError

__all__ = ["Cache", "CacheEntry", "default_cache", "file_sha256"]

_ORIGIN_FILE = "ORIGIN.json"
_RENAME_ATTEMPTS = 10


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


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A verified folder in the cache."""

    folder: Path
    origin: str
    sha256: str


class Cache:
    """Verified checkpoint folders under one root."""

    def __init__(self, root: Path) -> None:
        self.root = root / "backbones"

    def folder(self, key: str) -> Path:
        """Where the entry of a key (``owner/name@revision``) is or would be."""
        return self.root / key.replace("/", "--")

    def find(self, key: str) -> CacheEntry | None:
        """Return the entry after checking every file, None if there is none.

        Raises:
            BackboneError: a file of the entry is damaged or gone; names it.
        """
        folder = self.folder(key)
        if not folder.is_dir():
            return None
        record = read_json_object(folder / _ORIGIN_FILE)
        digests = _digests(record, folder)
        for name, expected in digests.items():
            found = file_sha256(folder / name)
            if found != expected:
                raise BackboneError(
                    f"{folder / name}: SHA-256 is {found}, expected {expected}; the file is damaged"
                )
        return CacheEntry(folder, str(record.get("origin", "cache")), digests[WEIGHTS_FILE])

    @contextmanager
    def partial(self, key: str) -> Iterator[Path]:
        """Give an empty folder on the cache's file system; it is removed if not stored.

        Raises:
            BackboneError: the cache cannot be written to.
        """
        # Not tempfile.mkdtemp: its folders are private, and a cache may be shared by a group.
        folder = self.root / f".partial-{os.getpid()}-{uuid.uuid4().hex}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise BackboneError(
                f"{self.root}: the cache cannot be written to ({error.strerror}); "
                "set HBGL_CACHE to a folder that can"
            ) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def store(self, partial: Path, key: str, origin: str) -> CacheEntry:
        """Move a filled partial folder into its place; an intact entry there is kept instead.

        Raises:
            BackboneError: the place cannot be written to.
        """
        digests = {path.name: file_sha256(path) for path in sorted(partial.iterdir())}
        record = {"origin": origin, "sha256": digests}
        (partial / _ORIGIN_FILE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        for _ in range(_RENAME_ATTEMPTS):
            try:
                partial.rename(self.folder(key))
            except OSError as error:
                reason = error.strerror
            else:
                return CacheEntry(self.folder(key), origin, digests[WEIGHTS_FILE])
            # Something is there: another process was faster, or an entry that was found damaged.
            entry = self._intact(key)
            if entry is not None:
                return entry
            self._remove(key)
        raise BackboneError(f"{self.folder(key)}: cannot be written ({reason}); remove it")

    def _intact(self, key: str) -> CacheEntry | None:
        try:
            return self.find(key)
        except BackboneError:
            return None

    def _remove(self, key: str) -> None:
        """Move the entry aside before deleting it, so that nobody reads half of it."""
        with self.partial(key) as trash:
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
    if not isinstance(digests, dict) or WEIGHTS_FILE not in digests:
        raise BackboneError(f"{folder / _ORIGIN_FILE}: incomplete; remove {folder}")
    return {str(name): str(digest) for name, digest in digests.items()}
