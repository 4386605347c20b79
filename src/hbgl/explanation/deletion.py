"""The deletion test: do the words that an explanation names matter more than others?

Take a predicted label, delete k words from the text and predict anew, through all levels:

    drop(k) = probability with the whole text - probability without the k words

once for the k words with the highest attribution, once for k words drawn at random and once for
the k with the lowest. The area is that under the mean drop from 0 to the largest k, by the
trapezoid rule, divided by that k: a mean drop, with each stretch of k weighing its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hbgl.errors import UsageError
from hbgl.explanation.explain import Explanation, Word, explain
from hbgl.explanation.words import Span, read_text
from hbgl.trained_model import TrainedModel

__all__ = ["ORDERS", "DeletionResult", "deletion_test", "without"]

ORDERS = ("highest", "random", "lowest")
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class DeletionResult:
    """Mean drops of probability over T (document, predicted label) pairs."""

    counts: tuple[int, ...]
    """The numbers of words deleted, k."""
    drops: dict[str, np.ndarray]
    """Order -> [k] mean drop."""
    areas: dict[str, float]
    """Order -> mean drop over k from 0 to the largest."""
    wins: np.ndarray
    """[k] share of the pairs where deleting the highest drops more than deleting at random."""
    documents: int
    pairs: int
    too_short: int
    """Documents left out: not more words than the largest k."""
    without_label: int
    """Documents left out: no label was predicted."""
    complete: float
    """Share of the pairs whose attributions account for the logit's difference."""

    def to_json(self) -> dict[str, Any]:
        """JSON values; drops by k."""

        def by_count(values: np.ndarray) -> dict[str, float]:
            return {
                str(k): round(float(value), _DIGITS)
                for k, value in zip(self.counts, values, strict=True)
            }

        return {
            "documents": self.documents,
            "pairs": self.pairs,
            "too_short": self.too_short,
            "without_label": self.without_label,
            "complete": round(self.complete, _DIGITS),
            "mean_drop": {order: by_count(self.drops[order]) for order in ORDERS},
            "area": {order: round(self.areas[order], _DIGITS) for order in ORDERS},
            "highest_beats_random": by_count(self.wins),
        }


def deletion_test(
    model: TrainedModel,
    texts: Iterable[str],
    *,
    counts: Sequence[int] = (1, 2, 3, 5),
    draws: int = 5,
    seed: int = 0,
    steps: int = 32,
    on_document: Callable[[int], None] | None = None,
) -> DeletionResult:
    """Explain the predicted labels of texts, delete words, predict anew.

    Words are those with a letter or a digit: deleting punctuation at random would flatter the
    attributions. A text longer than the model reads is cut before what it does not read, so that
    a deletion does not draw unread words in.

    :param draws: random deletions per pair and k, averaged.
    :raises UsageError: where no text can be tested.
    """
    if not counts or min(counts) < 1 or list(counts) != sorted(set(counts)):
        raise UsageError(f"counts must rise from 1 or more, not {list(counts)}")
    if draws < 1:
        raise UsageError(f"draws must be 1 or more, not {draws}")
    random = np.random.default_rng(seed)
    drops: list[np.ndarray] = []  # of each pair, [3, k]
    complete: list[bool] = []
    documents = too_short = without_label = 0
    for number, text in enumerate(texts, start=1):
        explanation = explain(model, _what_is_read(model, text), steps=steps, siblings=0)
        found = [_deletable(one.words) for one in explanation.explained]
        if not found:
            without_label += 1
        elif len(found[0]) <= max(counts):
            too_short += 1
        else:
            documents += 1
            complete += [one.complete for one in explanation.explained]
            drops += _drops(model, explanation, found, counts, draws, random)
        if on_document is not None:
            on_document(number)
    if not drops:
        raise UsageError(
            f"no text can be tested: {without_label} have no predicted label, {too_short} have no "
            f"more than {max(counts)} words"
        )
    every = np.stack(drops)  # [T, 3, k]
    means = every.mean(axis=0)
    return DeletionResult(
        counts=tuple(counts),
        drops=dict(zip(ORDERS, means, strict=True)),
        areas={order: _area(counts, row) for order, row in zip(ORDERS, means, strict=True)},
        wins=(every[:, 0] > every[:, 1]).mean(axis=0),
        documents=documents,
        pairs=len(drops),
        too_short=too_short,
        without_label=without_label,
        complete=float(np.mean(complete)),
    )


def without(text: str, spans: Iterable[Span]) -> str:
    """The text without some of its words.

    >>> without("pay the bill", [(4, 7)])
    'pay  bill'
    """
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def _what_is_read(model: TrainedModel, text: str) -> str:
    """The text up to the last word that is read as a whole."""
    read = read_text(text, model.backbone.tokenizer, model.method.max_length)
    if not read.truncated or len(read.words) < 2:
        return read.text
    return read.text[: read.words[-2][1]]


def _deletable(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if any(map(str.isalnum, word.text))]


def _drops(
    model: TrainedModel,
    explanation: Explanation,
    found: Sequence[Sequence[Word]],
    counts: Sequence[int],
    draws: int,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """Of each explained label of one document, [3 orders, k] drops."""
    text = explanation.text
    # Text -> its row in one bulk prediction; deletions that coincide are predicted once.
    rows: dict[str, int] = {text: 0}
    wanted: list[list[list[list[int]]]] = []  # label, order, k, draw -> row
    for words in found:
        ranked = sorted(words, key=lambda word: -word.attribution)
        shuffled = [[ranked[i] for i in random.permutation(len(ranked))] for _ in range(draws)]
        orders = [[ranked], shuffled, [ranked[::-1]]]
        wanted.append(
            [
                [[_row(rows, text, order[:count]) for order in drawn] for count in counts]
                for drawn in orders
            ]
        )
    probabilities = model.predict_proba(list(rows))
    columns = model.taxonomy.ids(one.label for one in explanation.explained)
    drops = []
    for column, by_order in zip(columns, wanted, strict=True):
        shares = probabilities[:, column]
        drops.append(
            np.array(
                [[float(shares[0] - shares[draw].mean()) for draw in order] for order in by_order]
            )
        )
    return drops


def _row(rows: dict[str, int], text: str, deleted: Sequence[Word]) -> int:
    left = without(text, [(word.start, word.end) for word in deleted])
    return rows.setdefault(left, len(rows))


def _area(counts: Sequence[int], drops: np.ndarray) -> float:
    """By the trapezoid rule from (0, 0), divided by the largest k.

    >>> _area([1, 2, 4], np.array([1.0, 2.0, 2.0]))
    1.5
    """
    places, heights = np.array([0, *counts]), np.concatenate([[0.0], drops])
    pieces = np.diff(places) * (heights[1:] + heights[:-1]) / 2
    return float(pieces.sum() / places[-1])
