"""Thresholds against every other threshold, tried one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from hbgl.decisions import fit_thresholds


def made(documents: int, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    p = random.random((documents, labels)).astype(np.float32).round(2)
    return p, random.random(p.shape) < p**2


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 10_000))
def test_no_threshold_of_the_level_has_a_better_micro_f1(
    documents: int, labels: int, seed: int
) -> None:
    p, gold = made(documents, labels, seed)
    fitted = fit_thresholds(p, gold, "micro_f1", "level", 0)
    if not gold.any():
        assert fitted.level == 0.5
        return

    def score(threshold: float) -> float:
        return float(f1_score(gold.ravel(), (p > threshold).ravel(), zero_division=0))

    best = max(score(one) for one in np.linspace(0, 1, 201))
    assert score(fitted.level) == pytest.approx(best)
    assert (fitted.labels == np.float32(fitted.level)).all()


def test_macro_f1_weighs_labels_and_not_pairs() -> None:
    """A frequent label is best above .6, ten rare ones above .2: the mean follows the ten."""
    random = np.random.default_rng(0)
    gold = np.zeros((400, 11), dtype=bool)
    gold[:200, 0] = True
    for label in range(1, 11):
        gold[label * 20 : label * 20 + 4, label] = True
    p = np.where(gold, 0.3, 0.1).astype(np.float32)
    p[:, 0] = np.where(gold[:, 0], 0.9, 0.5)
    p += random.normal(0, 0.01, p.shape).astype(np.float32)
    macro = fit_thresholds(p, gold, "macro_f1", "level", 0)
    micro = fit_thresholds(p, gold, "micro_f1", "level", 0)
    assert 0.12 < macro.level < 0.3
    assert micro.level > 0.5


def test_labels_of_their_own_where_dev_has_enough() -> None:
    """Label 0 with 50 documents is best above .2, label 1 above .6, label 2 has only 3."""
    gold = np.zeros((300, 3), dtype=bool)
    gold[:50, 0], gold[50:100, 1], gold[100:103, 2] = True, True, True
    p = np.select([gold[:, [0, 0, 0]] & [True, False, False]], [0.3], 0.05).astype(np.float32)
    p[:, 1] = np.where(gold[:, 1], 0.9, 0.5)
    p[:, 2] = np.where(gold[:, 2], 0.9, 0.05)
    fitted = fit_thresholds(p, gold, "micro_f1", "label", 0)
    assert fitted.own == 2
    assert 0.05 <= fitted.labels[0] < 0.3
    assert 0.5 <= fitted.labels[1] < 0.9
    assert fitted.labels[2] == np.float32(fitted.level)
    assert fit_thresholds(p, gold, "micro_f1", "auto", 0).own == 2
    assert fit_thresholds(p, gold, "micro_f1", "level", 0).own == 0


def test_auto_leaves_labels_alone_that_are_alike() -> None:
    """Forty labels with the same best threshold and few documents: their own would be noise."""
    p, gold = made(150, 40, 3)
    assert fit_thresholds(p, gold, "micro_f1", "auto", 0).own == 0


def test_auto_stays_where_it_was_unless_dev_is_sure() -> None:
    """Twelve documents fit some threshold; only one that wins on held-out ones is taken."""
    p, gold = made(12, 3, 1)
    assert fit_thresholds(p, gold, "mean_f1", "auto", 0, 0.4).labels.tolist() == pytest.approx(
        [0.4] * 3
    )
    assert fit_thresholds(p, gold, "mean_f1", "level", 0, 0.4).level != pytest.approx(0.4)
    truth = p > 0.7  # far from 0.4, and not by chance
    assert fit_thresholds(p, truth, "mean_f1", "auto", 0, 0.4).level > 0.6


def test_without_gold_labels_nothing_is_fitted() -> None:
    p = np.full((5, 2), 0.9, dtype=np.float32)
    fitted = fit_thresholds(p, np.zeros((5, 2), dtype=bool), "macro_f1", "auto", 0)
    assert fitted.labels.tolist() == [0.5, 0.5]
    fitted = fit_thresholds(p, np.zeros((5, 2), dtype=bool), "macro_f1", "level", 0, 0.25)
    assert fitted.labels.tolist() == [0.25, 0.25]
