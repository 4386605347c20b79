"""Do probabilities mean what they say: calibration error, Brier score, reliability.

Over all (document, label) pairs with probability p and y = 1 where the label is gold, in bins b of
n_b pairs out of N:

    ECE   = sum over b of n_b / N |mean p of b - mean y of b|
    Brier = mean of (p - y)^2

Bins are of equal width, (0, 1/n], (1/n, 2/n] ... with 0 in the first, or of equal mass: nearly as
many pairs in each. With many labels almost all pairs are near 0 and make both errors small;
``ece_chosen`` looks at the predicted pairs alone: their probability against their precision.

Pairs are counted, not kept. Equal-mass bins are put together from the cells of `probability_cells`,
so their edges, and nothing else, are rounded to a cell; pairs of one cell stay together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hbgl.metrics.batch import Batch
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import FloatArray, IntArray, are_among, ratio
from hbgl.metrics.probability_cells import cell_bounds, cell_count, cells
from hbgl.metrics.result import Calibration, LevelReliability, Reliability, ReliabilityBin

__all__ = ["CalibrationCounts", "width_bins"]

Probabilities = npt.NDArray[np.float32]

_SHIFT = 14  # cells are about 2^-9 wide, relative to p or 1 - p
_LARGEST = 1 << 26  # bytes for the cells; the levels of very deep taxonomies get coarser ones


class CalibrationCounts:
    """Counts, sums of probabilities and positives by level and bin.

    Labels a, b; two documents, both with gold {a}, probabilities (0.9, 0.1) and (0.6, 0.1), {a}
    predicted: a is right more often than it says. Of bins a half wide: |0.1 - 0| for b's two pairs
    and |0.75 - 1| for a's, so ECE = (2 * 0.1 + 2 * 0.25) / 4; of the chosen pairs 0.25. Brier =
    (0.1^2 + 0.1^2 + 0.4^2 + 0.1^2) / 4.

    >>> from hbgl.taxonomy import Taxonomy
    >>> graph = LabelGraph(Taxonomy.from_paths(map(list, "ab")))
    >>> counts = CalibrationCounts(graph, bins=2)
    >>> scores, gold = np.array([[0.9, 0.1], [0.6, 0.1]], np.float32), np.array([[1, 0], [1, 0]])
    >>> counts.update(Batch(graph, gold, gold, scores), scores)
    >>> found = counts.result().overall
    >>> round(found.ece, 4), round(found.ece_chosen, 4), round(found.brier, 4)
    (0.175, 0.25, 0.0475)
    """

    def __init__(self, graph: LabelGraph, bins: int = 15) -> None:
        self._graph = graph
        self._bins = bins
        self._shift = _shift(len(graph.level_slices))
        levels = len(graph.level_slices)
        # Of each level and bin: pairs, sum of probabilities, positives.
        self._by_width = np.zeros((3, levels, bins))
        self._by_cell = np.zeros((3, levels, cell_count(self._shift)))
        self._chosen = np.zeros((3, levels, bins))
        self._squares = np.zeros(levels)  # sums of (p - y)^2

    def update(self, batch: Batch, scores: Probabilities) -> None:
        """Count a batch of documents with its probabilities [B, L]."""
        for level, labels in enumerate(self._graph.level_slices):
            of_level = scores[:, labels].ravel()
            exact = of_level.astype(np.float64)
            self._squares[level] += exact @ exact
            for table, place in (
                (self._by_width, width_bins(exact, self._bins)),
                (self._by_cell, cells(of_level, self._shift)),
            ):
                length = table.shape[2]
                table[0, level] += np.bincount(place, minlength=length)
                table[1, level] += np.bincount(place, weights=exact, minlength=length)
        self._count_gold(*self._entries(batch.gold, scores))
        levels, p = self._entries(batch.predicted, scores)
        bins = levels * self._bins + width_bins(p.astype(np.float64), self._bins)
        is_gold = are_among(batch.predicted, batch.gold)
        counted: tuple[npt.NDArray[np.generic], ...] = (np.ones(len(p)), p, is_gold)
        for table, weights in zip(self._chosen, counted, strict=True):
            table += _table(bins, weights, table.shape)

    def result(self) -> Calibration:
        """Calibration overall and by level."""
        tables = self._by_width, self._by_cell, self._chosen
        levels = []
        for level, squares in enumerate(self._squares.tolist()):
            found = self._reliability([table[:, level] for table in tables], squares)
            levels.append(LevelReliability(**_fields(found), level=level + 1))
        overall = [table.sum(axis=1) for table in tables]
        return Calibration(
            overall=self._reliability(overall, float(self._squares.sum())), levels=tuple(levels)
        )

    def _entries(self, keys: IntArray, scores: Probabilities) -> tuple[IntArray, Probabilities]:
        """The level (from 0) and the probability of each key."""
        rows, labels = np.divmod(keys, self._graph.width)
        return self._graph.levels[labels] - 1, scores[rows, labels]

    def _count_gold(self, level: IntArray, p: Probabilities) -> None:
        """Positives are few, so they are added where all pairs were counted as negatives."""
        exact = p.astype(np.float64)
        # (p - 1)^2 = p^2 + 1 - 2 p
        self._squares += np.bincount(level, weights=1 - 2 * exact, minlength=len(self._squares))
        for table, place in (
            (self._by_width, width_bins(exact, self._bins)),
            (self._by_cell, cells(p, self._shift)),
        ):
            shape = table.shape[1:]
            table[2] += _table(level * shape[1] + place, np.ones(len(p)), shape)

    def _reliability(self, tables: list[FloatArray], squares: float) -> Reliability:
        by_width, by_cell, chosen = tables
        edges = np.linspace(0, 1, self._bins + 1)
        mass, lower, upper = _equal_mass(by_cell, self._bins, self._shift)
        pairs = by_width[0].sum()
        return Reliability(
            pairs=int(pairs),
            ece=_ece(by_width),
            ece_equal_mass=_ece(mass),
            brier=squares / float(pairs) if pairs else 0.0,
            chosen=int(chosen[0].sum()),
            ece_chosen=_ece(chosen),
            bins=_rows(by_width, edges[:-1], edges[1:]),
            bins_equal_mass=_rows(mass, lower, upper),
            bins_chosen=_rows(chosen, edges[:-1], edges[1:]),
        )


def width_bins(probabilities: FloatArray, bins: int) -> IntArray:
    """The bin of each probability, (i / n, (i + 1) / n], as in scikit-learn's calibration_curve.

    >>> width_bins(np.array([0.0, 0.1, 0.5, 0.51, 1.0]), 2).tolist()
    [0, 0, 0, 1, 1]
    """
    place = np.ceil(probabilities * bins).astype(np.int64) - 1
    return np.maximum(place, 0, out=place)


def _shift(levels: int) -> int:
    shift = _SHIFT
    while shift < 23 and 3 * 8 * levels * cell_count(shift) > _LARGEST:
        shift += 1
    return shift


def _table(place: IntArray, weights: npt.NDArray[np.generic], shape: tuple[int, ...]) -> FloatArray:
    sums = np.bincount(place, weights=weights, minlength=shape[0] * shape[1])
    return sums.astype(np.float64, copy=False).reshape(shape)


def _ece(table: FloatArray) -> float:
    """From pairs, sums of probabilities and positives of each bin: sum |p - y| / N."""
    pairs = table[0].sum()
    return float(np.abs(table[1] - table[2]).sum() / pairs) if pairs else 0.0


def _equal_mass(
    by_cell: FloatArray, bins: int, shift: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Neighbouring cells put together, with the lower and upper ends of the bins."""
    used = np.flatnonzero(by_cell[0])
    counts = by_cell[0, used]
    middle = np.cumsum(counts) - counts / 2
    place = (middle * bins / max(1.0, counts.sum())).astype(np.int64)
    table = np.zeros((3, bins))
    for row, column in zip(table, by_cell[:, used], strict=True):
        row += np.bincount(place, weights=column, minlength=bins)
    lower, upper = np.zeros((2, bins))
    first = np.flatnonzero(np.diff(place, prepend=-1))
    last = np.flatnonzero(np.diff(place, append=-1))
    ends = cell_bounds(shift)
    lower[place[first]], upper[place[last]] = ends[0][used[first]], ends[1][used[last]]
    return table, lower, upper


def _rows(table: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[ReliabilityBin, ...]:
    means = ratio(table[1], table[0]), ratio(table[2], table[0])
    columns = lower.tolist(), upper.tolist(), table[0].astype(int).tolist(), *map(list, means)
    return tuple(
        ReliabilityBin(low, high, count, float(mean), float(positives))
        for low, high, count, mean, positives in zip(*columns, strict=True)
        if count
    )


def _fields(reliability: Reliability) -> dict[str, Any]:
    return {name: getattr(reliability, name) for name in Reliability.__dataclass_fields__}
