"""Safetensors -> encoder and masked-LM transform, every name accounted for.

A checkpoint names the encoder's weights with its prefix (``bert.encoder...``, saved with heads) or
without (``encoder...``, saved bare). Heads and poolers are left; a weight that the encoder needs
and does not find, or that belongs to the encoder and has no place in it, is an error.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import PreTrainedModel
from transformers.initialization import no_init_weights

from hbgl.backbones.architectures import (
    ARCHITECTURES,
    Architecture,
    MaskedLMTransform,
    build_encoder,
    build_transform,
    encoder_config,
)
from hbgl.errors import BackboneError

__all__ = ["WEIGHTS_FILE", "load_encoder", "missing_weights_reason"]

WEIGHTS_FILE = "model.safetensors"

# Buffers that older versions of transformers saved with the weights, and poolers.
_IGNORED_ENDINGS = ("position_ids", "token_type_ids")
_NAMES_SHOWN = 5


def load_encoder(
    folder: Path, raw_config: dict[str, object]
) -> tuple[PreTrainedModel, MaskedLMTransform | None]:
    """Build the encoder that ``raw_config`` describes and fill it from the folder.

    Returns:
        The encoder and, where the checkpoint has one, its masked-LM transform; float32, eval mode.

    Raises:
        BackboneError: unsupported, damaged or incomplete.
    """
    config = encoder_config(raw_config, str(folder / "config.json"))
    architecture = ARCHITECTURES[config.model_type]
    path = folder / WEIGHTS_FILE
    weights = _read(path)
    # Every weight is overwritten below, so the random initialisation would be wasted time.
    with no_init_weights():
        model = build_encoder(config, str(folder / "config.json"))
        transform = build_transform(config)
    _fill(model, _encoder_weights(weights, model, architecture, path), path)
    transform_weights = _transform_weights(weights, architecture)
    if not transform_weights:
        return model, None
    _fill(transform, transform_weights, path)
    return model, transform


def missing_weights_reason(names: set[str]) -> str | None:
    """Why a checkpoint that has these files cannot be loaded; None if it has its weights."""
    if WEIGHTS_FILE in names:
        return None
    if f"{WEIGHTS_FILE}.index.json" in names:
        return (
            f"its weights are split over several files; save it again as one {WEIGHTS_FILE} "
            '(model.save_pretrained(FOLDER, max_shard_size="50GB"))'
        )
    if any(name.endswith((".bin", ".pt", ".pth")) for name in names):
        return (
            f"it has no {WEIGHTS_FILE}, only pickled weights, which can run code when loaded; "
            "convert it once where you trust it: AutoModelForMaskedLM.from_pretrained(OLD)"
            ".save_pretrained(NEW), and copy the tokenizer files"
        )
    return f"it has no {WEIGHTS_FILE}"


def _read(path: Path) -> dict[str, torch.Tensor]:
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BackboneError(
            f"{path}: not readable as safetensors ({error}); fetch the file again"
        ) from error
    return {_modern_name(name): tensor for name, tensor in weights.items()}


def _modern_name(name: str) -> str:
    """``LayerNorm.gamma`` and ``.beta`` are how the first BERT checkpoints name them."""
    if name.endswith("LayerNorm.gamma"):
        return name.removesuffix("gamma") + "weight"
    if name.endswith("LayerNorm.beta"):
        return name.removesuffix("beta") + "bias"
    return name


def _encoder_weights(
    weights: dict[str, torch.Tensor],
    model: PreTrainedModel,
    architecture: Architecture,
    path: Path,
) -> dict[str, torch.Tensor]:
    prefix = f"{architecture.prefix}."
    if any(name.startswith(prefix) for name in weights):
        weights = {
            name.removeprefix(prefix): tensor
            for name, tensor in weights.items()
            if name.startswith(prefix)
        }
    parts = tuple(f"{name}." for name, _ in model.named_children())
    wanted = {
        name: tensor
        for name, tensor in weights.items()
        if name.startswith(parts) and not name.endswith(_IGNORED_ENDINGS)
    }
    unplaced = sorted(wanted.keys() - model.state_dict().keys())
    if unplaced:
        raise BackboneError(
            f"{path}: holds encoder weights that its config.json has no place for: "
            f"{_some(unplaced)}; take both files from the same checkpoint"
        )
    return wanted


def _transform_weights(
    weights: dict[str, torch.Tensor], architecture: Architecture
) -> dict[str, torch.Tensor]:
    return {
        f"{part}.{kind}": weights[f"{name}.{kind}"]
        for part, name in (("dense", architecture.dense), ("norm", architecture.norm))
        for kind in ("weight", "bias")
        if f"{name}.{kind}" in weights
    }


def _fill(module: nn.Module, weights: dict[str, torch.Tensor], path: Path) -> None:
    expected = module.state_dict()
    missing = sorted(expected.keys() - weights.keys())
    if missing:
        what = "masked-LM transform" if isinstance(module, MaskedLMTransform) else "encoder"
        raise BackboneError(
            f"{path}: {what} weights are missing: {_some(missing)}; the checkpoint is incomplete "
            "or not of the type that its config.json names"
        )
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape or not tensor.is_floating_point():
            raise BackboneError(
                f"{path}: {name} is {tensor.dtype} of shape {list(tensor.shape)}, its config.json "
                f"asks for floats of shape {list(expected[name].shape)}; take both files from the "
                "same checkpoint"
            )
    # Copies into the float32 parameters, whatever precision the file has.
    module.load_state_dict(weights, strict=True)


def _some(names: list[str]) -> str:
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
