"""Optimiser, learning-rate schedule and randomness, each a pure function of settings and step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from hbgl.settings import TrainingSettings

__all__ = [
    "build_optimizer",
    "learning_rate_factor",
    "seed_step",
    "set_learning_rate",
    "total_steps",
]

_STEP_STRIDE = 1_000_003
_PROCESS_STRIDE = 10_007
_SEEDS = 2**63
"""Torch's seeds have 64 bits."""


def total_steps(batches_per_epoch: int, epochs: float) -> int:
    """Optimisation steps of a run; a broken epoch is rounded up to whole steps."""
    # Rounded first: 10 * 1.1 is a little more than 11 in floating point, and still 11 steps.
    return max(1, math.ceil(round(batches_per_epoch * epochs, 6)))


def learning_rate_factor(step: int, total: int, settings: TrainingSettings) -> float:
    """Share of the peak rate at ``step`` (from 0): linear warm-up, then linear decay or constant.

    >>> settings = TrainingSettings(warmup=0.1)
    >>> [round(learning_rate_factor(step, 20, settings), 2) for step in (0, 1, 2, 11, 19)]
    [0.5, 1.0, 1.0, 0.5, 0.06]
    """
    warmup = settings.warmup if settings.warmup >= 1 else settings.warmup * total
    if step + 1 <= warmup:
        return (step + 1) / warmup
    if settings.schedule == "constant":
        return 1.0
    # A warm-up that ends between two steps, as 10% of 25 does, must not lead above the peak.
    return min(1.0, (total - step) / max(total - warmup, 1.0))


def build_optimizer(
    model: nn.Module,
    label_parameters: list[nn.Parameter],
    settings: TrainingSettings,
    by_depth: Sequence[Sequence[nn.Parameter]] = (),
) -> torch.optim.Optimizer:
    """Adam or AdamW over groups of one rate: decayed matrices and undecayed vectors.

    With layer decay c layer l of n has the rate times ``c^(n - l)``, the embeddings (l = 0) the
    lowest; label parameters have a rate of their own, all others the full one. Each group carries
    its ``peak_lr``, the first one the full rate; :func:`set_learning_rate` scales it.

    :param by_depth: the encoder's parameters, embeddings first, then layer by layer.
    """
    decay = settings.weight_decay if settings.optimizer == "adamw" else 0.0
    layers = list(by_depth)[::-1] if settings.layer_decay < 1 else []
    apart = {id(one) for part in (label_parameters, *layers) for one in part}
    rest = [one for one in model.parameters() if id(one) not in apart]
    rates = [settings.learning_rate * settings.layer_decay**down for down in range(len(layers))]
    parts = [
        (rest, settings.learning_rate),
        *zip(layers, rates, strict=True),
        (label_parameters, settings.label_learning_rate or settings.learning_rate),
    ]
    groups: list[dict[str, Any]] = []
    for parameters, rate in parts:
        trained = [one for one in parameters if one.requires_grad]
        groups.append(_group([one for one in trained if one.ndim >= 2], rate, decay))
        groups.append(_group([one for one in trained if one.ndim < 2], rate, 0.0))
    groups = [group for group in groups if group["params"]]
    # The fused kernel updates a tensor in one pass over memory; on a CPU that is the step's cost.
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)
    return torch.optim.Adam(groups, lr=settings.learning_rate, fused=True)


def _group(parameters: list[nn.Parameter], rate: float, decay: float) -> dict[str, Any]:
    return {"params": parameters, "lr": rate, "peak_lr": rate, "weight_decay": decay}


def set_learning_rate(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Every group's rate becomes its peak times ``factor``."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak_lr"] * factor


def seed_step(seed: int, step: int, process: int) -> None:
    """Seed torch for one step of one process.

    So dropout and teacher masking depend on (seed, step, process) only, and a resumed run needs no
    saved generator state to repeat them.
    """
    number = (seed * _STEP_STRIDE + step) * _PROCESS_STRIDE + process
    torch.manual_seed(number % _SEEDS)
