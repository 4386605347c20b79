"""The pictures of one corpus: scores, levels, label bands, learning, reliability, speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from hbgl.experiments.summary import MethodRow, Statistic
from hbgl.report.charts import Axis, Chart, Line, figure
from hbgl.report.intervals import Interval, Intervals, interval_figure
from hbgl.report.markup import DASH, Content, Markup, element, percent, share, table

__all__ = ["charts"]

_COLOURS = 8
_STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
_SCORES = (("micro_f1", "Micro-F1"), ("macro_f1", "Macro-F1"))


def charts(corpus: str, rows: Sequence[MethodRow], place: int) -> Markup:
    """All of them, those without anything to show left out.

    :param place: the number of the corpus, for ids that occur once.
    """
    found = [
        *(_scores(rows, name, title, f"c{place}-{name}") for name, title in _SCORES),
        *_levels(rows, f"c{place}-level"),
        *_bands(rows, f"c{place}-bands"),
        *_learning(rows, f"c{place}-learning"),
        *_reliability(rows, f"c{place}-reliability"),
        *_speed(rows, f"c{place}-speed"),
    ]
    return element("div", *found, class_="charts", aria_label=f"Plots of {corpus}", role="group")


def fitted_axis(name: str, values: Sequence[float]) -> Axis:
    """Five even steps around the values, in percent.

    >>> axis = fitted_axis("F1", [0.812, 0.861])
    >>> round(axis.low, 3), round(axis.high, 3)
    (0.8, 0.88)
    """
    low, high = min(values), max(values)
    for step in _STEPS:
        start = min(math.floor(low / step + 1e-9) * step, 1 - 4 * step)
        if start >= -1e-9 and start + 4 * step >= high - 1e-9:
            return Axis(name, max(start, 0.0), start + 4 * step)
    return Axis(name)


def _scores(rows: Sequence[MethodRow], name: str, title: str, anchor: str) -> Markup:
    values = [(row, row.scores["tuned"][name]) for row in rows]
    ends = [
        end
        for _, one in values
        for end in (*one.values, one.mean - (one.deviation or 0), one.mean + (one.deviation or 0))
    ]
    shown = [
        Interval(
            row.method,
            number % _COLOURS,
            one.mean,
            one.deviation,
            one.values,
            f"{row.method}: {_words(one)}",
        )
        for number, (row, one) in enumerate(values)
    ]
    chart = Intervals(
        f"{title} on test",
        "; ".join(one.title for one in shown),
        fitted_axis(title, ends),
        shown,
        anchor,
    )
    return interval_figure(chart, "mean, standard deviation, and each seed")


def _words(one: Statistic) -> str:
    mean = percent(one.mean)
    return mean if one.deviation is None else f"{mean} ± {percent(one.deviation)}"


def _levels(rows: Sequence[MethodRow], anchor: str) -> Iterator[Markup]:
    depth = max(len(row.levels) for row in rows)
    if depth < 2:
        return
    for name, title in _SCORES:
        lines = [
            [(float(one.level), getattr(one, name).mean) for one in row.levels] for row in rows
        ]
        names = [(float(level), str(level)) for level in range(1, depth + 1)]
        axis = Axis("level", 1, depth, is_percent=False, names=names)
        yield _lines(rows, lines, f"{title} by level", axis, title, f"{anchor}-{name}", "level")


def _bands(rows: Sequence[MethodRow], anchor: str) -> Iterator[Markup]:
    lowest = sorted({band.lowest for row in rows for band in row.bands})
    if len(lowest) < 2:
        return
    place = {value: float(i) for i, value in enumerate(lowest)}
    names = [(place[one], f"{one // 1000}k" if one >= 1000 else str(one)) for one in lowest]
    axis = Axis("training documents, from", 0, len(lowest) - 1, is_percent=False, names=names)
    lines = [[(place[band.lowest], band.f1) for band in row.bands] for row in rows]
    yield _lines(
        rows, lines, "Mean F1 of labels by their training documents", axis, "mean F1", anchor,
        "from", dict(zip(place.values(), map(str, lowest), strict=True)),
    )  # fmt: skip


def _learning(rows: Sequence[MethodRow], anchor: str) -> Iterator[Markup]:
    last = max((row.curve[-1].epoch for row in rows if row.curve), default=0.0)
    if not last:
        return
    for name, title in _SCORES:
        lines = [[(one.epoch, getattr(one, name)) for one in row.curve] for row in rows]
        axis = Axis("epoch", 0, last, is_percent=False)
        yield _lines(
            rows, lines, f"{title} on dev while training", axis, title, f"{anchor}-{name}", "epoch"
        )


def _lines(
    rows: Sequence[MethodRow],
    lines: Sequence[list[tuple[float, float]]],
    title: str,
    axis: Axis,
    score: str,
    anchor: str,
    first: str,
    names: dict[float, str] | None = None,
) -> Markup:
    """One line for each method that has points."""
    shown = [
        Line(row.method, number % _COLOURS, points, [2.4] * len(points),
             [f"{row.method}: {percent(y)}" for _, y in points])
        for number, (row, points) in enumerate(zip(rows, lines, strict=True))
        if points
    ]  # fmt: skip
    values = [y for points in lines for _, y in points]
    chart = Chart(
        title,
        f"{score} of {len(shown)} methods; the numbers are in the table below the picture.",
        axis,
        fitted_axis(score, values),
        shown,
        anchor=anchor,
    )
    places = sorted({x for points in lines for x, _ in points})
    known = [(line.name, dict(line.points)) for line in shown]
    body: list[list[Content]] = [
        [(names or {}).get(x, f"{x:g}"), *(share(points.get(x)) for _, points in known)]
        for x in places
    ]
    numbers = table([first, *(name for name, _ in known)], body, caption=f"{title}, in percent")
    return figure(chart, numbers)


def _reliability(rows: Sequence[MethodRow], anchor: str) -> Iterator[Markup]:
    shown = []
    for number, row in enumerate(rows):
        error = row.scores["tuned"].get("ece_chosen")
        if row.reliability and error is not None:
            points = [(one.probability, one.positives) for one in row.reliability]
            titles = [
                f"{row.method}: probability {one.probability:.3f}, right {one.positives:.3f}, "
                f"{one.count:,} pairs"
                for one in row.reliability
            ]
            name = f"{row.method}, error {percent(error.mean)}"
            radii = [2.4] * len(points)
            shown.append(Line(name, number % _COLOURS, points, radii, titles))
    if shown:
        chart = Chart(
            "Reliability of predicted labels",
            "How often a predicted label is right against its probability, all seeds pooled; "
            + "; ".join(line.name for line in shown),
            Axis("probability"),
            Axis("share that is right"),
            shown,
            diagonal=True,
            anchor=anchor,
        )
        yield figure(chart)


def _speed(rows: Sequence[MethodRow], anchor: str) -> Iterator[Markup]:
    sides: list[tuple[str, str, Callable[[MethodRow], float]]] = [
        ("Prediction", "documents a second", lambda row: row.documents_per_second.mean),
        ("Training", "seconds of training", lambda row: row.training_seconds.mean),
    ]
    for title, unit, cost in sides:
        quality = [row.scores["tuned"]["macro_f1"].mean for row in rows]
        shown = [
            Line(
                row.method,
                number % _COLOURS,
                [(cost(row), value)],
                [5.0],
                [f"{row.method}: {cost(row):,.1f} {unit}, Macro-F1 {percent(value)}"],
                is_dots=True,
            )
            for number, (row, value) in enumerate(zip(rows, quality, strict=True))
        ]
        body: list[list[Content]] = [
            [row.method, f"{cost(row):,.1f}", share(value)]
            for row, value in zip(rows, quality, strict=True)
        ]
        chart = Chart(
            f"{title}: speed against quality",
            "; ".join(line.titles[0] for line in shown if line.titles),
            Axis(unit, high=max(10.0, *map(cost, rows)), is_percent=False, is_log=True),
            fitted_axis("Macro-F1", quality),
            shown,
            anchor=f"{anchor}-{title.lower()}",
        )
        head = ["method", unit, "Macro-F1, percent"]
        yield figure(chart, table(head, body, caption=f"{title} {DASH} {unit}"))
