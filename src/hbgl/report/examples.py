"""Documents with errors, to be read: the surest mistakes, and as many drawn at random.

The surest mistakes alone would show the labels that gold lacks; a random draw shows what usually
goes wrong. Memory is that of the documents kept.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from hbgl.decisions import Decoded
from hbgl.taxonomy import Taxonomy

__all__ = ["ErrorExample", "ErrorExamples"]

_Ranked = tuple[float, int, "ErrorExample"]


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """One document whose predicted set is not the gold set."""

    index: int
    """of the document in the corpus, from 0"""
    gold: tuple[int, ...]
    """label ids"""
    predicted: tuple[int, ...]
    probabilities: dict[int, float]
    """of all these labels and their ancestors"""
    surest: float
    """the largest probability of a wrong label; 0 if there are only missed ones"""


class ErrorExamples:
    """Keeps at most ``most`` documents: half of them the surest mistakes."""

    def __init__(self, taxonomy: Taxonomy, most: int, seed: int = 0) -> None:
        self._taxonomy = taxonomy
        self._random = np.random.default_rng(seed)
        self._most_surest = (most + 1) // 2
        self._most = most
        # Heaps whose first one is the next to go.
        self._surest: list[_Ranked] = []
        self._drawn: list[_Ranked] = []

    def update(self, indices: np.ndarray, gold: csr_matrix, decoded: Decoded) -> None:
        """See a batch: document indices [B], gold labels [B, L], answers on the CPU."""
        if not self._most:
            return
        truth, chosen = gold.toarray(), decoded.chosen.numpy()
        probabilities = decoded.probabilities.numpy()
        surest = np.where(chosen & ~truth, probabilities, 0).max(axis=1)
        for row in np.flatnonzero((truth != chosen).any(axis=1)).tolist():
            draw = float(self._random.random())
            if not (
                self._would_stay(self._surest, self._most_surest, float(surest[row]))
                or self._would_stay(self._drawn, self._most, draw)
            ):
                continue
            example = self._example(
                int(indices[row]),
                np.flatnonzero(truth[row]).tolist(),
                np.flatnonzero(chosen[row]).tolist(),
                probabilities[row],
                float(surest[row]),
            )
            if example.surest > 0:
                self._keep(self._surest, self._most_surest, example.surest, example)
            # Enough are drawn that those among the surest ones can be left out.
            self._keep(self._drawn, self._most, draw, example)

    def result(self) -> tuple[list[ErrorExample], list[ErrorExample]]:
        """The surest mistakes, the surest first, and others at random, in corpus order."""
        surest = [one for *_, one in sorted(self._surest, reverse=True, key=lambda item: item[:2])]
        shown = {one.index for one in surest}
        drawn = [one for *_, one in sorted(self._drawn, reverse=True, key=lambda item: item[:2])]
        others = [one for one in drawn if one.index not in shown][: self._most - len(surest)]
        return surest, sorted(others, key=lambda one: one.index)

    def _would_stay(self, heap: list[_Ranked], most: int, rank: float) -> bool:
        return len(heap) < most or rank > heap[0][0]

    def _keep(self, heap: list[_Ranked], most: int, rank: float, example: ErrorExample) -> None:
        if len(heap) < most:
            heapq.heappush(heap, (rank, -example.index, example))
        elif (rank, -example.index) > heap[0][:2]:
            heapq.heapreplace(heap, (rank, -example.index, example))

    def _example(
        self,
        index: int,
        gold: list[int],
        predicted: list[int],
        probabilities: np.ndarray,
        surest: float,
    ) -> ErrorExample:
        shown = self._taxonomy.closure({*gold, *predicted}).tolist()
        return ErrorExample(
            index,
            tuple(gold),
            tuple(predicted),
            {label: float(probabilities[label]) for label in shown},
            surest,
        )
