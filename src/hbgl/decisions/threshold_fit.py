"""Thresholds tuned on dev for Micro-F1, Macro-F1 or their mean, one per level and per label.

For Micro-F1 a threshold lies half-way between two probabilities that occur, so that it decides as
tuned on the very same numbers. With few dev documents a tuned threshold fits noise: ``auto`` takes
one per level, or per label, only where that wins in cross-validation, by more than its spread.
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
Target = Literal["micro_f1", "macro_f1", "mean_f1"]

_FOLDS = 5
_REPEATS = 4
_FOR_A_LABEL = 20
"""Positive dev documents from which on a label may have a threshold of its own."""
_CANDIDATES = 99
"""Thresholds that are tried where Macro-F1 counts: 0.01 .. 0.99."""


@dataclass(frozen=True, slots=True)
class LevelThresholds:
    """What was fitted for one level."""

    level: float
    labels: Floats
    """[C] of each label; the level's own where dev has too little"""
    own: int
    """labels that have one of their own"""


def fit_thresholds(
    probabilities: Floats,
    gold: Booleans,
    target: Target,
    granularity: Granularity,
    seed: int,
    untuned: float = 0.5,
) -> LevelThresholds:
    """The thresholds of one level from its probabilities and truth on dev, [documents, C] each.

    :param untuned: what ``auto`` keeps where nothing better is found, and a level without gold
        labels on dev in any case.
    """
    plain = LevelThresholds(untuned, np.full(gold.shape[1], untuned, dtype=np.float32), 0)
    if not gold.any():
        return plain
    by_level = _of_level(probabilities, gold, target)
    by_label = _of_labels(probabilities, gold, by_level)
    if granularity == "level":
        return by_level
    if granularity == "label":
        return by_label
    scores = _cross_validated(probabilities, gold, target, seed, untuned)
    best = plain
    best_scores = scores["untuned"]
    for name, fitted in (("level", by_level), ("label", by_label)):
        if name == "label" and fitted.own == 0:
            continue
        gains = scores[name] - best_scores
        # Repeats share their documents: as many independent gains as folds.
        if len(gains) > 1 and gains.mean() > gains.std() / np.sqrt(_FOLDS):
            best, best_scores = fitted, scores[name]
    return best


def _of_level(probabilities: Floats, gold: Booleans, target: Target) -> LevelThresholds:
    """One threshold for all labels."""
    if target == "micro_f1":
        level = _best_pooled(probabilities, gold)
    else:
        level = _best_candidate(probabilities, gold, target)
    return LevelThresholds(level, np.full(gold.shape[1], level, dtype=np.float32), 0)


def _of_labels(probabilities: Floats, gold: Booleans, by_level: LevelThresholds) -> LevelThresholds:
    """Labels with enough documents have their own, the others the level's."""
    labels = by_level.labels.copy()
    rich = np.flatnonzero(gold.sum(axis=0) >= _FOR_A_LABEL).tolist()
    for label in rich:
        labels[label] = _best_pooled(probabilities[:, [label]], gold[:, [label]])
    return LevelThresholds(by_level.level, labels, len(rich))


def _cross_validated(
    probabilities: Floats, gold: Booleans, target: Target, seed: int, untuned: float
) -> dict[str, Floats]:
    """Scores of each way on held-out documents, one for each fold of each repeat."""
    draw = np.random.default_rng(seed)
    scores: dict[str, list[float]] = {"untuned": [], "level": [], "label": []}
    for _ in range(_REPEATS):
        folds = draw.permutation(len(gold)) % _FOLDS
        for fold in range(_FOLDS):
            out = folds == fold
            if not gold[~out].any() or not out.any():
                continue
            seen, truth = probabilities[~out], gold[~out]
            by_level = _of_level(seen, truth, target)
            thresholds = {
                "untuned": np.float32(untuned),
                "level": by_level.labels,
                "label": _of_labels(seen, truth, by_level).labels,
            }
            for name, one in thresholds.items():
                scores[name].append(_f1(probabilities[out] > one, gold[out], target))
    return {name: np.array(found, dtype=np.float32) for name, found in scores.items()}


def _f1(chosen: Booleans, gold: Booleans, target: Target) -> float:
    hits, sizes = (chosen & gold).sum(axis=0), chosen.sum(axis=0) + gold.sum(axis=0)
    micro = float(2 * hits.sum() / max(sizes.sum(), 1))
    macro = float(np.mean(2 * hits / np.maximum(sizes, 1)))
    return {"micro_f1": micro, "macro_f1": macro, "mean_f1": (micro + macro) / 2}[target]


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


def _best_candidate(probabilities: Floats, gold: Booleans, target: Target) -> float:
    """The threshold with the best score among 0.01 .. 0.99."""
    candidates = np.linspace(0.01, 0.99, _CANDIDATES)
    scores = [_f1(probabilities > one, gold, target) for one in candidates]
    best = np.flatnonzero(np.isclose(scores, np.max(scores), rtol=0, atol=1e-12))
    # Of equally good ones the middle: it is the furthest from any mistake.
    return float(np.float32(candidates[best[len(best) // 2]]))


def _between(above: float, below: float) -> float:
    middle = float(np.float32((above + below) / 2))
    # Where no number lies between, "greater than below" still divides the two.
    return middle if below <= middle < above else below
