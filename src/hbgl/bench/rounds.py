"""Interleaved rounds: every contender once, then again, so that a slow minute slows them all.

Figures are medians over the rounds. A ratio is taken within each round and then its median, so
that what disturbed a round disturbs both sides of it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "FEWEST_DOCUMENTS",
    "Run",
    "Spread",
    "fitting_documents",
    "interleave",
    "ratio",
    "spread",
]

FEWEST_DOCUMENTS = 8
_LEAST_ROUNDS = 3
_SETTLE = 0.25  # seconds in which the last contender's threads go to sleep

Run = Callable[[], dict[str, Any]]
"""One repetition of one contender; gives at least ``seconds``."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with its extremes."""

    median: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Four significant digits each."""
        return {"median": _short(self.median), "low": _short(self.low), "high": _short(self.high)}


def fitting_documents(
    seconds_per_document: Sequence[float], documents: int, repetitions: int, budget: float
) -> int:
    """How many documents let three rounds (or all, if they are fewer) end within the budget.

    Fewer for every contender alike. Rounds beyond the third are left to :func:`interleave`.

    >>> fitting_documents([0.1, 0.9], documents=100, repetitions=5, budget=150)
    50
    >>> fitting_documents([0.1, 0.9], documents=100, repetitions=1, budget=150)
    100
    """
    rounds = min(repetitions, _LEAST_ROUNDS)
    fitting = int(budget / (rounds * sum(seconds_per_document)))
    return min(documents, max(fitting, FEWEST_DOCUMENTS))


def interleave(
    runs: Mapping[str, Run],
    repetitions: int,
    budget: float,
    heard: Callable[[str, int], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[dict[str, Any]]]:
    """What each contender gave in each round: A B C A B C ...

    A round that would, going by the one before, end after ``budget`` seconds is not begun.

    :param heard: told the contender and the number of the round (from 1) before each run.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    started = clock()
    for number in range(1, repetitions + 1):
        begun = clock()
        if number > 1 and (begun - started) * number / (number - 1) > budget:
            break
        for name, run in runs.items():
            if heard is not None:
                heard(name, number)
            time.sleep(_SETTLE)
            found[name].append(run())
    return found


def spread(values: Sequence[float]) -> Spread:
    """Median, least and greatest of one figure per round."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(faster: Sequence[float], slower: Sequence[float]) -> Spread:
    """How many times faster: round by round ``slower / faster`` seconds, then their median.

    >>> ratio([1.0, 2.0, 1.0], [8.0, 10.0, 9.0])
    Spread(median=8.0, low=5.0, high=9.0)
    """
    return spread([after / before for before, after in zip(faster, slower, strict=True)])


def _short(value: float) -> float:
    return float(f"{value:.4g}")
