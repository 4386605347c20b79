"""F1 scores of predicted label sets against gold ones, from counts that are streamed.

With the true positives TP, predicted P and gold G of a label, counted over documents:

    precision = TP / P        recall = TP / G        F1 = 2 TP / (P + G)

and 0 where the denominator is 0, as ``zero_division=0`` of scikit-learn. Micro scores add TP, P
and G over the labels first; Macro-F1 is the mean of the labels' F1. One pass over documents in
any order and any batches; the memory is three numbers per label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hbgl.metrics.label_keys import (
    FloatArray,
    IntArray,
    LabelMatrix,
    common_keys,
    label_keys,
    pieces,
    ratio,
)

__all__ = [
    "Averages",
    "LabelCounts",
    "LabelScores",
    "LevelScores",
    "Scores",
    "averages",
    "by_level",
    "level_scores",
]


@dataclass(frozen=True)
class Averages:
    """Scores over a set of labels."""

    micro_f1: float
    """2 sum(TP) / (sum(P) + sum(G))"""
    macro_f1: float
    """mean F1 over all labels; one without gold and prediction counts 0"""
    macro_f1_supported: float
    """mean F1 over the labels that occur in gold"""
    micro_precision: float
    """sum(TP) / sum(P)"""
    micro_recall: float
    """sum(TP) / sum(G)"""

    @property
    def mean_f1(self) -> float:
        """Between Micro- and Macro-F1: neither frequent nor rare labels alone decide."""
        return (self.micro_f1 + self.macro_f1) / 2


@dataclass(frozen=True)
class LevelScores(Averages):
    """Scores over the labels of one level, roots being level 1."""

    level: int
    labels: int
    """how many labels the level has"""


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Scores of each label by itself, as arrays over label ids."""

    precision: FloatArray  # [L]
    recall: FloatArray  # [L]
    f1: FloatArray  # [L]
    support: IntArray  # [L], gold documents


@dataclass(frozen=True, eq=False)
class Scores(Averages):
    """Everything that is scored on one corpus."""

    exact_match: float
    """share of documents whose predicted set is the gold set"""
    documents: int
    levels: tuple[LevelScores, ...]
    labels: LabelScores

    def to_json(self, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """JSON values; with the names of the labels also the scores of each.

        >>> counts = LabelCounts(2)
        >>> counts.update(np.eye(2), np.eye(2))
        >>> counts.scores().to_json(["a", "b"])["labels"]["b"]
        {'precision': 1.0, 'recall': 1.0, 'f1': 1.0, 'support': 1}
        """
        found = {
            "documents": self.documents,
            **asdict(_averages_of(self)),
            "exact_match": self.exact_match,
            "levels": [asdict(level) for level in self.levels],
        }
        if labels is not None:
            rows = zip(*(_column.tolist() for _column in _columns(self.labels)), strict=True)
            found["labels"] = {
                name: dict(zip(("precision", "recall", "f1", "support"), row, strict=True))
                for name, row in zip(labels, rows, strict=True)
            }
        return found


class LabelCounts:
    """Counts per label, from which all scores follow.

    Three documents, labels a b c: gold {a}, {a, b}, {c}; predicted {a}, {b}, {}.
    TP = 1 1 0, P = 1 1 0, G = 2 1 1; Micro-F1 = 2*2 / (2 + 4), Macro-F1 = (2/3 + 1 + 0) / 3.

    >>> counts = LabelCounts(3)
    >>> gold = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> counts.update(gold, np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]]))
    >>> scores = counts.scores()
    >>> round(scores.micro_f1, 4), round(scores.macro_f1, 4), round(scores.exact_match, 4)
    (0.6667, 0.5556, 0.3333)
    """

    def __init__(self, labels: int) -> None:
        self.true_positives: IntArray = np.zeros(labels, dtype=np.int64)
        self.predicted: IntArray = np.zeros(labels, dtype=np.int64)
        self.gold: IntArray = np.zeros(labels, dtype=np.int64)
        self.exact = 0
        self.documents = 0

    def __len__(self) -> int:
        return len(self.gold)

    def update(self, gold: LabelMatrix, predicted: LabelMatrix) -> None:
        """Count a batch of documents.

        Args:
            gold: [B, L] dense array or scipy CSR matrix; what is not zero is a label.
            predicted: The same documents' predictions, dense or sparse.
        """
        if gold.shape != predicted.shape or gold.shape[1] != len(self):
            raise ValueError(
                f"gold {gold.shape} and predicted {predicted.shape} must be [B, {len(self)}]"
            )
        for rows in pieces(gold, predicted):
            documents = rows.stop - rows.start
            self.count_keys(label_keys(gold, rows), label_keys(predicted, rows), documents)

    def count_keys(
        self,
        gold: IntArray,
        predicted: IntArray,
        documents: int,
        *,
        right: IntArray | None = None,
    ) -> None:
        """Count documents given as sorted keys ``row * L + label``.

        Args:
            gold: Keys of the gold labels.
            predicted: Keys of the predicted ones.
            documents: How many documents these are.
            right: Keys to count as true positives; those that are gold and predicted if None.
        """
        width = max(1, len(self))
        right = common_keys(gold, predicted) if right is None else right
        wrong = np.zeros(documents, dtype=np.int64)
        for counts, keys, share in (
            (self.gold, gold, 1),
            (self.predicted, predicted, 1),
            (self.true_positives, right, -2),
        ):
            counts += np.bincount(keys % width, minlength=len(self))
            wrong += share * np.bincount(keys // width, minlength=documents)
        self.exact += int((wrong == 0).sum())
        self.documents += documents

    def __add__(self, other: LabelCounts) -> LabelCounts:
        return self.from_vector(self.vector() + other.vector())

    def vector(self) -> IntArray:
        """All counts as one [3 L + 2] vector, which processes may add up."""
        ends = np.array([self.exact, self.documents], dtype=np.int64)
        return np.concatenate([self.true_positives, self.predicted, self.gold, ends])

    @classmethod
    def from_vector(cls, vector: npt.NDArray[Any]) -> LabelCounts:
        """Counts from ``vector()``, or from a sum of such vectors."""
        counts = cls((len(vector) - 2) // 3)
        parts = np.split(vector[:-2].astype(np.int64), 3)
        counts.true_positives, counts.predicted, counts.gold = parts
        counts.exact, counts.documents = int(vector[-2]), int(vector[-1])
        return counts

    def scores(self, levels: npt.NDArray[Any] | None = None) -> Scores:
        """All scores of what was counted so far.

        Args:
            levels: [L], the level of each label (``taxonomy.levels``), for scores by level.
        """
        counts = self.true_positives, self.predicted, self.gold
        return Scores(
            **asdict(averages(*counts)),
            exact_match=self.exact / self.documents if self.documents else 0.0,
            documents=self.documents,
            levels=() if levels is None else level_scores(*counts, levels),
            labels=LabelScores(
                precision=ratio(self.true_positives, self.predicted),
                recall=ratio(self.true_positives, self.gold),
                f1=ratio(2 * self.true_positives, self.predicted + self.gold),
                support=self.gold.copy(),
            ),
        )


def averages(
    true_positives: npt.NDArray[Any], predicted: npt.NDArray[Any], gold: npt.NDArray[Any]
) -> Averages:
    """Scores over labels from the counts of each."""
    f1, supported = ratio(2 * true_positives, predicted + gold), gold > 0
    hits, predicted_sum, gold_sum = (
        counts.sum(keepdims=True) for counts in (true_positives, predicted, gold)
    )
    return Averages(
        micro_f1=float(ratio(2 * hits, predicted_sum + gold_sum)[0]),
        macro_f1=float(f1.mean()) if len(f1) else 0.0,
        macro_f1_supported=float(f1[supported].mean()) if supported.any() else 0.0,
        micro_precision=float(ratio(hits, predicted_sum)[0]),
        micro_recall=float(ratio(hits, gold_sum)[0]),
    )


def level_scores(
    true_positives: npt.NDArray[Any],
    predicted: npt.NDArray[Any],
    gold: npt.NDArray[Any],
    levels: npt.NDArray[Any],
) -> tuple[LevelScores, ...]:
    """Scores over the labels of each level, from the counts and the level of each label."""
    found = []
    for level, of_level in by_level(levels):
        counts = true_positives[of_level], predicted[of_level], gold[of_level]
        scores = asdict(averages(*counts))
        found.append(LevelScores(**scores, level=level, labels=len(of_level)))
    return tuple(found)


def by_level(levels: npt.NDArray[Any]) -> Iterator[tuple[int, IntArray]]:
    """Each level with the ids of its labels."""
    order = np.argsort(levels, kind="stable")
    steps = np.flatnonzero(np.diff(levels[order])) + 1
    for of_level in np.split(order, steps) if len(order) else []:
        yield int(levels[of_level[0]]), of_level


def _averages_of(scores: Averages) -> Averages:
    return Averages(**{name: getattr(scores, name) for name in Averages.__dataclass_fields__})


def _columns(scores: LabelScores) -> tuple[npt.NDArray[Any], ...]:
    return scores.precision, scores.recall, scores.f1, scores.support
