"""C-F1 and P-F1: labels and paths that are right from the root down.

**C-F1** (Yu et al., 2022): a predicted label is right only if it is gold and a whole chain from a
label of level 1 down to it is gold and predicted, too. In a tree these are all its ancestors; in a
graph one chain suffices, through any parents. With these true positives C of each label:

    C-F1 = 2 C / (P + G)        micro: sums over the labels; macro: mean over the labels

**P-F1** (Ji et al., 2023): whole paths are counted. A *complete path* of a set of labels is a chain
of its labels, each the child of the one before, that starts at level 1 and ends at a label with no
child in the set, so at a leaf of the taxonomy or, where the set stops earlier, at an inner label. A
predicted path is right if it is a complete path of the gold set as well: one that stops too early
or goes on too far is wrong. In a graph, several chains that end at one label are several paths.
Scores are weighted, because labels that are in no complete path would cost nothing otherwise:

    a = 1 - 2 (sigmoid(x) - 1/2)        x = predicted labels in no complete path / gold labels

over all documents; a = 1 if there are none. Macro scores are means over the labels at which paths
can end: the leaves, and the inner labels where a gold or predicted path does. Where every path
ends at a leaf, that is the definition of the paper, which knows no other paths.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from hbgl.metrics.batch import Batch
from hbgl.metrics.flat import LabelCounts, averages
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import FloatArray, IntArray, are_among
from hbgl.metrics.result import ConstrainedScores, PathScores

__all__ = ["Chains", "path_weight"]


class Chains:
    """Counts of right labels and paths.

    a > b, c > d: gold {a, b, c, d}; predicted {a, b, d}. C-F1: a and b are right, d is not, as c is
    missing: micro 2*2 / (3 + 4). Paths: gold a > b and c > d, predicted a > b; d is in none. So
    P-F1 before the weight is 2*1 / (1 + 2), and x = 1/4.

    >>> from hbgl.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(map(list, ["ab", "cd"]))
    >>> taxonomy.labels
    ('a', 'c', 'b', 'd')
    >>> graph = LabelGraph(taxonomy)
    >>> chains = Chains(graph)
    >>> chains.update(Batch(graph, np.array([[1, 1, 1, 1]]), np.array([[1, 0, 1, 1]])))
    >>> round(chains.constrained().micro_f1, 4)
    0.5714
    >>> paths = chains.paths()
    >>> round(paths.unweighted.micro_f1, 4), round(paths.weight, 4), round(paths.micro_f1, 4)
    (0.6667, 0.8756, 0.5838)
    """

    def __init__(self, graph: LabelGraph) -> None:
        self._graph = graph
        self._constrained = LabelCounts(graph.width)
        # Paths by the label at which they end; a graph may have more of them than an int64 holds.
        self._right, self._predicted, self._gold = np.zeros((3, graph.width))
        self._stray = 0
        self._gold_labels = 0

    def update(self, batch: Batch) -> None:
        """Count a batch of documents."""
        graph = self._graph
        gold_edges = graph.edges(batch.gold)
        gold_chains = graph.chains(batch.gold, edges=gold_edges)
        predicted_chains = graph.chains(batch.predicted, edges=batch.predicted_edges)
        right_chains = graph.chains(batch.hits)
        self._constrained.count_keys(
            batch.gold, batch.predicted, batch.documents, right=batch.hits[right_chains > 0]
        )
        gold_ends = _ends(batch.gold, gold_edges)
        predicted_ends = _ends(batch.predicted, batch.predicted_edges)
        right_ends = are_among(batch.hits, batch.gold[gold_ends])
        right_ends &= are_among(batch.hits, batch.predicted[predicted_ends])
        self._gold += self._sums(batch.gold[gold_ends], gold_chains[gold_ends])
        self._predicted += self._sums(
            batch.predicted[predicted_ends], predicted_chains[predicted_ends]
        )
        self._right += self._sums(batch.hits[right_ends], right_chains[right_ends])
        self._stray += int((predicted_chains == 0).sum())
        self._gold_labels += len(batch.gold)

    def constrained(self) -> ConstrainedScores:
        """C-F1."""
        scores = self._constrained.scores(self._graph.levels)
        found = {name: getattr(scores, name) for name in ConstrainedScores.__dataclass_fields__}
        return ConstrainedScores(**found)

    def paths(self) -> PathScores:
        """P-F1."""
        ends = self._graph.is_leaf | (self._gold > 0) | (self._predicted > 0)
        unweighted = averages(self._right[ends], self._predicted[ends], self._gold[ends])
        stray = _share(self._stray, self._gold_labels)
        weight = path_weight(stray)
        weighted = {
            name: weight * share
            for name, share in asdict(unweighted).items()
            if name in PathScores.__dataclass_fields__
        }
        return PathScores(
            **weighted,
            weight=weight,
            stray=stray,
            unweighted=unweighted,
            right=float(self._right.sum()),
            predicted=float(self._predicted.sum()),
            gold=float(self._gold.sum()),
        )

    def _sums(self, keys: IntArray, weights: FloatArray) -> FloatArray:
        labels = self._graph.labels(keys)
        return np.bincount(labels, weights, self._graph.width).astype(np.float64, copy=False)


def path_weight(stray: float) -> float:
    """The weight a = 1 - 2 (sigmoid(x) - 1/2) of path scores.

    >>> path_weight(0.0)
    1.0
    >>> round(path_weight(1.0), 4)
    0.5379
    """
    return float(2 - 2 / (1 + np.exp(-stray)))


def _share(stray: int, gold: int) -> float:
    """Stray labels without any gold label are as many as can be: the weight vanishes."""
    if gold:
        return stray / gold
    return float(stray)


def _ends(keys: IntArray, edges: tuple[IntArray, IntArray]) -> IntArray:
    """Positions of the keys without a child among the keys."""
    is_end = np.ones(len(keys), dtype=bool)
    is_end[edges[1]] = False
    return np.flatnonzero(is_end)
