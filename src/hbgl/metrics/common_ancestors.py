"""LCA-F1: sets are compared with their ancestors up to the lowest common ones only.

After Kosmopoulos et al. (2015). Of each document the most specific gold labels Y and predicted
labels Z are kept, those that are no ancestor of another one. The common ancestors of a label y and
the other side are the labels that are y or above it, and z or above it for some z; the lowest of
them are those with no other one below them. With the lowest common ancestors A of every label of
Y with Z, and of Z with Y:

    Y' = the labels on chains from a label of A down to a label of Y;  Z' likewise
    P = |Y' & Z'| / |Z'|        R = |Y' & Z'| / |Y'|        F1 = 2 |Y' & Z'| / (|Y'| + |Z'|)

Ancestors above A, which hF1 counts again for every label below them, count for nothing. A label
that has no ancestor in common with the other side meets it at the root above all labels: then A is
that root, which is no label and counts for nothing, and all ancestors are added. A node of A that
the paper would leave out as redundant stays; every y and z keeps its own way to A.
"""

from __future__ import annotations

import numpy as np

from hbgl.metrics.batch import Batch, DocumentMeans
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import IntArray, are_among, common_keys, distinct_keys
from hbgl.metrics.result import LcaScores

__all__ = ["CommonAncestors"]


class CommonAncestors:
    """Counts over sets that are augmented up to the lowest common ancestors.

    a > b > c and b > d: gold {a, b, c}, predicted {a, b, d}. Y = {c}, Z = {d}, A = {b}; Y' = {b, c}
    and Z' = {b, d}, so F1 = 1/2, where hF1 is 2/3.

    >>> from hbgl.taxonomy import Taxonomy
    >>> graph = LabelGraph(Taxonomy.from_paths(map(list, ["abc", "abd"])))
    >>> lca = CommonAncestors(graph)
    >>> lca.update(Batch(graph, np.array([[1, 1, 1, 0]]), np.array([[1, 1, 0, 1]])))
    >>> lca.result().micro
    PrecisionRecall(precision=0.5, recall=0.5, f1=0.5)
    """

    def __init__(self, graph: LabelGraph) -> None:
        self._graph = graph
        self._documents = DocumentMeans()

    def update(self, batch: Batch) -> None:
        """Count a batch of documents."""
        specific = [self._graph.most_specific(keys) for keys in (batch.gold, batch.predicted)]
        lowest, apart = [], []
        for keys in specific:
            found, without = self._lowest(keys, batch.closed_hits)
            lowest.append(found)
            apart.append(without)
        meeting = distinct_keys(np.concatenate(lowest))
        at_root = np.zeros(batch.documents, dtype=bool)
        at_root[np.concatenate(apart) // self._graph.width] = True
        gold = self._augmented(batch.closed_gold, meeting, at_root)
        predicted = self._augmented(batch.closed_predicted, meeting, at_root)
        self._documents.update(
            *(batch.count(keys) for keys in (common_keys(gold, predicted), predicted, gold))
        )

    def result(self) -> LcaScores:
        """LCA-F1, pooled and as mean over documents."""
        return LcaScores(micro=self._documents.pooled(), per_document=self._documents.mean())

    def _lowest(self, keys: IntArray, common: IntArray) -> tuple[IntArray, IntArray]:
        """The lowest common ancestors of each key, and the keys that have none."""
        width = self._graph.width
        # Each key gets a row of its own: what is lowest above one need not be above another.
        own = self._graph.closure(np.arange(len(keys)) * width + self._graph.labels(keys))
        asked = own // width
        shared = (keys // width)[asked] * width + self._graph.labels(own)
        is_common = are_among(shared, common)
        own, shared, asked = own[is_common], shared[is_common], asked[is_common]
        is_lowest = ~are_among(own, distinct_keys(self._graph.parents(own)[1]))
        has_one = np.zeros(len(keys), dtype=bool)
        has_one[asked] = True
        return shared[is_lowest], keys[~has_one]

    def _augmented(
        self,
        closed: IntArray,
        meeting: IntArray,
        at_root: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ) -> IntArray:
        """The keys on chains that start where both sides meet."""
        starts = are_among(closed, meeting)
        starts |= self._graph.are_roots(closed) & at_root[closed // self._graph.width]
        return closed[self._graph.chains(closed, starts) > 0]
