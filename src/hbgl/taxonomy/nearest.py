"""The known names nearest to an unknown one, fast enough for 100,000 labels.

An inverted index of letter pairs, built at the first question, leaves a few candidates; difflib
ranks these.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hbgl.taxonomy.names import fold_name, quoted

__all__ = ["NearestNames"]

_CANDIDATES = 64
_MOST_HINTS = 1000
"""A file of 100,000 unknown names takes no minutes for hints that nobody reads."""

_LONGEST = 200
"""Letters of a name that are compared; difflib takes quadratic time."""


class NearestNames:
    """Answers "did you mean" for a fixed list of names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._hints = 0
        self._pairs: dict[str, npt.NDArray[np.int32]] | None = None

    def suggest(self, name: str, count: int = 3) -> list[str]:
        """Up to ``count`` known names, the nearest first; empty where none is near."""
        if self._pairs is None:
            self._pairs = self._index()
        wanted = fold_name(name)[:_LONGEST]
        hits = [self._pairs[pair] for pair in _letter_pairs(wanted) if pair in self._pairs]
        if not hits:
            return []
        shared = np.bincount(np.concatenate(hits), minlength=len(self._names))
        # The lowest ids among equals, so that the answer does not depend on the sorting.
        ranks = shared * len(shared) - np.arange(len(shared))
        few = min(_CANDIDATES, len(shared))
        best = np.argpartition(-ranks, few - 1)[:few]
        best = best[np.argsort(-ranks[best])]
        candidates: dict[str, str] = {}
        for i in best[shared[best] > 0].tolist():
            candidates.setdefault(fold_name(self._names[i])[:_LONGEST], self._names[i])
        return [candidates[near] for near in difflib.get_close_matches(wanted, candidates, count)]

    def hint(self, name: str) -> str:
        """``; did you mean "A" or "B"?`` or nothing; nothing too after a thousand hints."""
        self._hints += 1
        near = self.suggest(name) if self._hints <= _MOST_HINTS else []
        return f"; did you mean {' or '.join(quoted(one) for one in near)}?" if near else ""

    def _index(self) -> dict[str, npt.NDArray[np.int32]]:
        found: dict[str, list[int]] = defaultdict(list)
        for i, name in enumerate(self._names):
            for pair in _letter_pairs(fold_name(name)[:_LONGEST]):
                found[pair].append(i)
        return {pair: np.array(ids, np.int32) for pair, ids in found.items()}


def _letter_pairs(folded: str) -> set[str]:
    padded = f" {folded} "
    return {padded[i : i + 2] for i in range(len(padded) - 1)}
