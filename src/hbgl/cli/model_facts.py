"""What a model folder says about itself, as JSON values: read without torch, after verifying."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hbgl.checkpoint import read_object, verify_folder
from hbgl.errors import HBGLError, ModelFolderError
from hbgl.settings import PRESETS, Settings, settings_from_json
from hbgl.taxonomy import Taxonomy, read_taxonomy

__all__ = ["ModelFacts", "flat_settings", "model_facts"]

ModelFacts = dict[str, Any]

_WEIGHTS = "model.safetensors"
_SIZES = {  # of encoders, as the families call them
    "width": ("hidden_size", "dim"),
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "positions": ("max_position_embeddings",),
    "vocabulary": ("vocab_size",),
}


def model_facts(folder: Path) -> tuple[ModelFacts, Taxonomy]:
    """Every section of ``hbgl inspect --json``, and the taxonomy for drawing it.

    :raises ModelFolderError: naming what is damaged, missing or foreign.
    """
    manifest = verify_folder(folder)
    config, thresholds, calibration, metrics = (
        read_object(folder / f"{name}.json")
        for name in ("config", "thresholds", "calibration", "metrics")
    )
    try:
        taxonomy = read_taxonomy(folder / "taxonomy.tsv")
        settings = settings_from_json(config["settings"])
        facts: ModelFacts = {
            "model": str(folder),
            "format": config["format"],
            "method": settings.model.method,
            "backbone": _backbone(config["backbone"]),
            "taxonomy": _taxonomy(taxonomy),
            **_settings(settings),
            **_training(metrics, settings.global_stage.steps),
            "label_documents": _label_documents(metrics.get("label_documents"), taxonomy),
            "decision": _decision(thresholds, taxonomy),
            "calibration": [dict(one) for one in calibration["levels"]],
            "tuning": _object(metrics.get("tuning") or {}),
            "engine": _engine(config.get("engine")),
            "parameters": _parameters(folder / _WEIGHTS) if "engine" not in config else None,
            "files": [
                {"name": name, "bytes": entry["size"], "sha256": entry["sha256"]}
                for name, entry in sorted(manifest["files"].items())
            ],
        }
    except (HBGLError, OSError, LookupError, TypeError, ValueError, AttributeError) as fault:
        if isinstance(fault, ModelFolderError):
            raise
        raise ModelFolderError(
            f"{folder} is not a model folder that this version can read ({fault}); "
            "copy it again from its source, or train it again"
        ) from fault
    return facts, taxonomy


def flat_settings(settings: Settings) -> dict[str, Any]:
    """All choices by name: ``backbone``, ``model.head``, ``training.epochs``, ..."""
    flat: dict[str, Any] = {}
    for part, value in settings.to_json().items():
        if isinstance(value, dict):
            flat |= {f"{part}.{name}": one for name, one in value.items()}
        else:
            flat[part] = value
    return flat


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"a JSON object is wanted, not {value!r}")
    return value


def _backbone(config: dict[str, Any]) -> dict[str, Any]:
    encoder = _object(config["encoder"])
    sizes = {
        name: next((encoder[key] for key in keys if key in encoder), None)
        for name, keys in _SIZES.items()
    }
    named = {key: config[key] for key in ("name", "model_type", "source", "sha256")}
    return {**named, **{name: value for name, value in sizes.items() if value is not None}}


def _taxonomy(taxonomy: Taxonomy) -> dict[str, Any]:
    import numpy as np

    parents = np.bincount(taxonomy.edges[:, 1], minlength=len(taxonomy))
    children = np.bincount(taxonomy.edges[:, 0], minlength=len(taxonomy))
    return {
        "labels": len(taxonomy),
        "depth": taxonomy.depth,
        "labels_per_level": np.bincount(taxonomy.levels)[1:].tolist(),
        "leaves": len(taxonomy.leaves),
        "most_children": int(children.max()),
        "several_parents": int((parents > 1).sum()),
        "words_of_their_own": len(taxonomy.names.own),
    }


def _settings(settings: Settings) -> dict[str, Any]:
    """All settings, the preset they are nearest to, and where they differ from it."""
    own = flat_settings(settings)
    differences = {
        name: {key: value for key, value in flat_settings(preset).items() if own[key] != value}
        for name, preset in PRESETS.items()
    }
    nearest = min(differences, key=lambda name: len(differences[name]))
    return {"settings": own, "preset": nearest, "preset_differs": differences[nearest]}


def _training(metrics: dict[str, Any], global_steps: int) -> dict[str, Any]:
    """What is said of the run, and its curves as [x, y] points; both may be empty.

    Of a long global stage the loss of every n-th step is kept.
    """
    loop = _object(metrics.get("training") or {})
    facts: dict[str, Any] = {
        key: value for key, value in metrics.items() if isinstance(value, (str, int, float))
    }
    facts |= {key: value for key, value in loop.items() if isinstance(value, (int, float))}
    if "seconds" in metrics:
        facts["seconds"] = metrics["seconds"]
    for split in ("dev", "test"):
        if metrics.get(split):
            facts[split] = _object(metrics[split])
    rounds = list(loop.get("evaluations") or ())
    global_losses = [float(loss) for loss in metrics.get("global_losses") or ()]
    every = max(1, round(global_steps / max(len(global_losses), 1)))
    curves = {
        "global_loss": [[1.0 + i * every, loss] for i, loss in enumerate(global_losses)],
        "loss": [[float(step), float(loss)] for step, loss, _ in loop.get("losses") or ()],
        "dev_micro_f1": [[float(one["epoch"]), float(one["micro_f1"])] for one in rounds],
        "dev_macro_f1": [[float(one["epoch"]), float(one["macro_f1"])] for one in rounds],
    }
    return {"training": facts, "curves": curves}


def _label_documents(counts: Any, taxonomy: Taxonomy) -> dict[str, int]:
    """Training documents of each label; empty where the folder does not say."""
    return dict(zip(taxonomy.labels, map(int, counts), strict=True)) if counts else {}


def _decision(data: dict[str, Any], taxonomy: Taxonomy) -> dict[str, Any]:
    """The rule, and thresholds by level with the labels that have their own."""
    own = {str(label): float(value) for label, value in _object(data["labels"]).items()}
    by_level: list[list[float]] = [[] for _ in range(taxonomy.depth)]
    for label, value in own.items():
        by_level[int(taxonomy.levels[taxonomy.id(label)]) - 1].append(value)
    common = [float(value) for value in data["levels"]]
    levels = []
    for level, (threshold, others) in enumerate(zip(common, by_level, strict=True), start=1):
        one: dict[str, Any] = {"level": level, "threshold": threshold, "of_their_own": len(others)}
        if others:
            one |= {"lowest": min(others), "highest": max(others)}
        levels.append(one)
    return {
        "rule": data["rule"],
        "most_paths": data["most_paths"],
        "levels": levels,
        "labels": own,
    }


def _engine(description: Any) -> dict[str, Any] | None:
    """What an exported model was exported for; None: the folder has torch weights."""
    if description is None:
        return None
    engine = _object(description)
    known = {key: engine.get(key) for key in ("versions", "source") if engine.get(key)}
    return {"name": str(engine["name"]), "int8": bool(engine["int8"]), **known}


def _parameters(weights: Path) -> dict[str, int]:
    """Counted from the header of the weights file: no tensor is read."""
    from safetensors import SafetensorError, safe_open

    counts = {"encoder": 0, "labels": 0, "transform": 0}
    try:
        with safe_open(weights, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118
                size = math.prod(file.get_slice(name).get_shape())
                part = name.partition(".")[0]
                counts[part if part in counts else "labels"] += size
    except SafetensorError as error:
        raise ModelFolderError(
            f"{weights} is damaged or not a safetensors file ({error}); take it from a copy"
        ) from None
    return {"total": sum(counts.values()), **counts}
