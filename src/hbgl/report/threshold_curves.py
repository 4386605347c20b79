"""Precision, recall and F1 of a level against a single threshold for all its labels.

The levels above are as they were decided. Counted is what the rule compares with the threshold: the
probability, and under coherent rules nothing of a label without a chosen parent. What a rule adds
without asking the threshold (ancestors under ``closed``, likeliest children under ``leaf``) and
what a limit of paths takes away is not in the curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix

from hbgl.decisions import Decider, Decision, Decoded
from hbgl.taxonomy import Taxonomy

__all__ = ["ThresholdCounts", "ThresholdCurve", "ThresholdPoint"]

_STEPS = 100


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """Scores of one level were its labels predicted above ``threshold``."""

    threshold: float
    precision: float | None
    """None: nothing is predicted"""
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class ThresholdCurve:
    """One level, pooled over its labels."""

    level: int
    lowest: float
    """of the thresholds that its labels have in the decision"""
    usual: float
    """their median"""
    highest: float
    gold: int
    """(document, label) pairs that are gold"""
    points: tuple[ThresholdPoint, ...]
    """at 0, 0.01 .. 1"""

    @property
    def thresholds(self) -> str:
        """The thresholds of the decision in words: the usual one, and the range."""
        if self.lowest == self.highest:
            return f"{self.usual:.3g}"
        return f"{self.usual:.3g} ({self.lowest:.3g} to {self.highest:.3g})"

    @property
    def best(self) -> ThresholdPoint:
        """The highest F1; of equal ones that of the middle threshold."""
        highest = max(point.f1 for point in self.points)
        best = [point for point in self.points if point.f1 >= highest - 1e-12]
        return best[len(best) // 2]


class ThresholdCounts:
    """Counts pairs by probability.

    >>> taxonomy = Taxonomy.from_paths([("a",), ("b",)])
    >>> counts = ThresholdCounts(taxonomy, Decision.of_paper(2))
    >>> p = torch.tensor([[0.9, 0.3], [0.6, 0.2]])
    >>> gold = csr_matrix([[True, True], [False, False]])
    >>> counts.update(np.arange(2), gold, Decoded(p, p > 0.5, torch.logit(p)))
    >>> [(point.precision, point.recall) for point in counts.result()[0].points[::25]]
    [(0.5, 1.0), (0.6666666666666666, 1.0), (0.5, 0.5), (1.0, 0.5), (None, 0.0)]
    """

    def __init__(self, taxonomy: Taxonomy, decision: Decision) -> None:
        self._taxonomy = taxonomy
        self._decider = Decider(taxonomy, decision, torch.device("cpu"))
        # Of each level: pairs, and gold pairs, with a probability in ((i - 1) / steps, i / steps].
        self._pairs, self._gold = np.zeros((2, taxonomy.depth, _STEPS + 1), dtype=np.int64)

    def update(self, indices: np.ndarray, gold: csr_matrix, decoded: Decoded) -> None:
        """See a batch: document indices [B], gold labels [B, L], answers on the CPU."""
        walk = self._decider.begin(len(indices))
        walk.probabilities, walk.chosen = decoded.probabilities, decoded.chosen
        truth = gold.toarray()
        for level in range(1, self._taxonomy.depth + 1):
            columns = self._taxonomy.level_slice(level)
            judged = walk.judge(level, decoded.scores[:, columns])[1].numpy().astype(np.float64)
            cells = np.ceil(judged * _STEPS).astype(np.int64)
            self._pairs[level - 1] += np.bincount(cells.ravel(), minlength=_STEPS + 1)
            self._gold[level - 1] += np.bincount(cells[truth[:, columns]], minlength=_STEPS + 1)

    def result(self) -> tuple[ThresholdCurve, ...]:
        """The curve of each level."""
        return tuple(self._curve(level) for level in range(1, self._taxonomy.depth + 1))

    def _curve(self, level: int) -> ThresholdCurve:
        own = self._decider.decision.thresholds[self._taxonomy.level_slice(level)]
        pairs, hits = self._pairs[level - 1], self._gold[level - 1]
        gold = int(hits.sum())
        # Above i / steps lies what is in the cells i + 1 and up.
        predicted, right = (np.cumsum(cells[::-1])[::-1] - cells for cells in (pairs, hits))
        points = [
            ThresholdPoint(
                step / _STEPS,
                found / taken if taken else None,
                found / gold if gold else 0.0,
                2 * found / (taken + gold) if taken + gold else 0.0,
            )
            for step, (taken, found) in enumerate(
                zip(predicted.tolist(), right.tolist(), strict=True)
            )
        ]
        return ThresholdCurve(
            level,
            float(own.min()),
            float(np.median(own)),
            float(own.max()),
            gold,
            tuple(points),
        )
