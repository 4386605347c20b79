"""The folder of a trained model: what its files hold, and reading them back.

A folder holds the model's weights, or the graphs of an engine that it was exported for; all other
files are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hbgl.backbones import Backbone, backbone_config, backbone_from_config
from hbgl.checkpoint import json_bytes, load_tensors, read_object, verify_folder
from hbgl.decisions import Calibration, Decision
from hbgl.engines import Engine, load_engine
from hbgl.errors import HBGLError, MissingExtraError, ModelFolderError, UsageError
from hbgl.methods import TorchMethod, build_method
from hbgl.settings import Settings, settings_from_json
from hbgl.taxonomy import Taxonomy, read_taxonomy, write_taxonomy

__all__ = ["WEIGHTS", "ModelParts", "default_device", "files_but_weights", "read_model_folder"]

WEIGHTS = "model.safetensors"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ModelParts:
    """What a model folder holds."""

    taxonomy: Taxonomy
    settings: Settings
    backbone: Backbone
    """Of an export: its tokenizer and shape, without memory for weights."""
    method: TorchMethod | Engine
    decision: Decision
    metrics: dict[str, Any]
    device: torch.device


def files_but_weights(
    taxonomy: Taxonomy,
    settings: Settings,
    backbone: Backbone,
    decision: Decision,
    metrics: Mapping[str, Any],
    card: str,
    **config: Any,
) -> dict[str, bytes | Callable[[Path], None]]:
    """Every file but the weights, for ``write_folder``; ``config`` is added to ``config.json``."""
    description = {
        "format": _FORMAT,
        "settings": settings.to_json(),
        "backbone": backbone_config(backbone),
        "has_transform": backbone.transform is not None,
        "labels": len(taxonomy),
        "depth": taxonomy.depth,
        **config,
    }
    names = {label: taxonomy.names[label] for label in taxonomy.labels}
    return {
        "config.json": json_bytes(description),
        "taxonomy.tsv": lambda file: write_taxonomy(taxonomy, file),
        "names.json": json_bytes(names),
        "tokenizer.json": backbone.tokenizer.to_str().encode(),
        "thresholds.json": json_bytes(decision.to_json(taxonomy)),
        "calibration.json": json_bytes({"levels": decision.calibration.to_json()}),
        "metrics.json": json_bytes(metrics),
        "README.md": card.encode(),
    }


def read_model_folder(folder: Path, device: str | torch.device | None) -> ModelParts:
    """Verify every file by its SHA-256, then read them.

    :param device: default: a GPU where there is one, else the CPU; an export runs on the CPU.
    :raises ModelFolderError: naming the file that is damaged, missing or foreign.
    """
    verify_folder(folder)
    config, thresholds, calibration, metrics = (
        read_object(folder / f"{name}.json")
        for name in ("config", "thresholds", "calibration", "metrics")
    )
    if config.get("format") != _FORMAT:
        raise ModelFolderError(
            f"{folder}: model format {config.get('format')}, but this version reads {_FORMAT}; "
            "install the version of hbgl that wrote it"
        )
    place = _place(folder, device, exported="engine" in config)
    try:
        taxonomy = read_taxonomy(folder / "taxonomy.tsv")
        settings = settings_from_json(config["settings"])
        backbone, method = _read_method(folder, config, taxonomy, settings)
        maps = Calibration.from_json(calibration["levels"])
        decision = Decision.from_json(thresholds, maps, taxonomy)
    except MissingExtraError:
        raise
    except (HBGLError, OSError, KeyError, ValueError, RuntimeError, TypeError) as fault:
        raise ModelFolderError(
            f"{folder} is not a model folder that this version can read ({fault}); "
            "copy it again from its source, or train it again"
        ) from fault
    if not isinstance(method, Engine):
        method.to(place)
    return ModelParts(taxonomy, settings, backbone, method.eval(), decision, metrics, place)


def _read_method(
    folder: Path, config: Mapping[str, Any], taxonomy: Taxonomy, settings: Settings
) -> tuple[Backbone, TorchMethod | Engine]:
    exported = config.get("engine")
    with nullcontext() if exported is None else torch.device("meta"):
        backbone = backbone_from_config(
            config["backbone"],
            (folder / "tokenizer.json").read_text("utf-8"),
            has_transform=config["has_transform"],
            initialise=False,
        )
    if exported is not None:
        precision = settings.training.precision
        return backbone, load_engine(folder, exported, taxonomy, precision=precision)
    method = build_method(backbone, taxonomy, settings.model, None)
    method.load_state_dict(load_tensors(folder / WEIGHTS))
    return backbone, method


def _place(folder: Path, device: str | torch.device | None, *, exported: bool) -> torch.device:
    place = torch.device(device) if device is not None else default_device()
    if not exported:
        return place
    if device is not None and place.type != "cpu":
        raise UsageError(f"{folder} is an export and runs on the CPU, not on {device}")
    return torch.device("cpu")


def default_device() -> torch.device:
    """A GPU where torch finds one, else the CPU."""
    if torch.accelerator.is_available():
        return torch.device(str(torch.accelerator.current_accelerator()))
    return torch.device("cpu")
