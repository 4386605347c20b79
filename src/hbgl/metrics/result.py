"""What an evaluation finds: frozen dataclasses, and their JSON.

Shares and scores lie in 0..1. What needs probabilities is None where none were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hbgl.metrics.flat import Averages, LevelScores, Scores

__all__ = [
    "Abstention",
    "Calibration",
    "Coherence",
    "ConstrainedScores",
    "CoveragePoint",
    "Evaluation",
    "HierarchicalLevel",
    "HierarchicalScores",
    "LcaScores",
    "LevelReliability",
    "PathScores",
    "PrecisionRecall",
    "RankingScores",
    "Reliability",
    "ReliabilityBin",
]


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision, recall and their F1, pooled or as means."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class HierarchicalLevel:
    """Hierarchical scores over the labels of one level, roots being level 1."""

    level: int
    labels: int
    """how many labels the level has"""
    micro: PrecisionRecall
    macro: PrecisionRecall
    macro_supported: PrecisionRecall


@dataclass(frozen=True)
class HierarchicalScores:
    """Scores of sets to which all ancestors were added (``hbgl.metrics.closed_sets``)."""

    micro: PrecisionRecall
    """pooled over documents and labels"""
    per_document: PrecisionRecall
    """mean of the documents' own precision, recall and F1"""
    macro: PrecisionRecall
    """mean over all labels"""
    macro_supported: PrecisionRecall
    """mean over the labels that occur in the closed gold sets"""
    levels: tuple[HierarchicalLevel, ...]


@dataclass(frozen=True)
class ConstrainedScores(Averages):
    """C-F1: a label is right only with a whole right chain above it (``hbgl.metrics.chains``)."""

    levels: tuple[LevelScores, ...]


@dataclass(frozen=True)
class PathScores:
    """P-F1: whole paths, right or wrong (``hbgl.metrics.chains``)."""

    micro_f1: float
    """weight * unweighted.micro_f1"""
    macro_f1: float
    """weight * unweighted.macro_f1"""
    macro_f1_supported: float
    """weight * unweighted.macro_f1_supported"""
    weight: float
    """a = 1 - 2 (sigmoid(x) - 1/2)"""
    stray: float
    """x = predicted labels in no complete path / gold labels"""
    unweighted: Averages
    """over paths; macro: over the leaves and the inner labels where a path ends"""
    right: float
    """paths that are gold and predicted"""
    predicted: float
    """predicted paths"""
    gold: float
    """gold paths"""


@dataclass(frozen=True)
class LcaScores:
    """LCA-F1: ancestors added up to the lowest common ones (``hbgl.metrics.common_ancestors``)."""

    micro: PrecisionRecall
    """pooled over documents"""
    per_document: PrecisionRecall
    """mean over documents"""


@dataclass(frozen=True)
class Coherence:
    """How often answers contradict the taxonomy (``hbgl.metrics.coherence``)."""

    documents_with_orphans: float
    """share of documents with a predicted label none of whose parents is predicted"""
    orphans: float
    """share of predicted labels none of whose parents is predicted; labels of level 1 are none"""
    inversions: float | None
    """share of (document, label below level 1) whose probability exceeds its best parent's"""


@dataclass(frozen=True)
class RankingScores:
    """Scores of the order that the probabilities give (``hbgl.metrics.ranking``)."""

    precision_at: dict[int, float]
    """k -> share of gold labels among the first k, mean over documents"""
    ndcg_at: dict[int, float]
    """k -> normalised discounted cumulative gain of the first k, mean over documents"""
    hf1_auc: float
    """area under each document's hierarchical precision-recall curve, mean over documents"""


@dataclass(frozen=True)
class CoveragePoint:
    """What the surest documents score, the others being left to people."""

    coverage: float
    """share of documents that are answered"""
    confidence: float
    """confidence of the least sure of them"""
    accuracy: float
    """share of them with exactly the gold labels"""
    hf1: float
    """mean over them of the document's hierarchical F1"""


@dataclass(frozen=True)
class Abstention:
    """Accuracy against coverage (``hbgl.metrics.abstention``)."""

    confidence: str
    """which confidence orders the documents"""
    aurc: float
    """area under the risk-coverage curve, risk = 1 - accuracy; 0 is best"""
    at: tuple[CoveragePoint, ...]
    """at the coverages asked for"""
    curve: tuple[CoveragePoint, ...]
    """at each percent from 1 to 100"""


@dataclass(frozen=True)
class ReliabilityBin:
    """(document, label) pairs of similar probability; bins without pairs are left out."""

    lower: float
    """bin edge; for equal-mass bins the edge of the sketch's cell"""
    upper: float
    count: int
    probability: float
    """mean probability"""
    positives: float
    """share of the pairs that are gold"""


@dataclass(frozen=True)
class Reliability:
    """Calibration over a set of labels (``hbgl.metrics.calibration``)."""

    pairs: int
    """documents x labels"""
    ece: float
    """expected calibration error over all pairs, bins of equal width"""
    ece_equal_mass: float
    """the same, bins of (nearly) as many pairs each"""
    brier: float
    """mean of (probability - gold)^2 over all pairs"""
    chosen: int
    """how many pairs were predicted"""
    ece_chosen: float
    """expected calibration error of the predicted pairs: probability against precision"""
    bins: tuple[ReliabilityBin, ...]
    bins_equal_mass: tuple[ReliabilityBin, ...]
    bins_chosen: tuple[ReliabilityBin, ...]


@dataclass(frozen=True)
class LevelReliability(Reliability):
    """Calibration over the labels of one level."""

    level: int


@dataclass(frozen=True)
class Calibration:
    """Calibration overall and by level."""

    overall: Reliability
    levels: tuple[LevelReliability, ...]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Everything that `Evaluator` finds on one corpus."""

    scores: Scores
    """Micro- and Macro-F1 as in the literature: overall, by level, by label; exact set accuracy"""
    hamming_loss: float
    """share of (document, label) pairs that are wrong"""
    hierarchical: HierarchicalScores
    constrained: ConstrainedScores
    paths: PathScores
    lca: LcaScores
    coherence: Coherence
    ranking: RankingScores | None
    abstention: Abstention | None
    calibration: Calibration | None

    @property
    def micro_f1(self) -> float:
        """Of ``scores``."""
        return self.scores.micro_f1

    @property
    def macro_f1(self) -> float:
        """Of ``scores``."""
        return self.scores.macro_f1

    @property
    def documents(self) -> int:
        """How many documents were evaluated."""
        return self.scores.documents

    def to_json(self, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """JSON values; with the names of the labels also the scores of each.

        At the top stand the keys of ``Scores.to_json`` (``micro_f1``, ``macro_f1``, ``levels``,
        ``labels``...), beside them ``hamming_loss`` and one key for each family, named and shaped
        as the fields above; ``precision_at`` and ``ndcg_at`` have strings as keys.
        """
        found = self.scores.to_json(labels)
        by_label = found.pop("labels", None)
        found["hamming_loss"] = self.hamming_loss
        for name in ("hierarchical", "constrained", "paths", "lca", "coherence"):
            found[name] = asdict(getattr(self, name))
        for name in ("ranking", "abstention", "calibration"):
            part = getattr(self, name)
            found[name] = None if part is None else asdict(part)
        if found["ranking"] is not None:
            for name in ("precision_at", "ndcg_at"):
                found["ranking"][name] = {str(k): v for k, v in found["ranking"][name].items()}
        if by_label is not None:
            found["labels"] = by_label
        return found
