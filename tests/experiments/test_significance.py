"""Paired tests: by hand, against loops that read like the definition, and deterministic."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hbgl.experiments.significance import paired_test
from hbgl.metrics import LabelCounts


def random_answers(seed: int, documents: int = 12, labels: int = 4) -> list[csr_matrix]:
    """Gold, and four answers that have some of it and some more."""
    random = np.random.default_rng(seed)
    gold = random.random((documents, labels)) < 0.4
    found = [csr_matrix(gold)]
    for _ in range(4):
        kept = gold & (random.random(gold.shape) < 0.7)
        found.append(csr_matrix(kept | (random.random(gold.shape) < 0.1)))
    return found


def scores(gold: csr_matrix, chosen: csr_matrix) -> np.ndarray:
    counts = LabelCounts(gold.shape[1])
    counts.update(gold, chosen)
    found = counts.scores()
    return np.array([found.micro_f1, found.macro_f1])


def difference(gold: csr_matrix, ours: list[csr_matrix], other: list[csr_matrix]) -> np.ndarray:
    found: np.ndarray = np.mean(
        [scores(gold, a) - scores(gold, b) for a, b in zip(ours, other, strict=True)], axis=0
    )
    return found


def test_by_hand() -> None:
    """Gold {a}, {a}, {b}; method all right; baseline {a}, {}, {}.

    Method: F1 1 everywhere. Baseline: TP 1, P 1, G 3: Micro-F1 2/4; a: 2*1/(1+2) = 2/3, b: 0, so
    Macro-F1 1/3. Differences 1/2 and 2/3. Swapping: documents 2 and 3 matter, so of four equally
    likely swaps (none, second, third, both) two have the observed |difference|.
    """
    gold = csr_matrix(np.array([[1, 0], [1, 0], [0, 1]], dtype=bool))
    baseline = csr_matrix(np.array([[1, 0], [0, 0], [0, 0]], dtype=bool))
    found = paired_test(gold, [gold], [baseline], resamples=4000)
    assert found.micro_f1.difference == pytest.approx(1 / 2)
    assert found.macro_f1.difference == pytest.approx(2 / 3)
    assert found.micro_f1.p == pytest.approx(0.5, abs=0.03)
    assert found.macro_f1.p == pytest.approx(0.5, abs=0.03)
    assert (found.documents, found.pairs, found.resamples) == (3, 1, 4000)


def test_randomisation_tends_to_the_exact_p_value() -> None:
    """Of 8 documents all 256 swaps can be tried."""
    gold, a, b, c, d = random_answers(3, documents=8)
    ours, other = [a, b], [c, d]
    observed = np.abs(difference(gold, ours, other))
    hits = np.zeros(2)
    for swap in itertools.product([False, True], repeat=8):
        mask = np.array(swap)[:, None]
        one = [csr_matrix(np.where(mask, y.toarray(), x.toarray())) for x, y in [(a, c), (b, d)]]
        two = [csr_matrix(np.where(mask, x.toarray(), y.toarray())) for x, y in [(a, c), (b, d)]]
        hits += np.abs(difference(gold, one, two)) >= observed - 1e-12
    found = paired_test(gold, ours, other, resamples=20_000)
    assert found.micro_f1.p == pytest.approx(hits[0] / 256, abs=0.015)
    assert found.macro_f1.p == pytest.approx(hits[1] / 256, abs=0.015)


def test_bootstrap_is_what_a_loop_finds() -> None:
    """Documents drawn one by one and scored by the metrics of the package."""
    gold, a, b, c, d = random_answers(5, documents=30)
    found = paired_test(gold, [a, b], [c, d], resamples=4000)
    random = np.random.default_rng(11)
    drawn = []
    for _ in range(1500):
        rows = random.integers(0, 30, 30)
        drawn.append(difference(gold[rows], [a[rows], b[rows]], [c[rows], d[rows]]))
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    for i, one in enumerate((found.micro_f1, found.macro_f1)):
        assert one.difference == pytest.approx(difference(gold, [a, b], [c, d])[i])
        assert one.low == pytest.approx(low[i], abs=0.012)
        assert one.high == pytest.approx(high[i], abs=0.012)
        assert one.low < one.difference < one.high


def test_equal_answers_differ_in_nothing() -> None:
    gold, a, *_ = random_answers(0)
    found = paired_test(gold, [a], [a], resamples=50)
    assert found.micro_f1 == found.macro_f1
    assert (found.micro_f1.difference, found.micro_f1.low, found.micro_f1.p) == (0.0, 0.0, 1.0)


def test_same_numbers_every_time_in_pieces_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    gold, a, b, *_ = random_answers(1)
    first = paired_test(gold, [a], [b], resamples=300)
    assert paired_test(gold, [a], [b], resamples=300) == first
    assert paired_test(gold, [a], [b], resamples=300, seed=1) != first
    monkeypatch.setattr("hbgl.experiments.significance._CELLS", 12 * 7)
    assert paired_test(gold, [a], [b], resamples=300).micro_f1.low == pytest.approx(
        first.micro_f1.low, abs=0.05
    )


def test_runs_that_cannot_be_paired() -> None:
    gold, a, b, *_ = random_answers(1)
    with pytest.raises(ValueError, match="2 runs cannot be paired with 1"):
        paired_test(gold, [a, b], [a])
    with pytest.raises(ValueError, match="not of the gold documents"):
        paired_test(gold, [a[:3]], [b[:3]])
