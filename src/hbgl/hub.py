"""Model folders on the Hugging Face hub: only their known files go up and come down.

What comes down is checked against the manifest that was uploaded with it. The model card is left
out: people edit it on the hub, and no answer depends on it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hbgl.checkpoint import MANIFEST, json_bytes, verify_folder
from hbgl.checkpoint.manifest import read_manifest
from hbgl.errors import HBGLError, ModelFolderError

__all__ = ["CARD", "MODEL_FILES", "downloaded_model", "upload_model"]

CARD = "README.md"
MODEL_FILES = (
    "model.safetensors",
    "config.json",
    "taxonomy.tsv",
    "names.json",
    "tokenizer.json",
    "thresholds.json",
    "calibration.json",
    "metrics.json",
    "estimator.json",
    MANIFEST,
)
"""All that is ever taken from a repository; none of it is code."""

_SECONDS = 10.0
_REASON_LENGTH = 300


def upload_model(
    folder: Path,
    repo_id: str,
    *,
    private: bool | None = None,
    revision: str | None = None,
    message: str | None = None,
    token: str | None = None,
) -> str:
    """Upload a model folder as one commit, into a repository that is made if need be.

    :param repo_id: ``owner/name``.
    :param private: of a new repository; None: as the owner's settings say.
    :param revision: a branch; None: main.
    :param token: None: that of ``hf auth login`` or ``HF_TOKEN``.
    :returns: the address of the commit.
    :raises HBGLError: if the folder is damaged or the hub refuses.
    """
    verify_folder(folder)
    from huggingface_hub import HfApi

    known = [*MODEL_FILES, CARD]
    try:
        api = HfApi(token=token)
        api.create_repo(repo_id, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repo_id,
            folder_path=folder,
            revision=revision,
            commit_message=message or "Upload a model of hbgl",
            allow_patterns=known,
            # What an earlier model had and this one has not would contradict the manifest.
            delete_patterns=known,
        )
    # The client's exceptions are those of the HTTP library underneath, which changes by version.
    except Exception as error:
        raise HBGLError(
            f"the model cannot be uploaded to {repo_id} ({_reason(error)}); "
            "log in with `hf auth login`, and check the name and the network"
        ) from error
    return str(commit.commit_url)


@contextmanager
def downloaded_model(
    repo_id: str, *, revision: str | None = None, token: str | None = None
) -> Iterator[Path]:
    """A copy of a model folder on the hub, without its card, until the block ends.

    The download itself stays in the cache of huggingface_hub.

    :param revision: a branch, tag or commit; a commit is the only one that never changes.
    :raises HBGLError: if it cannot be reached, does not exist, or is no model folder.
    """
    from huggingface_hub import snapshot_download

    try:
        snapshot = Path(
            snapshot_download(
                repo_id,
                revision=revision,
                token=token,
                allow_patterns=list(MODEL_FILES),
                etag_timeout=_SECONDS,
            )
        )
    except Exception as error:  # as above
        raise HBGLError(
            f"{repo_id} is no model folder here, and cannot be downloaded ({_reason(error)}); "
            "check the name, the revision, the network and, for a private one, `hf auth login`"
        ) from error
    with tempfile.TemporaryDirectory(prefix="hbgl-") as place:
        folder = Path(place) / "model"
        _copy(snapshot, folder)
        yield folder


def _copy(snapshot: Path, folder: Path) -> None:
    """The known files themselves: those of the cache are links. The card leaves the manifest."""
    folder.mkdir()
    try:
        for name in MODEL_FILES:
            if (snapshot / name).is_file():
                shutil.copyfile(snapshot / name, folder / name)
    except OSError as error:
        raise ModelFolderError(f"{snapshot} cannot be copied: {error.strerror or error}") from error
    manifest = read_manifest(folder)
    manifest["files"].pop(CARD, None)
    (folder / MANIFEST).write_bytes(json_bytes(manifest))


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:_REASON_LENGTH]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
