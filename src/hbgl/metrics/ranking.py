"""Scores of the order that the probabilities give to the labels, without any threshold.

With the n labels of a document sorted by falling probability, of which g are gold:

    precision@k = gold labels among the first k / k
    nDCG@k      = sum over the first k, gold ones, of 1 / log2(1 + rank)
                  / sum over ranks 1 .. min(k, g) of 1 / log2(1 + rank)

Labels of equal probability share their places: each counts with the mean over the orders they may
come in, so no score depends on the order of the taxonomy; nDCG is that of scikit-learn. Documents
without gold labels count 0.

**hF1-AUC** (Plaud et al., 2024): the threshold falls over the distinct probabilities of a document,
and the labels that reach it are compared with the gold ones, both with all their ancestors. The
curve starts at precision 1 and recall 0; each time that recall rises, it takes the point before and
the point after, and lines connect them. The score is the area below it: mean over the documents
that have gold labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hbgl.metrics.batch import Batch
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import IntArray, ratio
from hbgl.metrics.result import RankingScores

__all__ = ["Ranking", "raised"]

Probabilities = npt.NDArray[np.float32]

_CELLS = 1 << 22  # of the comparisons made at once


class Ranking:
    """Sums of precision@k, nDCG@k and the area under the hierarchical curve.

    a > b, c: gold {a, b}, probabilities a 0.9, c 0.5, b 0.4. Precision@2 = 1/2; nDCG@3 = (1 +
    1/log2(4)) / (1 + 1/log2(3)). The curve: (R 0, P 1), (1/2, 1) at a, (1/2, 1/2) before b,
    (1, 2/3) at b; area 1/2 + 1/2 (1/2 + 2/3) / 2.

    >>> from hbgl.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(map(list, ["ab", "c"]))
    >>> taxonomy.labels
    ('a', 'c', 'b')
    >>> graph = LabelGraph(taxonomy)
    >>> ranking = Ranking(graph, (2, 3))
    >>> scores = np.array([[0.9, 0.5, 0.4]], dtype=np.float32)
    >>> ranking.update(Batch(graph, np.array([[1, 0, 1]]), np.zeros((1, 3)), scores), scores)
    >>> found = ranking.result()
    >>> found.precision_at[2], round(found.ndcg_at[3], 4), round(found.hf1_auc, 4)
    (0.5, 0.9197, 0.7917)
    """

    def __init__(self, graph: LabelGraph, ks: Sequence[int] = (1, 3, 5)) -> None:
        self._graph = graph
        self._ks = tuple(ks)
        self._precision = np.zeros(len(self._ks))
        self._ndcg = np.zeros(len(self._ks))
        self._documents = 0
        self._area = 0.0
        self._with_gold = 0
        # The sum of 1 / log2(1 + rank) over the ranks up to i, at i.
        discounts = 1 / np.log2(np.arange(2, graph.width + 2))
        self._discounts = np.concatenate([[0.0], np.cumsum(discounts)])

    def update(self, batch: Batch, scores: Probabilities) -> None:
        """Count a batch of documents with its probabilities [B, L]."""
        self._documents += batch.documents
        above, reached = _places(scores, batch.gold)
        document = batch.gold // self._graph.width
        golds = batch.count(batch.gold)
        ties = reached - above
        for number, k in enumerate(self._ks):
            first, last = np.minimum(above, k), np.minimum(reached, k)
            self._precision[number] += ((last - first) / ties).sum() / k
            gains = (self._discounts[last] - self._discounts[first]) / ties
            gained = np.bincount(document, weights=gains, minlength=batch.documents)
            self._ndcg[number] += ratio(gained, self._discounts[np.minimum(golds, k)]).sum()
        self._area += self._areas(batch, raised(scores, self._graph))
        self._with_gold += int((golds > 0).sum())

    def result(self) -> RankingScores:
        """Means over the documents."""
        documents = max(1, self._documents)
        return RankingScores(
            precision_at=dict(zip(self._ks, (self._precision / documents).tolist(), strict=True)),
            ndcg_at=dict(zip(self._ks, (self._ndcg / documents).tolist(), strict=True)),
            hf1_auc=self._area / max(1, self._with_gold),
        )

    def _areas(self, batch: Batch, scores: Probabilities) -> float:
        """The sum of the documents' areas; scores are those of closed sets."""
        gold = batch.closed_gold
        above, reached = _places(scores, gold)
        document = gold // self._graph.width
        right_above, right_reached = _places_among(document, above)
        before = np.where(above > 0, ratio(right_above, above), 1.0)
        after = ratio(right_reached, reached)
        # Gold labels of one probability come at once; each brings its share of that step.
        return float(((before + after) / 2 / batch.count(gold)[document]).sum())


def raised(scores: Probabilities, graph: LabelGraph) -> Probabilities:
    """Each label's probability, raised to the highest of the labels below it.

    The labels over a threshold, with their ancestors, are those whose raised probability is over
    it.
    """
    columns = np.array(scores.T, order="C")  # a copy, [L, B]: labels are rows
    for level in reversed(graph.level_slices[1:]):
        # A label's children are of higher levels, so it is final when its own level comes.
        first, last = graph.starts[level.start], graph.starts[level.stop]
        above = graph.targets[first:last]
        children = np.repeat(
            np.arange(level.start, level.stop),
            np.diff(graph.starts[level.start : level.stop + 1]),
        )
        order = np.argsort(above, kind="stable")
        parents, starts = np.unique(above[order], return_index=True)
        highest = np.maximum.reduceat(columns[children[order]], starts, axis=0)
        columns[parents] = np.maximum(columns[parents], highest)
    return columns.T


def _places(scores: Probabilities, keys: IntArray) -> tuple[IntArray, IntArray]:
    """How many labels of its document are over each key's probability, and how many reach it."""
    rows, labels = np.divmod(keys, scores.shape[1])
    scores = np.ascontiguousarray(scores)
    own = scores[rows, labels][:, None]
    above, reached = np.empty((2, len(keys)), dtype=np.int64)
    step = max(1, _CELLS // scores.shape[1])
    for start in range(0, len(keys), step):
        part = slice(start, start + step)
        compared = scores[rows[part]]
        above[part] = np.count_nonzero(compared > own[part], axis=1)
        reached[part] = np.count_nonzero(compared >= own[part], axis=1)
    return above, reached


def _places_among(document: IntArray, above: IntArray) -> tuple[IntArray, IntArray]:
    """As `_places`, among the keys of each document alone; their places order them."""
    order = np.lexsort((above, document))
    document, above = document[order], above[order]
    index = np.arange(len(order))
    new_document = np.concatenate([[True], document[1:] != document[:-1]])[: len(order)]
    new_place = new_document | np.concatenate([[True], above[1:] != above[:-1]])[: len(order)]
    document_start = index[new_document][np.cumsum(new_document) - 1]
    place = np.cumsum(new_place) - 1
    starts = index[new_place]
    ends = np.append(starts[1:], len(order))
    over, reached = np.empty((2, len(order)), dtype=np.int64)
    over[order] = starts[place] - document_start
    reached[order] = ends[place] - document_start
    return over, reached
