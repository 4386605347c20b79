"""Thresholds tuned on dev for Micro- or Macro-F1, one per level, and per label where dev allows.

A threshold lies half-way between two probabilities that occur, so that it decides as tuned on the
very same numbers. ``auto`` keeps thresholds per label only where they win in cross-validation:
with few dev documents they fit noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hbgl.settings import Granularity

__all__ = ["LevelThresholds", "fit_thresholds"]

Floats = npt.NDArray[np.float32]
Booleans = npt.NDArray[np.bool_]
Target = Literal["micro_f1", "macro_f1"]

_FOLDS = 5
_FOR_A_LABEL = 20
"""Positive dev documents from which on a label may have a threshold of its own."""
_CANDIDATES = 99
"""Thresholds that are tried for Macro-F1: 0.01 .. 0.99."""


@dataclass(frozen=True, slots=True)
class LevelThresholds:
    """What was fitted for one level."""

    level: float
    labels: Floats
    """[C] of each label; the level's own where dev has too little"""
    own: int
    """labels that have one of their own"""


def fit_thresholds(
    probabilities: Floats, gold: Booleans, target: Target, granularity: Granularity, seed: int
) -> LevelThresholds:
    """The thresholds of one level from its probabilities and truth on dev, [documents, C] each.

    A level without gold labels on dev keeps 0.5.
    """
    if not gold.any():
        return LevelThresholds(0.5, np.full(gold.shape[1], 0.5, dtype=np.float32), 0)
    by_level, by_label = (
        _fit(probabilities, gold, target, per_label=per_label) for per_label in (False, True)
    )
    if granularity == "level" or by_label.own == 0:
        return by_level
    if granularity == "label" or _per_label_wins(probabilities, gold, target, seed):
        return by_label
    return by_level


def _fit(
    probabilities: Floats, gold: Booleans, target: Target, *, per_label: bool
) -> LevelThresholds:
    best = _best_pooled if target == "micro_f1" else _best_mean
    level = best(probabilities, gold)
    labels = np.full(gold.shape[1], level, dtype=np.float32)
    rich = np.flatnonzero(gold.sum(axis=0) >= _FOR_A_LABEL).tolist() if per_label else []
    for label in rich:
        labels[label] = _best_pooled(probabilities[:, [label]], gold[:, [label]])
    return LevelThresholds(level, labels, len(rich))


def _per_label_wins(probabilities: Floats, gold: Booleans, target: Target, seed: int) -> bool:
    """Whether thresholds per label score better on held-out documents than the level's one."""
    folds = np.random.default_rng(seed).permutation(len(gold)) % _FOLDS
    chosen = {per_label: np.zeros_like(gold) for per_label in (False, True)}
    for fold in range(_FOLDS):
        out = folds == fold
        for per_label, choices in chosen.items():
            if gold[~out].any():
                fitted = _fit(probabilities[~out], gold[~out], target, per_label=per_label)
                choices[out] = probabilities[out] > fitted.labels
    scores = {per_label: _f1(choices, gold, target) for per_label, choices in chosen.items()}
    return scores[True] > scores[False]


def _f1(chosen: Booleans, gold: Booleans, target: Target) -> float:
    axis = None if target == "micro_f1" else 0
    hits = (chosen & gold).sum(axis=axis)
    sizes = chosen.sum(axis=axis) + gold.sum(axis=axis)
    return float(np.mean(2 * hits / np.maximum(sizes, 1)))


def _best_pooled(probabilities: Floats, gold: Booleans) -> float:
    """The threshold with the best F1 over all pairs together, exactly, by sorting.

    Four pairs: 0.9 true, 0.8 true, 0.7 false, 0.2 true. F1 is best above 0.2 with none left out
    (6/7), against 4/5 above 0.7.

    >>> _best_pooled(np.array([[0.9, 0.8, 0.7, 0.2]], "f4"), np.array([[1, 1, 0, 1]], bool))
    0.10000000149011612
    """
    values, truth = probabilities.ravel(), gold.ravel()
    order = np.argsort(-values, kind="stable")
    values, truth = values[order], truth[order]
    hits = np.cumsum(truth)
    f1 = 2 * hits / (np.arange(1, len(values) + 1) + truth.sum())
    # Only where the value changes can a threshold lie.
    f1[:-1][values[:-1] == values[1:]] = -1
    place = int(np.argmax(f1))
    below = values[place + 1] if place + 1 < len(values) else np.float32(0)
    return _between(float(values[place]), float(below))


def _best_mean(probabilities: Floats, gold: Booleans) -> float:
    """The threshold with the best mean F1 of the labels, among 0.01 .. 0.99."""
    candidates = np.linspace(0.01, 0.99, _CANDIDATES)
    scores = [_f1(probabilities > one, gold, "macro_f1") for one in candidates]
    best = np.flatnonzero(np.isclose(scores, np.max(scores), rtol=0, atol=1e-12))
    # Of equally good ones the middle: it is the furthest from any mistake.
    return float(np.float32(candidates[best[len(best) // 2]]))


def _between(above: float, below: float) -> float:
    middle = float(np.float32((above + below) / 2))
    # Where no number lies between, "greater than below" still divides the two.
    return middle if below <= middle < above else below
