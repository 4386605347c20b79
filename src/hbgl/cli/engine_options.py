"""``--engine``: which folder it means, settled before torch is loaded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from hbgl.errors import ModelFolderError, UsageError

__all__ = [
    "EngineChoice",
    "ExportEngine",
    "default_export",
    "exported_engine",
    "model_of_engine",
    "model_state",
]

ExportEngine: TypeAlias = Literal["onnx", "openvino"]
EngineChoice: TypeAlias = Annotated[
    Literal["torch", "onnx", "openvino"] | None,
    typer.Option(
        "--engine",
        help="Predict with torch, or with the export of MODEL for onnx or openvino (MODEL-onnx, "
        "written by hbgl export). Default: what MODEL is.",
    ),
]


def model_of_engine(model: Path, engine: str | None) -> Path:
    """The folder to load: MODEL itself, or its export for the engine.

    :raises UsageError: if there is none, with the command that writes it.
    """
    if engine is None:
        return model
    known = exported_engine(model)
    if known == engine or (known is None and engine == "torch"):
        return model
    if known is not None:
        raise UsageError(
            f"{model} is an export for {known}; for --engine {engine} name the model folder that "
            "it was exported from"
        )
    export = default_export(model, engine)
    command = f"hbgl export {model} --engine {engine}"
    if not export.is_dir():
        raise UsageError(f"{model} has no export for {engine}; write one with: {command}")
    if exported_engine(export) != engine:
        raise UsageError(f"{export} is no export for {engine}; write one with: {command} -o DIR")
    if _config(export)["engine"].get("source") != model_state(model):
        raise UsageError(
            f"{export} was exported from another state of {model}; write it anew with: "
            f"{command} --force"
        )
    return export


def default_export(model: Path, engine: str) -> Path:
    """Where ``hbgl export`` writes by default: ``my-model-onnx`` beside ``my-model``."""
    place = model.absolute() if model.name in ("", "..") else model
    return place.with_name(f"{place.name}-{engine}")


def exported_engine(model: Path) -> str | None:
    """The engine that a folder was exported for; None: it is a model in torch.

    What is no model folder at all is left to those who read it.
    """
    engine = _config(model).get("engine")
    return str(engine.get("name")) if isinstance(engine, dict) else None


def model_state(model: Path) -> str:
    """SHA-256 of the manifest, which has those of all files."""
    from hbgl.checkpoint import MANIFEST

    try:
        return hashlib.sha256((model / MANIFEST).read_bytes()).hexdigest()
    except OSError as error:
        raise ModelFolderError(f"cannot read {model / MANIFEST}: {error.strerror}") from error


def _config(model: Path) -> dict[str, Any]:
    try:
        config = json.loads((model / "config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}
