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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from hbgl.taxonomy import Taxonomy

__all__ = ["Averages", "LabelCounts", "LabelScores", "LevelScores", "Scores", "score_table"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
LabelMatrix: TypeAlias = "npt.NDArray[Any] | csr_matrix"

_CELLS = 1 << 24  # of a dense matrix looked at in one piece
_ENTRIES = 1 << 18  # of a sparse matrix


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
        for rows in _pieces(gold, predicted):
            self._count(_keys(gold, rows), _keys(predicted, rows), rows.stop - rows.start)

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
        f1 = _ratio(2 * self.true_positives, self.predicted + self.gold)
        by_level = []
        for level in [] if levels is None else np.unique(levels).tolist():
            of_level = np.flatnonzero(levels == level)
            averages = asdict(self._averages(f1, of_level))
            by_level.append(LevelScores(**averages, level=level, labels=len(of_level)))
        return Scores(
            **asdict(self._averages(f1, np.arange(len(self)))),
            exact_match=self.exact / self.documents if self.documents else 0.0,
            documents=self.documents,
            levels=tuple(by_level),
            labels=LabelScores(
                precision=_ratio(self.true_positives, self.predicted),
                recall=_ratio(self.true_positives, self.gold),
                f1=f1,
                support=self.gold.copy(),
            ),
        )

    def _averages(self, f1: FloatArray, labels: npt.NDArray[Any]) -> Averages:
        hits = self.true_positives[labels].sum(keepdims=True)
        predicted = self.predicted[labels].sum(keepdims=True)
        gold = self.gold[labels].sum(keepdims=True)
        f1, supported = f1[labels], self.gold[labels] > 0
        return Averages(
            micro_f1=float(_ratio(2 * hits, predicted + gold)[0]),
            macro_f1=float(f1.mean()) if len(f1) else 0.0,
            macro_f1_supported=float(f1[supported].mean()) if supported.any() else 0.0,
            micro_precision=float(_ratio(hits, predicted)[0]),
            micro_recall=float(_ratio(hits, gold)[0]),
        )

    def _count(self, gold: IntArray, predicted: IntArray, documents: int) -> None:
        """Count the sorted keys ``row * L + label`` of some documents."""
        width = max(1, len(self))
        # Two sorted runs are merged in linear time; a key that is twice there is a hit.
        merged = np.concatenate([gold, predicted])
        merged.sort(kind="stable")
        hits = merged[:-1][merged[1:] == merged[:-1]]
        wrong = np.zeros(documents, dtype=np.int64)
        for counts, keys, share in (
            (self.gold, gold, 1),
            (self.predicted, predicted, 1),
            (self.true_positives, hits, -2),
        ):
            counts += np.bincount(keys % width, minlength=len(self))
            wrong += share * np.bincount(keys // width, minlength=documents)
        self.exact += int((wrong == 0).sum())
        self.documents += documents


def score_table(scores: Scores, taxonomy: Taxonomy, *, weakest: int = 0) -> list[str]:
    """Lines of plain text: the scores overall and by level, in percent.

    Args:
        scores: Of ``LabelCounts.scores(taxonomy.levels)``.
        taxonomy: Names the labels.
        weakest: How many labels to list, those of the lowest F1 among the supported ones.
    """
    header = ["", "labels", "Micro-F1", "Macro-F1", "precision", "recall"]
    rows = [_row("all", len(taxonomy), scores)]
    rows += [_row(f"level {level.level}", level.labels, level) for level in scores.levels]
    lines = _aligned([header, *rows])
    lines += [
        "",
        f"{scores.documents:,} documents, {100 * scores.exact_match:.2f}% with exactly the gold "
        f"labels; Macro-F1 over the {int((scores.labels.support > 0).sum()):,} labels that occur "
        f"in them: {100 * scores.macro_f1_supported:.2f}",
    ]
    if weakest > 0:
        lines += ["", *_label_rows(scores.labels, taxonomy, weakest)]
    return lines


def _label_rows(scores: LabelScores, taxonomy: Taxonomy, count: int) -> list[str]:
    order = np.lexsort((-scores.support, scores.f1))
    order = order[scores.support[order] > 0][:count]
    rows = [["weakest labels", "documents", "F1", "precision", "recall"]]
    rows += [
        [
            taxonomy.labels[label],
            f"{scores.support[label]:,}",
            *(
                f"{100 * column[label]:.2f}"
                for column in (scores.f1, scores.precision, scores.recall)
            ),
        ]
        for label in order.tolist()
    ]
    return _aligned(rows)


def _row(name: str, labels: int, scores: Averages) -> list[str]:
    shares = (scores.micro_f1, scores.macro_f1, scores.micro_precision, scores.micro_recall)
    return [name, f"{labels:,}", *(f"{100 * share:.2f}" for share in shares)]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Columns of equal width, the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


def _averages_of(scores: Averages) -> Averages:
    return Averages(**{name: getattr(scores, name) for name in Averages.__dataclass_fields__})


def _columns(scores: LabelScores) -> tuple[npt.NDArray[Any], ...]:
    return scores.precision, scores.recall, scores.f1, scores.support


def _ratio(numerator: IntArray, denominator: IntArray) -> FloatArray:
    """Divide, and 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)


def _pieces(*matrices: LabelMatrix) -> Iterator[slice]:
    """Slices of rows, so that the keys of a slice take some tens of megabytes."""
    documents, labels = matrices[0].shape
    start = 0
    while start < documents:
        end = min(_end(matrix, start, max(1, labels)) for matrix in matrices)
        yield slice(start, end)
        start = end


def _end(matrix: LabelMatrix, start: int, labels: int) -> int:
    """The row before which a piece from ``start`` on ends; at least one row."""
    documents: int = matrix.shape[0]
    if isinstance(matrix, np.ndarray):
        return min(documents, start + max(1, _CELLS // labels))
    last = int(np.searchsorted(matrix.indptr, matrix.indptr[start] + _ENTRIES, side="right")) - 1
    return min(documents, max(start + 1, last))


def _keys(matrix: LabelMatrix, rows: slice) -> IntArray:
    """``row * L + label`` of what is not zero in a slice of rows, sorted, each once."""
    if isinstance(matrix, np.ndarray):
        return np.flatnonzero(matrix[rows]).astype(np.int64, copy=False)
    pointers = matrix.indptr[rows.start : rows.stop + 1].astype(np.int64)
    entries = slice(pointers[0], pointers[-1])
    row = np.repeat(np.arange(len(pointers) - 1, dtype=np.int64), np.diff(pointers))
    keys: IntArray = row * matrix.shape[1] + matrix.indices[entries]
    keys = keys[matrix.data[entries] != 0]
    if np.all(keys[1:] > keys[:-1]):
        return keys
    keys.sort()
    distinct: IntArray = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return distinct
