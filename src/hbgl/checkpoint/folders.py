"""Folders that are complete or absent.

A new folder is written beside its place under a hidden name, flushed, described by its manifest
and then swapped in by two renames: the old one aside, the new one in.

A writer killed at any instant leaves NAME absent only between the two renames, and then both
hidden folders are complete: ``recover_folder`` puts one of them back.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hbgl.checkpoint.manifest import (
    MANIFEST,
    check_folder,
    is_safe_name,
    json_bytes,
    list_files,
    make_manifest,
    read_manifest,
)
from hbgl.checkpoint.siblings import (
    delete_hidden,
    hidden_name,
    hidden_siblings,
    lock_if_abandoned,
    staging_folder,
)
from hbgl.durable_files import sync_file, sync_folder
from hbgl.errors import ModelFolderError

__all__ = ["check_replaceable", "recover_folder", "remove_folder", "verify_folder", "write_folder"]

_WAIT_SECONDS = 30.0  # for the two renames of another living process
_ATTEMPTS = 100  # of a swap against other writers of the same folder


def write_folder(
    path: Path,
    files: Mapping[str, bytes | Callable[[Path], None]],
    *,
    replace_anything: bool = False,
) -> None:
    """Write or replace a whole folder, so that ``path`` is at no instant partly written.

    Args:
        path: The folder; one that exists must be empty or written by this function.
        files: Name (``a.json`` or ``sub/a.json``) to content, or to a function that writes the
            file whose path it is given. Further files that such a function writes beside it are
            kept and listed too.
        replace_anything: The place is ours alone: replace a damaged or foreign folder too.

    Raises:
        ModelFolderError: The disk is full, writing is not permitted, or ``path`` holds something
            else; what was there before is untouched and nothing half-written is left.
    """
    path = _absolute(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        recover_folder(path)
        if not replace_anything:
            check_replaceable(path)
        with staging_folder(path) as staging:
            _fill(staging, files)
            _swap(staging, path)
    except OSError as error:
        raise ModelFolderError(
            f"cannot write {path}: {error.strerror or error}; "
            "free space, change the permissions or choose another folder"
        ) from error


def check_replaceable(path: Path) -> None:
    """Refuse, before any work is done, a place where a folder of somebody else would be lost."""
    path = _absolute(path)
    if not path.name or path == Path.cwd():
        raise ModelFolderError(f"{path} is the current or root folder; name a folder inside it")
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise ModelFolderError(f"{path} is a file; name a folder or remove it")
    foreign = {name for name, _ in list_files(path)}
    if (path / MANIFEST).exists():
        foreign -= read_manifest(path)["files"].keys()
    if foreign:
        raise ModelFolderError(
            f"{path} contains {min(foreign)}, which hbgl did not write; "
            "name another folder, or move that file away"
        )


def verify_folder(path: Path) -> dict[str, Any]:
    """Check a folder against its manifest, after putting back what an interrupted swap left.

    Returns:
        The manifest.

    Raises:
        ModelFolderError: Names each damaged, truncated, swapped, missing or unlisted file.
    """
    path = _absolute(path)
    recover_folder(path)
    while True:
        identity = _identity(path)
        try:
            return check_folder(path)
        except ModelFolderError:
            recover_folder(path)
            if _identity(path) == identity:  # else it was replaced while we read it
                raise


def recover_folder(path: Path) -> None:
    """Finish or undo an interrupted swap and remove what dead writers left beside ``path``."""
    path = _absolute(path)
    try:
        _wait_for_swap(path)
        if not os.path.lexists(path):
            _put_back(path)
        # Listed before the look at path: an old folder seen here is then surely replaced.
        old_folders = hidden_siblings(path, "old")
        in_place = os.path.lexists(path)
        for old in old_folders:
            if in_place or not (old / MANIFEST).exists():
                delete_hidden(old)
        for new in hidden_siblings(path, "new"):
            with lock_if_abandoned(new) as abandoned:
                if abandoned:
                    delete_hidden(new)
    except OSError as error:
        raise ModelFolderError(f"cannot recover {path}: {error.strerror or error}") from error


def remove_folder(path: Path) -> None:
    """Remove a folder of ours as one step: killed at any instant it is whole or gone."""
    path = _absolute(path)
    recover_folder(path)
    try:
        if os.path.lexists(path):
            aside = hidden_name(path, "old")
            path.rename(aside)
            delete_hidden(aside)
    except OSError as error:
        raise ModelFolderError(f"cannot remove {path}: {error.strerror or error}") from error


def _fill(staging: Path, files: Mapping[str, bytes | Callable[[Path], None]]) -> None:
    """Write all files, flush them, and the manifest last."""
    for name, content in files.items():
        if not is_safe_name(name):
            raise ModelFolderError(f"{name!r} is not a name of a file inside a folder")
        place = staging / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            content(place)
            if not place.is_file():
                raise ModelFolderError(f"{name} was not written")
    mode = staging.stat().st_mode & 0o666  # some writers make files that only the owner can read
    for name, _ in list_files(staging):
        with suppress(PermissionError):  # file systems without permissions
            (staging / name).chmod(mode)
        sync_file(staging / name)
    manifest = json_bytes(make_manifest(staging))
    (staging / MANIFEST).write_bytes(manifest)
    sync_file(staging / MANIFEST)
    for walked, _, _ in os.walk(staging):
        sync_folder(Path(walked))


def _swap(staging: Path, path: Path) -> None:
    """Put the new folder into place; on failure put the old one back."""
    for _ in range(_ATTEMPTS):
        aside = hidden_name(path, "old")
        try:
            _move_aside(path, aside)
            staging.rename(path)
        except BaseException as error:
            if aside.exists() and not os.path.lexists(path):
                aside.rename(path)
            if _is_taken(error):  # another writer was faster; the last one wins
                continue
            raise
        sync_folder(path.parent)
        delete_hidden(aside)
        return
    raise ModelFolderError(f"{path} is being written by other processes; run one at a time")


def _move_aside(path: Path, aside: Path) -> None:
    with suppress(FileNotFoundError):
        try:
            path.rmdir()  # an empty folder is as good as none
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            path.rename(aside)


def _is_taken(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST)


def _put_back(path: Path) -> None:
    """Rename a complete hidden folder to ``path``: the new one, otherwise the old one."""
    for new in hidden_siblings(path, "new"):
        with lock_if_abandoned(new) as abandoned:
            if abandoned and _is_complete(new) and _rename_if_free(new, path):
                return
    for old in hidden_siblings(path, "old"):
        # Deleting begins with the manifest, so an old folder that has one is whole.
        if (old / MANIFEST).exists() and _rename_if_free(old, path):
            return


def _rename_if_free(source: Path, path: Path) -> bool:
    try:
        source.rename(path)
    except OSError as error:  # another process recovers the same folder
        if _is_taken(error) or isinstance(error, FileNotFoundError):
            return os.path.lexists(path)
        raise
    sync_folder(path.parent)
    return True


def _wait_for_swap(path: Path) -> None:
    """Let a living writer do its second rename.

    A writer that is stopped for long finds the old folder put back, and replaces it then.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    while (
        not os.path.lexists(path)
        and hidden_siblings(path, "old")
        and _is_being_written(path)
        and time.monotonic() < deadline
    ):
        time.sleep(0.005)


def _is_being_written(path: Path) -> bool:
    for new in hidden_siblings(path, "new"):
        with lock_if_abandoned(new) as abandoned:
            if not abandoned and new.exists():
                return True
    return False


def _is_complete(folder: Path) -> bool:
    try:
        check_folder(folder)
    except ModelFolderError:
        return False
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _absolute(path: Path) -> Path:
    """The place itself: a symbolic link to a folder stays, its target is replaced."""
    return Path(os.path.realpath(path))
