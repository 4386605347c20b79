"""Calibration: known distortions are undone, the order of scores stays, odd data do no harm."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from hbgl.decisions import Calibration, LevelMap, fit_level_map
from hbgl.errors import UsageError
from hbgl.settings import CalibrationKind

KINDS: tuple[CalibrationKind, ...] = ("none", "auto", "temperature", "platt", "isotonic")


def pairs(
    documents: int, labels: int, slope: float, offset: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Scores z whose truth has the probability sigmoid(slope z + offset)."""
    random = np.random.default_rng(seed)
    scores = random.normal(-1, 3, size=(documents, labels)).astype(np.float32)
    chances = 1 / (1 + np.exp(-(slope * scores + offset)))
    return scores, random.random(scores.shape) < chances


def error(found: LevelMap, scores: np.ndarray, gold: np.ndarray) -> float:
    """Mean gap between probability and share of positives over ten bins of equal width."""
    p = found(torch.from_numpy(scores)).numpy().ravel()
    bins = np.minimum((p * 10).astype(int), 9)
    gaps = [
        abs(p[bins == one].mean() - gold.ravel()[bins == one].mean()) * (bins == one).mean()
        for one in np.unique(bins)
    ]
    return float(sum(gaps))


@pytest.mark.parametrize("kind", ["temperature", "platt", "isotonic", "auto"])
def test_overconfident_scores_become_honest(kind: CalibrationKind) -> None:
    """Scores three times too large: without a map the error is above 10 points, after below 2."""
    scores, gold = pairs(4000, 5, 1 / 3, 0.0)
    found = fit_level_map(scores, gold, kind, 0)
    held_out = pairs(4000, 5, 1 / 3, 0.0, seed=1)
    assert error(LevelMap(), *held_out) > 0.1
    assert error(found, *held_out) < 0.02
    if kind == "temperature":
        assert found.slope == pytest.approx(1 / 3, rel=0.1)
        assert found.offset == 0


def test_platt_equals_the_logistic_regression_of_scikit_learn() -> None:
    scores, gold = pairs(3000, 2, 0.7, -1.5)
    found = fit_level_map(scores, gold, "platt", 0)
    expected = LogisticRegression(C=1e6).fit(scores.reshape(-1, 1), gold.ravel())
    assert found.slope == pytest.approx(float(expected.coef_[0, 0]), rel=1e-2)
    assert found.offset == pytest.approx(float(expected.intercept_[0]), rel=1e-2)


def test_auto_takes_the_simplest_that_does() -> None:
    """Honest scores need nothing; a shift needs Platt's offset, or a curve."""
    assert fit_level_map(*pairs(3000, 3, 1.0, 0.0), "auto", 0).kind in ("none", "temperature")
    assert fit_level_map(*pairs(3000, 3, 1.0, -2.0), "auto", 0).kind in ("platt", "isotonic")


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_scores_stays(kind: CalibrationKind) -> None:
    scores, gold = pairs(500, 4, 0.5, -1.0)
    found = fit_level_map(scores, gold, kind, 0)
    ladder = torch.linspace(-30, 30, 2001)
    p = found(ladder)
    assert bool((p[1:] >= p[:-1]).all())
    assert bool(((p >= 0) & (p <= 1)).all())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gold", [False, True])
def test_one_sided_data_fit_nothing(kind: CalibrationKind, gold: bool) -> None:
    scores = np.zeros((10, 3), dtype=np.float32)
    assert fit_level_map(scores, np.full((10, 3), gold), kind, 0) == LevelMap()
    assert fit_level_map(scores[:0], np.zeros((0, 3), dtype=bool), kind, 0) == LevelMap()


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 30), st.integers(0, 1000), st.sampled_from(KINDS), st.floats(0.001, 50))
def test_little_and_wild_data_do_no_harm(
    documents: int, seed: int, kind: CalibrationKind, scale: float
) -> None:
    random = np.random.default_rng(seed)
    scores = (scale * random.normal(size=(documents, 2))).astype(np.float32)
    gold = random.random(scores.shape) < 0.3
    found = fit_level_map(scores, gold, kind, seed)
    p = found(torch.from_numpy(scores))
    assert bool(torch.isfinite(p).all())
    assert Calibration.from_json(Calibration((found,)).to_json()).levels == (found,)


def test_separable_scores_stay_finite() -> None:
    """All above 0 true, all below false: maximum likelihood alone would go to infinity."""
    scores = np.array([[-2.0], [-1.0], [1.0], [2.0]], dtype=np.float32)
    found = fit_level_map(scores, scores > 0, "platt", 0)
    assert 0 < found.slope < 20


def test_wrong_maps_are_refused() -> None:
    for made in (
        {"kind": "platt", "slope": -1.0},
        {"kind": "isotonic"},
        {"kind": "isotonic", "knots": [[0, 0.5], [1, 0.4]]},
        {"kind": "isotonic", "knots": [[0, 0.5], [0, 0.6]]},
        {"kind": "magic"},
    ):
        with pytest.raises(UsageError):
            LevelMap.from_json(made)
