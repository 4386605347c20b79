"""How often predicted labels and probabilities contradict the taxonomy.

An orphan is a predicted label below level 1 none of whose parents is predicted. An inversion is a
label below level 1 whose probability exceeds that of each of its parents.
"""

from __future__ import annotations

import numpy as np

from hbgl.metrics.batch import Batch
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.result import Coherence

__all__ = ["CoherenceCounts"]


class CoherenceCounts:
    """Counts of orphans and inversions.

    a > b: predicted {b} and {a, b} with probabilities (0.4, 0.6) and (0.9, 0.8): one document of
    two has an orphan, one label of three is one, one pair of two is inverted.

    >>> from hbgl.taxonomy import Taxonomy
    >>> graph = LabelGraph(Taxonomy.from_paths(map(list, ["ab"])))
    >>> counts = CoherenceCounts(graph)
    >>> predicted = np.array([[0, 1], [1, 1]])
    >>> scores = np.array([[0.4, 0.6], [0.9, 0.8]], dtype=np.float32)
    >>> counts.update(Batch(graph, predicted, predicted, scores))
    >>> found = counts.result()
    >>> found.documents_with_orphans, round(found.orphans, 4), found.inversions
    (0.5, 0.3333, 0.5)
    """

    def __init__(self, graph: LabelGraph) -> None:
        self._graph = graph
        self._has_parent = np.flatnonzero(np.diff(graph.starts))
        self._documents = self._with_orphans = 0
        self._labels = self._orphans = 0
        self._pairs = self._inversions = 0
        self._saw_scores = False

    def update(self, batch: Batch) -> None:
        """Count a batch of documents."""
        orphaned = ~self._graph.are_roots(batch.predicted)
        orphaned[batch.predicted_edges[0]] = False
        orphans = batch.predicted[orphaned]
        self._documents += batch.documents
        self._with_orphans += len(np.unique(orphans // self._graph.width))
        self._labels += len(batch.predicted)
        self._orphans += len(orphans)
        if batch.scores is not None:
            self._saw_scores = True
            if len(self._has_parent):
                below = self._has_parent
                above = batch.scores[:, self._graph.targets]
                best = np.maximum.reduceat(above, self._graph.starts[below], axis=1)
                self._pairs += best.size
                self._inversions += int(np.count_nonzero(batch.scores[:, below] > best))

    def result(self) -> Coherence:
        """Shares, 0 of nothing."""
        return Coherence(
            documents_with_orphans=self._with_orphans / max(1, self._documents),
            orphans=self._orphans / max(1, self._labels),
            inversions=self._inversions / max(1, self._pairs) if self._saw_scores else None,
        )
