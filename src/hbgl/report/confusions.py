"""Which labels are taken for which, and how the two stand to each other in the taxonomy.

Every wrong predicted label and every missed gold label of a document is of exactly one kind, by the
first of these that holds. Labels of level 1 count as the children of a root that is always right.

A wrong label                                       A missed label
  sibling, or at level 1 another branch:              sibling, or at level 1 another branch:
    a child of the same parent was missed               a child of the same parent is wrong
  too deep: its parent is gold and has no             too shallow: its parent is predicted and
    gold child                                          has no predicted child
  one too many: the parent's gold children            one too few: the parent's predicted children
    are all predicted, or nothing was missed            are all right
  same branch, another branch: its parents are        below a missed label: its parents are not
    not gold; by the nearest missed label               predicted

Of several missed siblings the likeliest one is the partner. The nearest label is the one with the
deepest common ancestor; of those the one with the nearest level, then the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_matrix

from hbgl.decisions import Decoded
from hbgl.taxonomy import Taxonomy

__all__ = ["MISSED_KINDS", "WRONG_KINDS", "ConfusedPair", "Confusions", "ErrorCounts"]

_T = TypeVar("_T")

WRONG_KINDS: dict[str, str] = {
    "sibling": "a label with the same parent was missed",
    "too deep": "the gold path ends at its parent",
    "one too many": "it stands beside right labels, and none was missed there",
    "same branch": "wrong from higher up; the nearest missed label is in the same branch",
    "another branch": "the nearest missed label is under another label of level 1",
}
"""The kinds of wrong predicted labels, near misses first."""

MISSED_KINDS: dict[str, str] = {
    "sibling": "a label with the same parent was predicted instead",
    "too shallow": "the predicted path ends at its parent; at level 1: there is no answer",
    "one too few": "other labels of its parent were found, none of them wrong",
    "another branch": "a label of level 1 for which another one was predicted",
    "below a missed label": "its parent was missed, too",
}
"""The kinds of missed gold labels."""


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """What was predicted where something else was gold."""

    predicted: int | None
    """label id: a wrong label; where the answer is too shallow, the one it ends at"""
    gold: int | None
    """label id: the missed label; where the answer is too deep, the one gold ends at"""
    kind: str
    count: int

    @property
    def is_pair(self) -> bool:
        """Both sides are known."""
        return self.predicted is not None and self.gold is not None


@dataclass(frozen=True)
class Confusions:
    """How often each kind of error and each pair occurred."""

    wrong: dict[str, int]
    """kind -> wrong predicted labels, in the order of `WRONG_KINDS`"""
    missed: dict[str, int]
    """kind -> missed gold labels, in the order of `MISSED_KINDS`"""
    pairs: tuple[ConfusedPair, ...]
    """the most frequent first"""
    alone: tuple[ConfusedPair, ...]
    """labels too many or too few, with nothing to hold them against; the most frequent first"""


class ErrorCounts:
    """Counts the errors of batches of answers.

    a > a1, a2: gold {a, a1}; predicted {a, a2}, then {a}: a sibling, then too shallow.

    >>> import torch
    >>> taxonomy = Taxonomy.from_paths([("a", "a1"), ("a", "a2")])
    >>> counts = ErrorCounts(taxonomy)
    >>> gold = csr_matrix([[True, True, False]] * 2)
    >>> chosen = torch.tensor([[True, False, True], [True, False, False]])
    >>> counts.update(np.arange(2), gold, Decoded(torch.ones(2, 3), chosen, torch.ones(2, 3)))
    >>> found = counts.result()
    >>> found.wrong["sibling"], found.missed["sibling"], found.missed["too shallow"]
    (1, 1, 1)
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._relations = _Relations(taxonomy)
        self._wrong: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()
        self._pairs: Counter[tuple[int | None, int | None, str]] = Counter()

    def update(self, indices: np.ndarray, gold: csr_matrix, decoded: Decoded) -> None:
        """See a batch: document indices [B], gold labels [B, L], answers on the CPU."""
        truth, chosen = gold.toarray(), decoded.chosen.numpy()
        probabilities = decoded.probabilities.numpy()
        for row in np.flatnonzero((truth != chosen).any(axis=1)).tolist():
            document = _Document(
                np.flatnonzero(truth[row]).tolist(), np.flatnonzero(chosen[row]).tolist()
            )
            self._count(document, probabilities[row])

    def result(self, most: int = 50) -> Confusions:
        """What was counted so far, with so many of the most frequent pairs."""
        ranked = sorted(
            self._pairs.items(),
            key=lambda item: (-item[1], *(-1 if i is None else i for i in item[0][:2])),
        )
        found = [ConfusedPair(*pair, count) for pair, count in ranked]
        return Confusions(
            {kind: self._wrong[kind] for kind in WRONG_KINDS},
            {kind: self._missed[kind] for kind in MISSED_KINDS},
            tuple(pair for pair in found if pair.is_pair)[:most],
            tuple(pair for pair in found if not pair.is_pair)[:most],
        )

    def _count(self, document: _Document, probabilities: np.ndarray) -> None:
        for label in document.wrong:
            kind, partner = self._relations.of_wrong(label, document, probabilities)
            self._wrong[kind] += 1
            self._pairs[label, partner, kind] += 1
        for label in document.missed:
            kind, ends_at = self._relations.of_missed(label, document)
            self._missed[kind] += 1
            # A missed label whose place another one took is counted with that one.
            if kind in ("too shallow", "one too few"):
                self._pairs[ends_at, label, kind] += 1


class _Document:
    """Label sets of one document that has errors."""

    def __init__(self, gold: list[int], predicted: list[int]) -> None:
        self.gold, self.predicted = set(gold), set(predicted)
        self.wrong = [i for i in predicted if i not in self.gold]
        self.missed = [i for i in gold if i not in self.predicted]

    @cached_property
    def wrong_set(self) -> set[int]:
        return set(self.wrong)


class _Relations:
    """Answers about pairs of labels; what was asked of the taxonomy before is kept."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._parents: dict[int, tuple[int, ...]] = {}
        self._children: dict[int, frozenset[int]] = {}
        self._above: dict[int, frozenset[int]] = {}
        self._roots = frozenset(range(*taxonomy.level_slice(1).indices(len(taxonomy))))

    def of_wrong(
        self, label: int, document: _Document, probabilities: np.ndarray
    ) -> tuple[str, int | None]:
        """The kind of a wrong label, and the gold label beside which it is listed."""
        parents = self.parents(label)
        missed_siblings = self._siblings(label).intersection(document.missed)
        if missed_siblings:
            likeliest = max(sorted(missed_siblings), key=lambda i: probabilities[i])
            return ("sibling" if parents else "another branch"), likeliest
        if not parents or not document.missed:
            return self._end_of(parents, document.gold, "too deep", "one too many")
        if not document.gold.isdisjoint(parents):
            return self._end_of(parents, document.gold, "too deep", "one too many")
        nearest = max(document.missed, key=lambda other: self._nearness(label, other))
        shared = not self._roots.isdisjoint(self.above(label) & self.above(nearest))
        return ("same branch" if shared else "another branch"), nearest

    def of_missed(self, label: int, document: _Document) -> tuple[str, int | None]:
        """The kind of a missed label, and the predicted label at which the answer ends."""
        parents = self.parents(label)
        if not self._siblings(label).isdisjoint(document.wrong_set):
            return ("sibling" if parents else "another branch"), None
        if parents and document.predicted.isdisjoint(parents):
            return "below a missed label", None
        return self._end_of(parents, document.predicted, "too shallow", "one too few")

    def parents(self, label: int) -> tuple[int, ...]:
        return _kept(self._parents, label, lambda i: tuple(self._taxonomy.parents(i).tolist()))

    def above(self, label: int) -> frozenset[int]:
        """The label and its ancestors."""
        return _kept(self._above, label, lambda i: frozenset(self._taxonomy.closure((i,)).tolist()))

    def _end_of(
        self, parents: Sequence[int], answer: Set[int], ends: str, goes_on: str
    ) -> tuple[str, int | None]:
        """Whether the answer ends at one of the parents, and at which."""
        if not parents:
            return (goes_on if self._roots & answer else ends), None
        for parent in parents:
            if parent in answer and self._below(parent).isdisjoint(answer):
                return ends, parent
        return goes_on, None

    def _siblings(self, label: int) -> frozenset[int]:
        parents = self.parents(label)
        if not parents:
            return self._roots
        return frozenset[int]().union(*(self._below(parent) for parent in parents))

    def _below(self, label: int) -> frozenset[int]:
        return _kept(
            self._children, label, lambda i: frozenset(self._taxonomy.children(i).tolist())
        )

    def _nearness(self, label: int, other: int) -> tuple[int, int, int]:
        levels = self._taxonomy.levels
        common = self.above(label) & self.above(other)
        deepest = max((int(levels[i]) for i in common), default=0)
        return deepest, -abs(int(levels[label]) - int(levels[other])), -other


def _kept(kept: dict[int, _T], label: int, asked: Callable[[int], _T]) -> _T:
    found = kept.get(label)
    if found is None:
        found = kept[label] = asked(label)
    return found
