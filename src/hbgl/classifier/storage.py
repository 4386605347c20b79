"""A fitted estimator as files: the model folder, and ``estimator.json`` with the parameters.

A folder without that file, as ``hbgl train`` writes it, is read too: the parameters are then those
that lead to the model's settings.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hbgl.checkpoint import json_bytes
from hbgl.classifier.parameters import overrides_of, plain
from hbgl.errors import InputError, ModelFolderError
from hbgl.trained_model import TrainedModel

__all__ = ["FILE", "estimator_file", "model_from_bytes", "model_to_bytes", "read_estimator"]

FILE = "estimator.json"
_FORMAT = 1


def estimator_file(parameters: Mapping[str, Any], columns: Sequence[str] | None) -> bytes:
    """The content of ``estimator.json``; the taxonomy has a file of its own.

    :param columns: those of the label matrix, where the estimator was fitted on one.
    """
    written = {name: plain(value) for name, value in parameters.items() if name != "taxonomy"}
    try:
        return json_bytes({"format": _FORMAT, "parameters": written, "columns": columns})
    except (TypeError, ValueError) as fault:
        raise InputError(f"a parameter cannot be written as JSON: {fault}") from fault


def read_estimator(
    folder: Path, model: TrainedModel, known: Sequence[str]
) -> tuple[dict[str, Any], list[str] | None]:
    """Parameters and columns of a folder that was verified.

    :param known: the names that parameters may have.
    :raises ModelFolderError: if the file is from another version.
    """
    path = folder / FILE
    if not path.is_file():
        return overrides_of(model.settings), None
    try:
        content = json.loads(path.read_bytes())
        parameters, columns = dict(content["parameters"]), content["columns"]
        if content["format"] != _FORMAT or not set(parameters) <= set(known):
            raise ValueError(f"format {content['format']}")
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ModelFolderError(
            f"{path} cannot be used by this version ({fault}); install the version that wrote it, "
            "or open the folder with TrainedModel.load"
        ) from fault
    return parameters, columns


def model_to_bytes(model: TrainedModel) -> dict[str, bytes]:
    """All files of the model's folder by name."""
    with tempfile.TemporaryDirectory(prefix="hbgl-") as place:
        folder = Path(place) / "model"
        model.save(folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def model_from_bytes(files: Mapping[str, bytes]) -> TrainedModel:
    """The inverse of :func:`model_to_bytes`; every file is checked."""
    with tempfile.TemporaryDirectory(prefix="hbgl-") as place:
        folder = Path(place) / "model"
        folder.mkdir()
        for name, content in files.items():
            (folder / Path(name).name).write_bytes(content)
        return TrainedModel.load(folder)
