"""Scores of labels by how often they occur, in training or in the evaluated documents.

The bands are 0, 1, 2-4, 5-9, 10-19, 20-49, 50-99, 100-199 and so on; empty ones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hbgl.metrics import LabelScores
from hbgl.metrics.label_keys import IntArray

__all__ = ["FrequencyBand", "frequency_bands"]


@dataclass(frozen=True, slots=True)
class FrequencyBand:
    """Labels with ``lowest`` to ``highest`` documents; means over these labels."""

    lowest: int
    highest: int
    labels: int
    f1: float
    precision: float
    recall: float
    never_right: int
    """labels whose F1 is 0"""


def frequency_bands(scores: LabelScores, trained: IntArray | None = None) -> list[FrequencyBand]:
    """The bands that have labels, the rarest first.

    Args:
        scores: Of the evaluated file.
        trained: [L] training documents of each label: the bands go by these, and labels without a
            gold document in the evaluated file, which have no score, are left out. None: the bands
            go by the gold documents.

    >>> import numpy as np
    >>> f1 = np.array([0.0, 0.5, 1.0])
    >>> scores = LabelScores(f1, f1, f1, np.array([0, 3, 4]))
    >>> [(band.lowest, band.highest, band.labels, band.f1) for band in frequency_bands(scores)]
    [(0, 0, 1, 0.0), (2, 4, 2, 0.75)]
    >>> found = frequency_bands(scores, np.array([7, 0, 12]))
    >>> [(band.lowest, band.highest, band.labels, band.f1) for band in found]
    [(0, 0, 1, 0.5), (10, 19, 1, 1.0)]
    """
    frequency = scores.support if trained is None else trained
    counted = np.ones(len(frequency), dtype=bool) if trained is None else scores.support > 0
    found = []
    for lowest, highest in _bounds(int(frequency.max(initial=0))):
        inside = counted & (frequency >= lowest) & (frequency <= highest)
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
