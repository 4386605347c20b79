"""MANIFEST.json: what a folder must contain, byte for byte.

    {"files": {"model.safetensors": {"sha256": "53aa...", "size": 90868376}},
     "format": "hbgl-folder", "version": 1}

What it leaves out: the meaning of the files, which belongs to those who write them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from hbgl.errors import ModelFolderError

__all__ = [
    "MANIFEST",
    "check_folder",
    "is_safe_name",
    "json_bytes",
    "list_files",
    "make_manifest",
    "read_manifest",
    "read_object",
]

MANIFEST = "MANIFEST.json"
_FORMAT = "hbgl-folder"
_VERSION = 1
_BLOCK = 1 << 20  # bytes hashed at a time
_FAULTS_SHOWN = 5
_LARGEST_MANIFEST = 64 << 20  # bytes; a larger one is not ours


def json_bytes(value: object) -> bytes:
    """Readable JSON: indented, keys sorted, one final line break."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return text.encode("utf-8", errors="backslashreplace") + b"\n"


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model folder.

    Raises:
        ModelFolderError: It cannot be read, or is something else.
    """
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as fault:
        raise ModelFolderError(
            f"{path} cannot be read ({fault}); it does not belong to a model folder"
        ) from fault
    if not isinstance(value, dict):
        raise ModelFolderError(f"{path} is not a JSON object; copy the model from its source")
    return value


def make_manifest(folder: Path) -> dict[str, Any]:
    """Describe all files now in ``folder``: their SHA-256 and size."""
    files = {}
    for name, mode in list_files(folder):
        if not stat.S_ISREG(mode):
            raise ModelFolderError(f"{folder / name}: a symbolic link or special file; write files")
        files[name] = {"sha256": _sha256(folder / name), "size": (folder / name).stat().st_size}
    return {"format": _FORMAT, "version": _VERSION, "files": files}


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest itself, not yet the files that it lists."""
    path = folder / MANIFEST
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_MANIFEST:
            raise ModelFolderError(
                f"{path}: not a manifest of hbgl (link, special file or too large)"
            )
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelFolderError(_no_manifest(folder)) from None
    except NotADirectoryError:
        raise ModelFolderError(f"{folder} is a file; name a folder written by hbgl") from None
    except (ValueError, RecursionError):
        raise ModelFolderError(
            f"{path} is damaged: it is not JSON; take the folder from a copy or train again"
        ) from None
    except OSError as error:
        raise ModelFolderError(f"cannot read {path}: {error.strerror or error}") from None
    fault = _manifest_fault(manifest)
    if fault:
        raise ModelFolderError(f"{path}: {fault}")
    return dict(manifest)


def check_folder(folder: Path) -> dict[str, Any]:
    """Compare every file of ``folder`` with the manifest.

    Returns:
        The manifest.

    Raises:
        ModelFolderError: Names each damaged, truncated, swapped, missing or unlisted file.
    """
    manifest = read_manifest(folder)
    try:
        faults = list(_folder_faults(folder, manifest["files"]))
    except OSError as error:
        raise ModelFolderError(f"cannot read {folder}: {error.strerror or error}") from None
    if faults:
        shown = "; ".join(faults[:_FAULTS_SHOWN])
        more = f"; and {len(faults) - _FAULTS_SHOWN} more" if len(faults) > _FAULTS_SHOWN else ""
        raise ModelFolderError(
            f"{folder} is not what its {MANIFEST} says: {shown}{more}. "
            "Take the folder from a copy or write it again"
        )
    return manifest


def list_files(folder: Path) -> Iterator[tuple[str, int]]:
    """All files below ``folder`` but its manifest: POSIX name and mode, links not followed."""
    for place, folders, files in os.walk(folder, onerror=_raise, followlinks=False):
        folders.sort()
        for name in sorted(files + [name for name in folders if (Path(place) / name).is_symlink()]):
            path = Path(place) / name
            relative = path.relative_to(folder).as_posix()
            if relative != MANIFEST:
                yield relative, path.lstat().st_mode


def _raise(error: OSError) -> None:
    raise error


def _folder_faults(folder: Path, listed: dict[str, dict[str, Any]]) -> Iterator[str]:
    present = dict(list_files(folder))
    owners = {entry["sha256"]: name for name, entry in listed.items()}
    for name, entry in sorted(listed.items()):
        if name not in present:
            yield f"{name} is missing"
        elif not stat.S_ISREG(present[name]):
            yield f"{name} is a symbolic link or special file, not a file"
        else:
            fault = _file_fault(folder / name, entry, owners)
            if fault:
                yield f"{name} {fault}"
    for name in sorted(present.keys() - listed.keys()):
        yield f"{name} is not listed (remove it if you put it there)"


def _file_fault(path: Path, entry: dict[str, Any], owners: dict[str, str]) -> str | None:
    """What is wrong with the content of one file, if anything."""
    size = path.stat().st_size
    sha256 = _sha256(path)
    if (size, sha256) == (entry["size"], entry["sha256"]):
        return None
    if sha256 in owners:
        return f"has the content of {owners[sha256]} (swapped)"
    if size < entry["size"]:
        return f"is truncated: {size:,} of {entry['size']:,} bytes"
    if size > entry["size"]:
        return f"is damaged: {size:,} bytes instead of {entry['size']:,}"
    return "is damaged: same size, other SHA-256"


def _manifest_fault(manifest: object) -> str | None:
    """Why this is not a manifest that can be used, if so."""
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return f'not a manifest of hbgl ("format" is not "{_FORMAT}")'
    version = manifest.get("version")
    if type(version) is not int or not 1 <= version <= _VERSION:
        return f"version {version!r}, this hbgl reads version {_VERSION}; install a newer hbgl"
    files = manifest.get("files")
    if not isinstance(files, dict):
        return 'damaged: "files" is not a table'
    for name, entry in files.items():
        if not is_safe_name(name):
            return f"refused: {name!r} is not a name inside the folder"
        if not _is_entry(entry):
            return f"damaged: the entry of {name!r} has no usable sha256 and size"
    return None


def is_safe_name(name: str) -> bool:
    """Only plain relative names: no ``..``, no root, no drive, no backslash."""
    parts = PurePosixPath(name).parts
    return (
        bool(parts)
        and "/".join(parts) == name
        and name != MANIFEST
        and not any(part in ("..", "/") for part in parts)
        and not any(character in name for character in "\\:\0")
    )


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("sha256"), str)
        and re.fullmatch("[0-9a-f]{64}", entry["sha256"]) is not None
        and type(entry.get("size")) is int
        and entry["size"] >= 0
    )


def _no_manifest(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder} does not exist; name a folder written by hbgl"
    return (
        f"{folder} has no {MANIFEST}: it is not a folder of hbgl, or an incomplete copy; "
        "name another folder or copy it again"
    )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
