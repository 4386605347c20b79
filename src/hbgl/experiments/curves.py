"""What the plots show of several runs of one method: label bands, learning curve, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hbgl.metrics import LabelScores
from hbgl.metrics.result import ReliabilityBin
from hbgl.report.frequency_bands import frequency_bands

__all__ = ["BandScore", "CurvePoint", "bands", "learning_curve", "reliability"]


@dataclass(frozen=True, slots=True)
class BandScore:
    """Labels with ``lowest`` to ``highest`` training documents; their mean F1, mean over seeds."""

    lowest: int
    highest: int
    labels: int
    f1: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Scores on dev while training, by the paper's decision; means over the seeds."""

    step: int
    epoch: float
    micro_f1: float
    macro_f1: float


def bands(scores: Sequence[dict[str, Any]]) -> tuple[BandScore, ...]:
    """By how often a label occurs in training.

    :param scores: of each run, with ``labels``.
    """
    of_runs = [frequency_bands(_by_training(one["labels"])) for one in scores]
    return tuple(
        BandScore(
            of_band[0].lowest,
            of_band[0].highest,
            of_band[0].labels,
            float(np.mean([one.f1 for one in of_band])),
        )
        for of_band in zip(*of_runs, strict=True)
    )


def _by_training(labels: dict[str, dict[str, float]]) -> LabelScores:
    """Of the labels that occur in test: the others have no score."""
    known = [one for one in labels.values() if one["support"]]
    columns = {
        name: np.array([one[name] for one in known], dtype=np.float64)
        for name in ("precision", "recall", "f1")
    }
    train = np.array([one["train"] for one in known], dtype=np.int64)
    return LabelScores(**columns, support=train)


def learning_curve(training: Sequence[dict[str, Any]]) -> tuple[CurvePoint, ...]:
    """At the steps at which every run was evaluated; nothing of methods without such a curve."""
    curves = [
        {one["step"]: one for one in (run.get("training") or {}).get("evaluations", [])}
        for run in training
    ]
    common = sorted(set.intersection(*(set(one) for one in curves))) if curves else []
    return tuple(
        CurvePoint(
            int(step),
            float(curves[0][step]["epoch"]),
            float(np.mean([one[step]["micro_f1"] for one in curves])),
            float(np.mean([one[step]["macro_f1"] for one in curves])),
        )
        for step in common
    )


def reliability(scores: Sequence[dict[str, Any]]) -> tuple[ReliabilityBin, ...]:
    """The predicted labels' probabilities against how often they are right, pooled over runs."""
    if any(one["calibration"] is None for one in scores):
        return ()
    pooled: dict[tuple[float, float], list[tuple[int, float, float]]] = {}
    for run in scores:
        for one in run["calibration"]["overall"]["bins_chosen"]:
            parts = pooled.setdefault((one["lower"], one["upper"]), [])
            parts.append((one["count"], one["probability"], one["positives"]))
    found = []
    for (lower, upper), parts in sorted(pooled.items()):
        counts, probabilities, positives = np.array(parts).T
        found.append(
            ReliabilityBin(
                lower,
                upper,
                int(counts.sum()),
                float(counts @ probabilities / counts.sum()),
                float(counts @ positives / counts.sum()),
            )
        )
    return tuple(found)
