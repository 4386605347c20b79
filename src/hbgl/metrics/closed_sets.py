"""Hierarchical precision, recall and F1: sets are compared with all their ancestors.

With the closed sets P' (predicted labels and their ancestors) and G' (gold) of each document
(Kiritchenko et al., 2006; the root above all labels is none and counts for nothing):

    hP = sum |P' & G'| / sum |P'|     hR = sum |P' & G'| / sum |G'|     hF1 = 2 hP hR / (hP + hR)

pooled over documents, for each document by itself (mean), and for each label by itself (mean over
labels, overall or of one level). In a graph the ancestors through every parent are added.
"""

from __future__ import annotations

import numpy as np

from hbgl.metrics.batch import Batch, DocumentMeans, precision_recall
from hbgl.metrics.flat import LabelCounts, LabelScores, by_level
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import IntArray
from hbgl.metrics.result import HierarchicalLevel, HierarchicalScores, PrecisionRecall

__all__ = ["ClosedSets"]


class ClosedSets:
    """Counts over closed sets.

    a > b, a > c, d: gold {b}, predicted {c}. Closed: {a, b} and {a, c}; hP = hR = 1/2. By label:
    F1 of a is 1, of b, c and d 0.

    >>> from hbgl.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(map(list, ["ab", "ac", "d"]))
    >>> taxonomy.labels
    ('a', 'd', 'b', 'c')
    >>> closed = ClosedSets(LabelGraph(taxonomy))
    >>> gold, predicted = np.array([[0, 0, 1, 0]]), np.array([[0, 0, 0, 1]])
    >>> closed.update(Batch(LabelGraph(taxonomy), gold, predicted))
    >>> scores = closed.result()
    >>> scores.micro.f1, scores.macro.f1, scores.levels[0].micro.f1, scores.levels[1].micro.f1
    (0.5, 0.25, 1.0, 0.0)
    """

    def __init__(self, graph: LabelGraph) -> None:
        self._levels = graph.levels
        self._counts = LabelCounts(graph.width)
        self._documents = DocumentMeans()

    def update(self, batch: Batch) -> None:
        """Count a batch of documents."""
        sets = batch.closed_hits, batch.closed_predicted, batch.closed_gold
        self._counts.count_keys(
            batch.closed_gold, batch.closed_predicted, batch.documents, right=batch.closed_hits
        )
        self._documents.update(*(batch.count(keys) for keys in sets))

    def result(self) -> HierarchicalScores:
        """All hierarchical scores."""
        counts = self._counts
        of_labels = counts.scores().labels
        levels = []
        for level, labels in by_level(self._levels):
            totals = (
                int(column[labels].sum())
                for column in (counts.true_positives, counts.predicted, counts.gold)
            )
            parts = precision_recall(*totals), *_macro(of_labels, labels)
            levels.append(HierarchicalLevel(level, len(labels), *parts))
        macro, macro_supported = _macro(of_labels, np.arange(len(counts)))
        return HierarchicalScores(
            micro=self._documents.pooled(),
            per_document=self._documents.mean(),
            macro=macro,
            macro_supported=macro_supported,
            levels=tuple(levels),
        )


def _macro(scores: LabelScores, labels: IntArray) -> tuple[PrecisionRecall, PrecisionRecall]:
    """Means over labels: all of them, and those in gold."""
    supported = labels[scores.support[labels] > 0]
    return _means(scores, labels), _means(scores, supported)


def _means(scores: LabelScores, labels: IntArray) -> PrecisionRecall:
    if not len(labels):
        return PrecisionRecall(0.0, 0.0, 0.0)
    return PrecisionRecall(
        precision=float(scores.precision[labels].mean()),
        recall=float(scores.recall[labels].mean()),
        f1=float(scores.f1[labels].mean()),
    )
