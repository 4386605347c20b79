"""Accuracy when the least sure documents are left to people.

Documents are put in order by their confidence, the surest first. With r(k) the share of the first k
whose predicted set is not the gold set:

    accuracy at coverage c = 1 - r(ceil(c n))       AURC = 1/n sum over k = 1 .. n of r(k)

The confidence of a document is, by choice,

- ``smallest``: the smallest probability among its predicted labels, 0 if there are none: it is as
  sure as its weakest label, and nothing predicted is nothing to rely on;
- ``first-level``: the largest probability of level 1, whatever was predicted.

Memory is that of the cells of `probability_cells`, 0.2% wide. Documents of one cell count with
the mean over the orders they may come in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hbgl.metrics.batch import Batch
from hbgl.metrics.label_keys import FloatArray
from hbgl.metrics.probability_cells import cell_bounds, cell_count, cells
from hbgl.metrics.result import Abstention, CoveragePoint

__all__ = ["AbstentionCounts", "Confidence", "confidences"]

Confidence: TypeAlias = Literal["smallest", "first-level"]

_SHIFT = 14  # cells are about 2^-9 wide, relative to p or 1 - p


class AbstentionCounts:
    """Documents, right ones and their hierarchical F1, by confidence.

    Labels a, b: predicted {a} at 0.9 and gold {a}; predicted {b} at 0.6 and gold {a}. Half of the
    documents can be answered without an error: r(1) = 0, r(2) = 1/2, AURC = 1/4.

    >>> from hbgl.metrics.label_graph import LabelGraph
    >>> from hbgl.taxonomy import Taxonomy
    >>> graph = LabelGraph(Taxonomy.from_paths(map(list, "ab")))
    >>> counts = AbstentionCounts("smallest", (0.5, 1.0))
    >>> scores = np.array([[0.9, 0.1], [0.3, 0.6]], dtype=np.float32)
    >>> counts.update(Batch(graph, np.array([[1, 0], [1, 0]]), np.eye(2), scores), scores)
    >>> found = counts.result()
    >>> [point.accuracy for point in found.at], found.aurc
    ([1.0, 0.5], 0.25)
    """

    def __init__(
        self,
        confidence: Confidence = "smallest",
        coverages: Sequence[float] = (0.5, 0.7, 0.8, 0.9, 1.0),
    ) -> None:
        self._confidence: Confidence = confidence
        self._coverages = tuple(coverages)
        self._documents, self._right, self._hf1 = np.zeros((3, cell_count(_SHIFT)))

    def update(self, batch: Batch, scores: npt.NDArray[np.float32]) -> None:
        """Count a batch of documents with its probabilities [B, L]."""
        cell = cells(confidences(batch, scores, self._confidence), _SHIFT)
        hits = batch.count(batch.hits)
        right = (hits == batch.count(batch.gold)) & (hits == batch.count(batch.predicted))
        length = len(self._documents)
        self._documents += np.bincount(cell, minlength=length)
        self._right += np.bincount(cell[right], minlength=length)
        self._hf1 += np.bincount(cell, weights=batch.hf1, minlength=length)

    def result(self) -> Abstention:
        """The curve, and the points asked for."""
        used = np.flatnonzero(self._documents)[::-1]  # the surest first
        documents, right, hf1 = self._documents[used], self._right[used], self._hf1[used]
        lower = cell_bounds(_SHIFT)[0][used]

        def points(coverages: Sequence[float]) -> tuple[CoveragePoint, ...]:
            return tuple(_points(coverages, documents, right, hf1, lower))

        return Abstention(
            confidence=self._confidence,
            aurc=_area(documents, documents - right),
            at=points(self._coverages),
            curve=points([percent / 100 for percent in range(1, 101)]),
        )


def confidences(
    batch: Batch, scores: npt.NDArray[np.float32], confidence: Confidence
) -> npt.NDArray[np.float32]:
    """How sure the answer to each document is, [B]."""
    if confidence == "first-level":
        best: npt.NDArray[np.float32] = scores[:, batch.graph.level_slices[0]].max(axis=1)
        return best
    found = np.zeros(batch.documents, dtype=np.float32)
    rows, labels = np.divmod(batch.predicted, batch.graph.width)
    if len(rows):
        first = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
        found[rows[first]] = np.minimum.reduceat(scores[rows, labels], first)
    return found


def _points(
    coverages: Sequence[float],
    documents: FloatArray,
    right: FloatArray,
    hf1: FloatArray,
    confidence: FloatArray,
) -> Iterator[CoveragePoint]:
    """What the surest documents score; arrays are by cell, the surest first."""
    reached, right_so_far, hf1_so_far = (np.cumsum(column) for column in (documents, right, hf1))
    for coverage in coverages:
        if not len(reached):
            yield CoveragePoint(coverage, 0.0, 0.0, 0.0)
            continue
        # Less than a millionth of a document is a rounding error of the coverage.
        covered = max(1.0, float(np.ceil(coverage * reached[-1] - 1e-6)))
        cell = int(np.searchsorted(reached, covered))
        left_out = (reached[cell] - covered) / documents[cell]  # of the cell
        accuracy = (right_so_far[cell] - left_out * right[cell]) / covered
        mean_hf1 = (hf1_so_far[cell] - left_out * hf1[cell]) / covered
        yield CoveragePoint(coverage, float(confidence[cell]), float(accuracy), float(mean_hf1))


def _area(documents: FloatArray, wrong: FloatArray) -> float:
    """The mean risk over all coverages.

    Within a cell of m documents, w of them wrong, after n documents with e wrong ones, document j
    has the risk (e + w j / m) / (n + j). Summed over j = 1 .. m, with the harmonic numbers H:
    w + (e - n w / m) (H(n + m) - H(n)).
    """
    from scipy.special import digamma

    if not len(documents):
        return 0.0
    reached, failed = np.cumsum(documents), np.cumsum(wrong)
    before, failed_before = reached - documents, failed - wrong
    harmonic = digamma(reached + 1) - digamma(before + 1)
    sums = wrong + (failed_before - before * wrong / documents) * harmonic
    return float(sums.sum() / reached[-1])
