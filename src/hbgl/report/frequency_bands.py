"""Scores of labels by how often they occur in the evaluated documents.

The bands are 0, 1, 2-4, 5-9, 10-19, 20-49, 50-99, 100-199 and so on; empty ones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hbgl.metrics import LabelScores

__all__ = ["FrequencyBand", "frequency_bands"]


@dataclass(frozen=True, slots=True)
class FrequencyBand:
    """Labels with ``lowest`` to ``highest`` gold documents; means over these labels."""

    lowest: int
    highest: int
    labels: int
    f1: float
    precision: float
    recall: float
    never_right: int
    """labels whose F1 is 0"""


def frequency_bands(scores: LabelScores) -> list[FrequencyBand]:
    """The bands that have labels, the rarest first.

    >>> import numpy as np
    >>> f1 = np.array([0.0, 0.5, 1.0])
    >>> found = frequency_bands(LabelScores(f1, f1, f1, np.array([0, 3, 4])))
    >>> [(band.lowest, band.highest, band.labels, band.f1) for band in found]
    [(0, 0, 1, 0.0), (2, 4, 2, 0.75)]
    """
    found = []
    for lowest, highest in _bounds(int(scores.support.max(initial=0))):
        inside = (scores.support >= lowest) & (scores.support <= highest)
        if inside.any():
            found.append(
                FrequencyBand(
                    lowest,
                    highest,
                    int(inside.sum()),
                    float(scores.f1[inside].mean()),
                    float(scores.precision[inside].mean()),
                    float(scores.recall[inside].mean()),
                    int((scores.f1[inside] == 0).sum()),
                )
            )
    return found


def _bounds(largest: int) -> Iterator[tuple[int, int]]:
    yield 0, 0
    power = 1
    while power <= largest:
        for lowest, after in ((1, 2), (2, 5), (5, 10)):
            yield lowest * power, after * power - 1
        power *= 10
