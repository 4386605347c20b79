"""The hidden folders beside a folder that is being replaced: names, locks, removal.

.NAME.new-TOKEN   being written; its writer holds the lock of this folder until the end
.NAME.old-TOKEN   the folder before, from the first rename until it is deleted
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from hbgl.checkpoint.manifest import MANIFEST, list_files
from hbgl.durable_files import try_lock

__all__ = [
    "delete_hidden",
    "hidden_name",
    "hidden_siblings",
    "lock_if_abandoned",
    "staging_folder",
]

_ABANDONED_SECONDS = 3600.0  # without locks: a hidden folder untouched for so long has no writer


def hidden_name(path: Path, kind: Literal["new", "old"]) -> Path:
    """A free hidden name beside ``path``."""
    return path.with_name(f".{path.name}.{kind}-{secrets.token_hex(4)}")


def hidden_siblings(path: Path, kind: Literal["new", "old"]) -> list[Path]:
    """The hidden folders beside ``path``, the latest first."""
    prefix = f".{path.name}.{kind}-"
    found = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, Path(entry.path)))
    return [place for _, place in sorted(found, reverse=True)]


@contextmanager
def staging_folder(path: Path) -> Iterator[Path]:
    """A hidden folder beside ``path``, locked by us, gone at the end."""
    while True:
        staging = hidden_name(path, "new")
        staging.mkdir()
        lock = _open_folder(staging)
        locked = lock is None or try_lock(lock) is not False
        if locked and staging.exists():
            break
        if lock is not None:  # a cleaner took the folder between mkdir and lock
            os.close(lock)
    try:
        yield staging
    finally:
        delete_hidden(staging)
        if lock is not None:
            os.close(lock)


@contextmanager
def lock_if_abandoned(folder: Path) -> Iterator[bool]:
    """Whether the writer of a hidden folder is dead; if so the folder is ours meanwhile."""
    lock = _open_folder(folder)
    try:
        ours = None if lock is None else try_lock(lock)
        yield _is_old(folder) if ours is None else ours
    finally:
        if lock is not None:
            os.close(lock)


def delete_hidden(folder: Path) -> None:
    """Delete a hidden folder, manifest first: without it nobody takes the rest for whole."""
    with suppress(OSError):
        (folder / MANIFEST).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _is_old(folder: Path) -> bool:
    try:
        places = [folder, *(folder / name for name, _ in list_files(folder))]
        return time.time() - max(p.stat().st_mtime for p in places) > _ABANDONED_SECONDS
    except FileNotFoundError:
        return False


def _open_folder(folder: Path) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:  # gone, or a system that does not open folders
        return None
