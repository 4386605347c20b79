"""What a killed training left on the disk, and whether it is what it must be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hbgl.checkpoint import MANIFEST, TrainingFolder, recover_folder, verify_folder
from hbgl.checkpoint.manifest import check_folder
from hbgl.errors import ModelFolderError

__all__ = ["being_written", "compare", "inspect", "run_folder", "where"]


def being_written(model: Path) -> Iterator[Path]:
    """The hidden folders of checkpoints and of the model."""
    for folder in (TrainingFolder(run_folder(model)).path, model.parent):
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if is_hidden(path))


def is_hidden(path: Path) -> bool:
    """Whether it is a folder on its way in (.new-) or out (.old-)."""
    return path.name.startswith(".") and (".new-" in path.name or ".old-" in path.name)


def run_folder(model: Path) -> Path:
    """The folder of the checkpoints."""
    return model.with_name(model.name + ".training")


def where(model: Path) -> str:
    """What the files tell about the instant of the kill."""
    hidden = [path.name for path in being_written(model)]
    if any(".old-" in name for name in hidden):
        return "while a folder was swapped in"
    if hidden:
        return "while a folder was written"
    if TrainingFolder(run_folder(model)).path.is_dir():
        return "between two checkpoints"
    return "before the first checkpoint"


def inspect(model: Path) -> Iterator[str]:
    """Faults in what a killed process left, before and after the repair."""
    checkpoints = TrainingFolder(run_folder(model))
    in_place = [model, checkpoints.last, checkpoints.best]
    replaced = [path for path in being_written(model) if ".old-" in path.name]
    for folder in (*in_place, *(path for path in replaced if (path / MANIFEST).exists())):
        yield from (f"before the repair: {fault}" for fault in damage(folder))
    for folder in in_place:
        recover_folder(folder)
        yield from (f"after the repair: {fault}" for fault in damage(folder))


def damage(folder: Path) -> Iterator[str]:
    """What is wrong with a folder, if it exists."""
    if folder.exists():
        try:
            check_folder(folder)
        except ModelFolderError as error:
            yield str(error)


def compare(reference: Path, model: Path) -> Iterator[str]:
    """Differences between the models of two runs."""
    try:
        verify_folder(model)
    except ModelFolderError as error:
        yield str(error)
        return
    for name in ("model.safetensors", "thresholds.json", "config.json", "tokenizer.json"):
        if (reference / name).read_bytes() != (model / name).read_bytes():
            yield f"{name} differs"
    one, other = (curves(folder) for folder in (reference, model))
    yield from (f"{key} differs" for key in one if one[key] != other.get(key))
    if run_folder(model).exists():
        yield "checkpoints are left"


def curves(model: Path) -> dict[str, Any]:
    """What the run kept of its course, without times."""
    metrics = json.loads((model / "metrics.json").read_bytes())
    kept = {key: value for key, value in metrics["training"].items() if key != "seconds"}
    return {**kept, "dev": metrics["dev"]}
