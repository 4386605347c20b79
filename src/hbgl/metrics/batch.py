"""A batch of documents as every family of scores looks at it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import (
    FloatArray,
    IntArray,
    LabelMatrix,
    common_keys,
    label_keys,
    ratio,
)
from hbgl.metrics.result import PrecisionRecall

__all__ = ["Batch", "DocumentMeans", "precision_recall"]


class Batch:
    """Gold and predicted labels of some documents as sorted keys, and their probabilities."""

    def __init__(
        self,
        graph: LabelGraph,
        gold: LabelMatrix,
        predicted: LabelMatrix,
        scores: npt.NDArray[np.float32] | None = None,
        rows: slice | None = None,
    ) -> None:
        """Take rows of [N, L] label matrices, all if None, and these rows' probabilities."""
        rows = slice(0, gold.shape[0]) if rows is None else rows
        self.graph = graph
        self.documents: int = rows.stop - rows.start
        self.gold: IntArray = label_keys(gold, rows)
        self.predicted: IntArray = label_keys(predicted, rows)
        self.scores = scores

    def count(self, keys: IntArray) -> IntArray:
        """How many of the keys each document has, [B]."""
        return np.bincount(keys // self.graph.width, minlength=self.documents)

    @cached_property
    def hits(self) -> IntArray:
        """Labels that are gold and predicted."""
        return common_keys(self.gold, self.predicted)

    @cached_property
    def closed_gold(self) -> IntArray:
        """Gold labels and their ancestors."""
        return self.graph.closure(self.gold)

    @cached_property
    def closed_predicted(self) -> IntArray:
        """Predicted labels and their ancestors."""
        return self.graph.closure(self.predicted)

    @cached_property
    def closed_hits(self) -> IntArray:
        """What is in both closed sets."""
        return common_keys(self.closed_gold, self.closed_predicted)

    @cached_property
    def hf1(self) -> FloatArray:
        """Each document's hierarchical F1, [B]."""
        sizes = self.count(self.closed_predicted) + self.count(self.closed_gold)
        return ratio(2 * self.count(self.closed_hits), sizes)

    @cached_property
    def predicted_edges(self) -> tuple[IntArray, IntArray]:
        """The edges between predicted labels, as positions of child and parent."""
        return self.graph.edges(self.predicted)


class DocumentMeans:
    """Precision, recall and F1 pooled over documents, and as means of the documents' own.

    Two documents with 1 right of 2 predicted and 1 gold, and 1 right of 1 predicted and 3 gold:

    >>> means = DocumentMeans()
    >>> means.update(np.array([1, 1]), np.array([2, 1]), np.array([1, 3]))
    >>> means.pooled().f1 == 2 * 2 / (3 + 4)
    True
    >>> round(means.mean().f1, 4)  # (2/3 + 1/2) / 2
    0.5833
    """

    def __init__(self) -> None:
        self.documents = 0
        self._sums = np.zeros(3)  # of precision, recall, F1
        self._totals = np.zeros(3, dtype=np.int64)  # hits, predicted, gold

    def update(self, hits: IntArray, predicted: IntArray, gold: IntArray) -> None:
        """Count documents by the sizes of their sets, [B] each."""
        shares = (
            ratio(hits, predicted),
            ratio(hits, gold),
            ratio(2 * hits, predicted + gold),
        )
        self._sums += [share.sum() for share in shares]
        self._totals += [hits.sum(), predicted.sum(), gold.sum()]
        self.documents += len(hits)

    def pooled(self) -> PrecisionRecall:
        """From the sums over all documents."""
        return precision_recall(*self._totals.tolist())

    def mean(self) -> PrecisionRecall:
        """Means over documents; one without labels on both sides counts 0, as in scikit-learn."""
        precision, recall, f1 = (self._sums / max(1, self.documents)).tolist()
        return PrecisionRecall(precision, recall, f1)


def precision_recall(hits: float, predicted: float, gold: float) -> PrecisionRecall:
    """Scores from three totals.

    >>> precision_recall(2, 4, 2)
    PrecisionRecall(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    return PrecisionRecall(
        precision=hits / predicted if predicted else 0.0,
        recall=hits / gold if gold else 0.0,
        f1=2 * hits / (predicted + gold) if predicted + gold else 0.0,
    )
