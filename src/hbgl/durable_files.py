"""Files that survive a crash: flushed to the disk, replaced as a whole, locked while in use."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

__all__ = ["replace_file", "sync_file", "sync_folder", "try_lock"]


def replace_file(path: Path, content: bytes) -> None:
    """Give ``path`` new content; a reader sees the old or the new content, never a part."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool | None:
    """Take the exclusive lock of an open file or folder without waiting.

    The system gives the lock back when the process ends, however it ends.

    Returns:
        True when the lock is ours, False when another process holds it, None when this
        system or file system has no such locks.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
