"""Fit a level's calibration on dev: all (document, label) pairs of the level together.

``auto`` takes the kind with the lowest cross-validated log loss, simpler ones first where it makes
no difference worth the name. Isotonic curves need many pairs on both sides to be more than noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hbgl.decisions.calibration import LevelMap, MapKind
from hbgl.settings import CalibrationKind

__all__ = ["fit_level_map"]

Floats = npt.NDArray[np.float64]

_PAIRS = 2_000_000
"""Most pairs that a fit looks at; beyond, whole documents are left out at random."""
_FOLDS = 5
_FOR_PLATT = 30
"""Positive pairs that two parameters need."""
_FOR_ISOTONIC = 1000
"""Positive pairs that a curve needs."""
_GAIN = 1e-3
"""Share of the log loss that a more complex kind has to save."""
_KNOTS = 256


def fit_level_map(
    scores: npt.NDArray[np.float32], gold: npt.NDArray[np.bool_], kind: CalibrationKind, seed: int
) -> LevelMap:
    """The map of one level from its scores and truth on dev, [documents, C] each.

    Without a positive or without a negative pair there is nothing to fit: kind ``none``.
    """
    scores, gold = _sampled(scores, gold, seed)
    z, y = scores.astype(np.float64).ravel(), gold.ravel()
    positives = int(y.sum())
    if kind == "none" or positives == 0 or positives == len(y):
        return LevelMap()
    if kind != "auto":
        return _fit(z, y, kind)
    kinds: list[MapKind] = ["none", "temperature"]
    if positives >= _FOR_PLATT:
        kinds.append("platt")
    if positives >= _FOR_ISOTONIC:
        kinds.append("isotonic")
    documents = np.repeat(np.random.default_rng(seed).permutation(len(gold)), gold.shape[1])
    losses = {one: _cross_validated(z, y, documents % _FOLDS, one) for one in kinds}
    best = kinds[0]
    for one in kinds[1:]:
        if losses[one] < losses[best] * (1 - _GAIN):
            best = one
    return _fit(z, y, best)


def _sampled(
    scores: npt.NDArray[np.float32], gold: npt.NDArray[np.bool_], seed: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    documents, labels = scores.shape
    most = max(1, _PAIRS // max(labels, 1))
    if documents <= most:
        return scores, gold
    kept = np.random.default_rng(seed).choice(documents, most, replace=False)
    return scores[kept], gold[kept]


def _cross_validated(
    z: Floats, y: npt.NDArray[np.bool_], folds: npt.NDArray[np.int64], kind: MapKind
) -> float:
    """Mean log loss on held-out documents."""
    total = 0.0
    for fold in range(_FOLDS):
        out = folds == fold
        if not out.any():
            continue
        inside = y[~out]
        if not inside.any() or inside.all():
            return float("inf")
        total += _log_loss(z[out], y[out], _fit(z[~out], inside, kind)) * int(out.sum())
    return total / len(y)


def _log_loss(z: Floats, y: npt.NDArray[np.bool_], fitted: LevelMap) -> float:
    import torch

    p = fitted(torch.from_numpy(z)).numpy().clip(1e-7, 1 - 1e-7)
    return float(-np.where(y, np.log(p), np.log1p(-p)).mean())


def _fit(z: Floats, y: npt.NDArray[np.bool_], kind: MapKind) -> LevelMap:
    if kind == "none":
        return LevelMap()
    if kind == "isotonic":
        return _isotonic(z, y)
    slope, offset = _logistic(z, y, with_offset=kind == "platt")
    # A falling map would turn the order round: the scores are then worth nothing, and stay.
    return LevelMap(kind, slope, offset) if slope > 0 else LevelMap()


def _logistic(z: Floats, y: npt.NDArray[np.bool_], *, with_offset: bool) -> tuple[float, float]:
    """Maximum likelihood of sigmoid(a z + b) by Newton's method, a weak prior at a = 1, b = 0.

    The prior (one pair's worth) keeps a finite where the scores separate the classes.
    """
    features = np.stack([z, np.ones_like(z)]) if with_offset else z[None]
    centre = np.array([1.0, 0.0])[: len(features)]
    weights = centre.copy()

    def loss(at: Floats) -> float:
        margin = np.where(y, at @ features, -(at @ features))
        return float(np.logaddexp(0.0, -margin).sum() + 0.5 * ((at - centre) ** 2).sum())

    now = loss(weights)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(weights @ features, -60, 60)))
        gradient = features @ (p - y) + (weights - centre)
        curvature = (features * (p * (1 - p))) @ features.T + np.eye(len(features))
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while loss(weights - size * step) > now and size > 1e-4:
            size /= 2
        weights = weights - size * step
        before, now = now, loss(weights)
        if before - now < 1e-9 * max(1.0, abs(before)):
            break
    return float(weights[0]), float(weights[1]) if with_offset else 0.0


def _isotonic(z: Floats, y: npt.NDArray[np.bool_]) -> LevelMap:
    """The curve through the middles of the fit's steps: straight lines keep the scores' order."""
    from sklearn.isotonic import IsotonicRegression

    values = IsotonicRegression().fit_transform(z, y.astype(np.float64))
    order = np.argsort(z, kind="stable")
    z, values = z[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > 0]))
    counts = np.diff(np.append(starts, len(values)))
    middles = np.add.reduceat(z, starts) / counts
    steps = values[starts]
    if len(steps) > _KNOTS:
        kept = np.unique(np.linspace(0, len(steps) - 1, _KNOTS).astype(int))
        middles, steps, counts = middles[kept], steps[kept], counts[kept]
    # A step of n pairs that are all alike is not certainty: as if half a pair had been otherwise.
    steps = np.maximum.accumulate(np.clip(steps, 0.5 / (counts + 1), 1 - 0.5 / (counts + 1)))
    knots: list[tuple[float, float]] = []
    for place, value in zip(middles.tolist(), steps.tolist(), strict=True):
        place, value = float(np.float32(place)), float(np.float32(value))
        if not knots or place > knots[-1][0]:
            knots.append((place, value))
    return LevelMap("isotonic", knots=tuple(knots)) if len(knots) >= 2 else LevelMap()
