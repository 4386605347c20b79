"""Is one method better than another on these documents? Paired tests on their answers.

Both methods answered the same N documents, with the seeds s that both were trained with. The
statistic is the mean over these seeds of the difference in F1,

    d = mean over s of F1(method, s) - F1(baseline, s),        F1 by the formulas of metrics/flat.py

**Paired bootstrap** (its confidence interval): N documents are drawn with replacement, the same
ones for both methods and all seeds, and d is computed anew; the interval lies between percentiles.

**Approximate randomisation** (its p-value): of each document the answers of the two methods are
swapped or not, by a coin, in all seeds alike. If the methods were equal, |d| would be as large as
it is in a share p = (1 + swaps with |d'| >= |d|) / (1 + swaps) of the cases.

What a resample needs of each document is its true positives and its predicted plus gold labels:
sparse [L, N] matrices times [N, resamples] weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hbgl.metrics.label_keys import ratio

__all__ = ["Difference", "PairedTest", "paired_test"]

FloatArray = npt.NDArray[np.float64]
_CELLS = 1 << 23
"""Weights of so many (document, resample) pairs are held at a time."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A method minus its baseline in one score."""

    difference: float
    low: float
    """of the confidence interval"""
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The two scores of the field, and how they were tested."""

    micro_f1: Difference
    macro_f1: Difference
    resamples: int
    confidence: float
    documents: int
    pairs: int
    """of runs with the same seed"""


@dataclass(frozen=True, slots=True)
class _Counts:
    """One run's answers by document, as [L, N] matrices."""

    hits: csr_matrix
    """1 where a label is gold and predicted"""
    total: csr_matrix
    """predicted plus gold: 0, 1 or 2"""


def paired_test(
    gold: csr_matrix,
    method: Sequence[csr_matrix],
    baseline: Sequence[csr_matrix],
    *,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedTest:
    """Compare the answers of two methods, seed by seed.

    :param gold: [N, L] boolean.
    :param method: [N, L] boolean for each seed.
    :param baseline: the same for the same seeds.
    """
    if len(method) != len(baseline) or not method:
        raise ValueError(f"{len(method)} runs cannot be paired with {len(baseline)}")
    pairs = [(_counts(gold, one), _counts(gold, other)) for one, other in zip(
        method, baseline, strict=True
    )]  # fmt: skip
    ones = np.ones((gold.shape[0], 1))
    observed = np.mean([_scores(a, ones) - _scores(b, ones) for a, b in pairs], axis=0)[:, 0]
    drawn = _bootstrap(pairs, resamples, np.random.default_rng((seed, 0)))
    swapped = _randomisation(pairs, resamples, np.random.default_rng((seed, 1)))
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=1)
    # Sums in another order differ in their last digits: these are not smaller.
    extreme = (np.abs(swapped) >= np.abs(observed)[:, None] - 1e-12).sum(axis=1)
    found = [
        Difference(float(observed[i]), float(low[i]), float(high[i]), p)
        for i, p in enumerate(((1 + extreme) / (1 + resamples)).tolist())
    ]
    return PairedTest(found[0], found[1], resamples, confidence, gold.shape[0], len(pairs))


def _counts(gold: csr_matrix, chosen: csr_matrix) -> _Counts:
    if gold.shape != chosen.shape:
        raise ValueError(f"answers {chosen.shape} are not of the gold documents {gold.shape}")
    truth, answer = gold.astype(np.float64), chosen.astype(np.float64)
    return _Counts(csr_matrix(truth.multiply(answer).T), csr_matrix((truth + answer).T))


def _f1(hits: FloatArray, total: FloatArray) -> FloatArray:
    """Counts [L, R] -> Micro- and Macro-F1, [2, R]."""
    micro = ratio(2 * hits.sum(axis=0), total.sum(axis=0))
    return np.stack([micro, ratio(2 * hits, total).mean(axis=0)])


def _scores(counts: _Counts, weights: FloatArray) -> FloatArray:
    """Micro- and Macro-F1 of documents that count ``weights`` [N, R] times, [2, R]."""
    return _f1(counts.hits @ weights, counts.total @ weights)


def _bootstrap(
    pairs: Sequence[tuple[_Counts, _Counts]], resamples: int, random: np.random.Generator
) -> FloatArray:
    """The statistic of documents drawn with replacement, [2, resamples]."""
    documents = pairs[0][0].hits.shape[1]
    found = []
    for size in _pieces(resamples, documents):
        drawn = random.integers(0, documents, size=(size, documents))
        places = drawn + documents * np.arange(size)[:, None]
        weights = np.bincount(places.ravel(), minlength=size * documents).reshape(size, documents)
        columns = np.ascontiguousarray(weights.T, dtype=np.float64)
        found.append(np.mean([_scores(a, columns) - _scores(b, columns) for a, b in pairs], axis=0))
    return np.concatenate(found, axis=1)


def _randomisation(
    pairs: Sequence[tuple[_Counts, _Counts]], resamples: int, random: np.random.Generator
) -> FloatArray:
    """The statistic with the answers of some documents swapped, [2, resamples]."""
    documents = pairs[0][0].hits.shape[1]
    sums = [[_sums(one) for one in pair] for pair in pairs]
    changes = [(b.hits - a.hits, b.total - a.total) for a, b in pairs]
    found = []
    for size in _pieces(resamples, documents):
        coins = random.integers(0, 2, size=(documents, size)).astype(np.float64)
        each = []
        for (own, other), (hits, total) in zip(sums, changes, strict=True):
            more_hits, more = hits @ coins, total @ coins
            swapped = _f1(own[0] + more_hits, own[1] + more)
            each.append(swapped - _f1(other[0] - more_hits, other[1] - more))
        found.append(np.mean(each, axis=0))
    return np.concatenate(found, axis=1)


def _sums(counts: _Counts) -> tuple[FloatArray, FloatArray]:
    """Over all documents, [L, 1] each."""
    ones = np.ones((counts.hits.shape[1], 1))
    return counts.hits @ ones, counts.total @ ones


def _pieces(resamples: int, documents: int) -> list[int]:
    size = max(1, min(resamples, _CELLS // max(1, documents)))
    return [min(size, resamples - start) for start in range(0, resamples, size)]
