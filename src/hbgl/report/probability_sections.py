"""The parts of the page about probabilities: reliability, thresholds, abstention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hbgl.metrics.result import Abstention, Calibration, Reliability, ReliabilityBin
from hbgl.report.charts import Axis, Chart, Line, Mark, figure
from hbgl.report.findings import Findings
from hbgl.report.markup import (
    DASH,
    Content,
    Markup,
    Number,
    element,
    percent,
    section,
    share,
    table,
)
from hbgl.report.threshold_curves import ThresholdCurve

__all__ = ["abstention", "reliability", "thresholds"]


def reliability(found: Findings) -> Markup:
    """Do probabilities mean what they say, before and after calibration."""
    steps = found.calibration
    before, after = steps.before, steps.answered
    charts = [
        _diagram("chosen", "Predicted labels", before.overall, after.overall, chosen=True),
        _diagram("all", "All labels", before.overall, after.overall),
    ]
    charts += [
        _diagram(f"level-{one.level}", f"Level {one.level}", one, two)
        for one, two in zip(before.levels, after.levels, strict=True)
        if len(after.levels) > 1
    ]
    return section(
        "reliability",
        "Do probabilities mean what they say?",
        element(
            "p",
            "Of the pairs that got a probability of about 0.7, about 70% should be gold: a point "
            "below the diagonal is too sure of itself, one above not sure enough. The calibration "
            "error (ECE) is the mean distance, each bin weighted by its pairs. With many labels "
            "nearly all pairs are near 0 and make it small, so the predicted labels are shown "
            "alone as well.",
        ),
        _errors(found),
        element("div", *charts, class_="charts"),
    )


def _errors(found: Findings) -> Markup:
    steps = found.calibration
    columns: list[tuple[str, Calibration]] = [("before", steps.before)]
    if steps.calibrated is not None:
        columns.append(("calibrated", steps.calibrated))
    columns.append(("as answered", steps.answered))
    rows: list[list[Content]] = []
    for name, key in (
        ("Calibration error, predicted labels", "ece_chosen"),
        ("Calibration error, all pairs", "ece"),
        ("the same, equal-mass bins", "ece_equal_mass"),
        ("Brier score", "brier"),
    ):
        rows.append([name])
        values = [getattr(part.overall, key) for _, part in columns]
        rows.append(["all levels", *_compared(values)])
        for level in range(len(steps.before.levels) if len(steps.before.levels) > 1 else 0):
            values = [getattr(part.levels[level], key) for _, part in columns]
            rows.append([f"level {level + 1}", *_compared(values)])
    words = (
        "“before”: sigmoids of the scores; “calibrated”: after the map of each level; “as "
        "answered”: the probabilities that are given out, which a coherent rule lowers to those "
        "of the parents. All are of one walk with the same predicted labels."
    )
    if steps.calibrated is None:
        words = f"No calibration was fitted or it was left out. {words}"
    return element(
        "div",
        table(
            ["", *(name for name, _ in columns)],
            rows,
            caption="Calibration error before and after, in percent",
        ),
        element("p", words, class_="note"),
    )


def _compared(values: Sequence[float]) -> list[Content]:
    lowest = min(values) if max(values) - min(values) > 5e-7 else None
    return [
        Number(percent(one), one, is_best=lowest is not None and one - lowest < 5e-7)
        for one in values
    ]


def _diagram(
    anchor: str, title: str, before: Reliability, after: Reliability, *, chosen: bool = False
) -> Markup:
    parts = [
        ("before", 1, before.bins_chosen if chosen else before.bins),
        ("as answered", 0, after.bins_chosen if chosen else after.bins),
    ]
    errors = [one.ece_chosen if chosen else one.ece for one in (before, after)]
    lines = [
        Line(
            f"{name}, ECE {percent(error)}",
            number,
            [(one.probability, one.positives) for one in bins],
            _radii(bins),
            [
                f"{name}: probability {one.probability:.3f}, gold {one.positives:.3f}, "
                f"{one.count:,} pairs"
                for one in bins
            ],
        )
        for (name, number, bins), error in zip(parts, errors, strict=True)
    ]
    rows: list[list[Content]] = []
    for name, _, bins in parts:
        rows.append([name])
        rows += [
            [f"{one.lower:.3f}{DASH}{one.upper:.3f}", one.count, share(one.probability),
             share(one.positives)]
            for one in bins
        ]  # fmt: skip
    pairs = after.chosen if chosen else after.pairs
    chart = Chart(
        title,
        f"Share of gold pairs against probability, {pairs:,} pairs; calibration error "
        f"{percent(errors[0])}% before and {percent(errors[1])}% as answered.",
        Axis("probability"),
        Axis("share that is gold"),
        lines,
        diagonal=True,
        anchor=f"reliability-{anchor}",
    )
    numbers = table(
        ["bin", "pairs", "mean probability", "gold"], rows, caption=f"{title}, in percent"
    )
    return figure(chart, numbers, f"{pairs:,} pairs")


def _radii(bins: Sequence[ReliabilityBin]) -> list[float]:
    """Larger dots for more pairs, by their logarithm."""
    largest = max((one.count for one in bins), default=1)
    return [1.8 + 3 * math.log1p(one.count) / math.log1p(largest) for one in bins]


def thresholds(found: Findings) -> Markup:
    """What another threshold for a whole level would do."""
    rows: list[list[Content]] = []
    for curve in found.thresholds:
        best = curve.best
        rows.append(
            [
                f"level {curve.level}",
                Number(curve.thresholds, curve.usual),
                share(found.evaluation.scores.levels[curve.level - 1].micro_f1),
                Number(f"{best.threshold:.2f}", best.threshold),
                share(best.f1),
            ]
        )
    return section(
        "thresholds",
        "Thresholds",
        element(
            "p",
            "Precision, recall and F1 of each level were a single threshold used for all its "
            "labels, the levels above staying as they were predicted; the thresholds that "
            "decided are marked. Where labels have thresholds of their own, or the rule adds or "
            "drops labels besides, the scores of the answers need not lie on the curve. The last "
            "columns are what this very file would have liked best: thresholds chosen on a test "
            "file make its scores worthless as a test.",
        ),
        table(
            ["", "threshold", "F1 of the answers", "best here", "F1 there"],
            rows,
            caption="Thresholds by level, F1 in percent",
        ),
        element("div", *(_threshold_figure(curve) for curve in found.thresholds), class_="charts"),
    )


def _threshold_figure(curve: ThresholdCurve) -> Markup:
    points = curve.points
    lines = [
        Line("F1", 0, [(one.threshold, one.f1) for one in points]),
        Line("precision", 1, [(one.threshold, one.precision) for one in points]),
        Line("recall", 2, [(one.threshold, one.recall) for one in points]),
    ]
    own = curve.highest > curve.lowest
    mark = Mark(
        f"threshold {curve.thresholds}",
        curve.usual,
        curve.lowest if own else None,
        curve.highest if own else None,
    )
    best = curve.best
    chart = Chart(
        f"Level {curve.level}",
        f"F1, precision and recall against the threshold. F1 is highest at "
        f"{best.threshold:.2f} with {percent(best.f1)}%; the threshold used is {curve.thresholds}.",
        Axis("threshold", is_percent=False),
        Axis("score"),
        lines,
        [mark],
        anchor=f"threshold-{curve.level}",
    )
    rows: list[list[Content]] = [
        [Number(f"{one.threshold:.2f}", one.threshold), share(one.f1), share(one.precision),
         share(one.recall)]
        for one in points[::5]
    ]  # fmt: skip
    numbers = table(
        ["threshold", "F1", "precision", "recall"],
        rows,
        caption=f"Level {curve.level}, in percent",
    )
    return figure(chart, numbers, f"{curve.gold:,} gold labels")


def abstention(found: Findings) -> Markup:
    """What is gained when unsure documents are left to people."""
    part = found.evaluation.abstention
    if part is None:
        return Markup()
    words = {
        "smallest": "the smallest probability among its predicted labels, 0 if there are none",
        "first-level": "the largest probability of level 1",
    }
    return section(
        "coverage",
        "Leaving unsure documents to people",
        element(
            "p",
            "Documents in order of their confidence, the surest first. A document's confidence is "
            f"{words[part.confidence]}. The lower the risk among the surest ones, the more can be "
            "answered without a person.",
        ),
        element("div", _coverage_figure(part), _coverage_table(part), class_="beside"),
    )


def _coverage_figure(part: Abstention) -> Markup:
    risk = Line("not exactly right", 0, [(one.coverage, 1 - one.accuracy) for one in part.curve])
    loss = Line("1 - hierarchical F1", 1, [(one.coverage, 1 - one.hf1) for one in part.curve])
    highest = max([0.1, *(y or 0.0 for line in (risk, loss) for _, y in line.points)])
    chart = Chart(
        "Risk against coverage",
        "Share of answered documents that are not exactly right, and what is missing to a "
        f"hierarchical F1 of 1; area under the first {part.aurc:.4f}.",
        Axis("documents answered, the surest first"),
        Axis("risk", high=math.ceil(highest * 10) / 10),
        [risk, loss],
        anchor="risk-coverage",
    )
    return figure(chart, note=f"area {percent(part.aurc)}%, less is better")


def _coverage_table(part: Abstention) -> Markup:
    points = {round(one.coverage, 2): one for one in (*part.curve[9::10], *part.at)}
    rows: list[list[Content]] = [
        [
            f"{100 * coverage:.0f}%",
            Number(f"{one.confidence:.3f}", one.confidence),
            share(one.accuracy, bar=True),
            share(one.hf1),
        ]
        for coverage, one in sorted(points.items())
    ]
    return table(
        ["answered", "confidence from", "exactly right", "hierarchical F1"],
        rows,
        caption="The surest documents, in percent",
    )
