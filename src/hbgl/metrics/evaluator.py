"""All scores of one corpus, from batches of documents in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from hbgl.metrics.abstention import AbstentionCounts, Confidence
from hbgl.metrics.batch import Batch
from hbgl.metrics.calibration import CalibrationCounts
from hbgl.metrics.chains import Chains
from hbgl.metrics.closed_sets import ClosedSets
from hbgl.metrics.coherence import CoherenceCounts
from hbgl.metrics.common_ancestors import CommonAncestors
from hbgl.metrics.flat import LabelCounts
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import LabelMatrix, pieces
from hbgl.metrics.ranking import Ranking
from hbgl.metrics.result import Evaluation

if TYPE_CHECKING:
    from hbgl.taxonomy import Taxonomy

__all__ = ["Evaluator"]

_CELLS = 1 << 21  # of a dense matrix looked at in one piece: several copies of it are made


class Evaluator:
    """Counts batches of documents, then scores them all; keeps no document.

    The families and their formulas stand in the modules of this package, a family in each.

    >>> from hbgl.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_paths([("arts", "music"), ("arts", "film")])
    >>> evaluator = Evaluator(taxonomy)
    >>> gold, predicted = np.array([[1, 1, 0]]), np.array([[1, 0, 1]])
    >>> evaluator.update(gold, predicted, np.array([[0.9, 0.4, 0.6]]))
    >>> found = evaluator.result()
    >>> found.micro_f1, found.constrained.micro_f1, found.paths.micro_f1, found.lca.micro.f1
    (0.5, 0.5, 0.0, 0.5)
    >>> round(found.hamming_loss, 4), found.ranking.precision_at[1]
    (0.6667, 1.0)
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        *,
        k: Sequence[int] = (1, 3, 5),
        bins: int = 15,
        confidence: Confidence = "smallest",
        coverages: Sequence[float] = (0.5, 0.7, 0.8, 0.9, 1.0),
    ) -> None:
        """Prepare to count.

        Args:
            taxonomy: Names the columns of the matrices by its ids.
            k: For precision@k and nDCG@k.
            bins: Of the calibration errors.
            confidence: What orders the documents when some are left out: the ``smallest``
                probability among the predicted labels, or the largest of the ``first-level``.
            coverages: Shares of documents at which the accuracy is wanted.
        """
        _check_options(k, bins, confidence, coverages)
        self._graph = LabelGraph(taxonomy)
        self._counts = LabelCounts(len(taxonomy))
        self._closed = ClosedSets(self._graph)
        self._chains = Chains(self._graph)
        self._lca = CommonAncestors(self._graph)
        self._coherence = CoherenceCounts(self._graph)
        self._ranking = Ranking(self._graph, k)
        self._abstention = AbstentionCounts(confidence, coverages)
        self._calibration = CalibrationCounts(self._graph, bins)
        self._scored: bool | None = None

    def update(
        self, gold: LabelMatrix, predicted: LabelMatrix, scores: npt.NDArray[Any] | None = None
    ) -> None:
        """Count a batch of documents.

        Args:
            gold: [B, L] dense array or scipy CSR matrix; what is not zero is a label.
            predicted: The same documents' predictions, dense or sparse.
            scores: [B, L] their probabilities, dense; with every batch or with none.
        """
        self._check(gold, predicted, scores)
        self._scored = scores is not None
        matrices = (gold, predicted) if scores is None else (gold, predicted, scores)
        for rows in pieces(*matrices, cells=_CELLS):
            part = None if scores is None else _probabilities(scores[rows])
            self._count(Batch(self._graph, gold, predicted, part, rows))

    def result(self) -> Evaluation:
        """All scores of what was counted so far."""
        scores = self._counts.scores(self._graph.levels)
        return Evaluation(
            scores=scores,
            hamming_loss=_hamming_loss(self._counts),
            hierarchical=self._closed.result(),
            constrained=self._chains.constrained(),
            paths=self._chains.paths(),
            lca=self._lca.result(),
            coherence=self._coherence.result(),
            ranking=self._ranking.result() if self._scored else None,
            abstention=self._abstention.result() if self._scored else None,
            calibration=self._calibration.result() if self._scored else None,
        )

    def _count(self, batch: Batch) -> None:
        self._counts.count_keys(batch.gold, batch.predicted, batch.documents, right=batch.hits)
        for family in (self._closed, self._chains, self._lca, self._coherence):
            family.update(batch)
        if batch.scores is not None:
            for scored in (self._ranking, self._abstention, self._calibration):
                scored.update(batch, batch.scores)

    def _check(
        self, gold: LabelMatrix, predicted: LabelMatrix, scores: npt.NDArray[Any] | None
    ) -> None:
        width = self._graph.width
        if gold.shape != predicted.shape or gold.shape[1] != width:
            raise ValueError(
                f"gold {gold.shape} and predicted {predicted.shape} must be [B, {width}]"
            )
        if scores is not None and scores.shape != gold.shape:
            raise ValueError(f"scores {scores.shape} must be {gold.shape}, as gold")
        if self._scored is not None and self._scored != (scores is not None):
            raise ValueError("give scores with every batch of documents or with none")


def _check_options(
    k: Sequence[int], bins: int, confidence: str, coverages: Sequence[float]
) -> None:
    faults = []
    if any(one < 1 for one in k):
        faults.append(f"k {tuple(k)} must be 1 or more")
    if bins < 1:
        faults.append(f"bins {bins} must be 1 or more")
    if confidence not in get_args(Confidence):
        faults.append(f"confidence {confidence!r} must be one of {', '.join(get_args(Confidence))}")
    if any(not 0 < one <= 1 for one in coverages):
        faults.append(f"coverages {tuple(coverages)} must be over 0 and at most 1")
    if faults:
        raise ValueError("; ".join(faults))


def _probabilities(scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The batch in float32; what is no probability is refused."""
    found = np.ascontiguousarray(scores, dtype=np.float32)
    if found.size and not (found.min() >= 0 and found.max() <= 1):  # false for NaN, too
        raise ValueError(f"scores from {found.min()} to {found.max()} are no probabilities")
    return found


def _hamming_loss(counts: LabelCounts) -> float:
    """Share of (document, label) pairs that are wrong: sum(P + G - 2 TP) / (documents L)."""
    wrong = (counts.predicted + counts.gold - 2 * counts.true_positives).sum()
    return float(wrong / max(1, counts.documents * len(counts)))
