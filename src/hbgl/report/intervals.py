"""A row for each name: its mean as a dot, its deviation as a bar, its single values as faint dots.

In the style of ``charts.py``; the scale is cut to where the values are, so bars, not lengths, are
to be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hbgl.report.charts import Axis
from hbgl.report.markup import Markup, element

__all__ = ["Interval", "Intervals", "interval_drawing", "interval_figure"]

_WIDTH, _ROW = 340.0, 24.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 106.0, 18.0, 8.0, 38.0
_LONGEST_NAME = 17


@dataclass(frozen=True, slots=True)
class Interval:
    """One row."""

    name: str
    number: int
    """picks its colour"""
    mean: float
    deviation: float | None
    values: Sequence[float]
    title: str
    """shown where the pointer rests"""


@dataclass(frozen=True, slots=True)
class Intervals:
    """What is drawn."""

    title: str
    description: str
    axis: Axis
    rows: Sequence[Interval]
    anchor: str
    """an id that no other chart of the page has"""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return _WIDTH, _TOP + _ROW * len(self.rows) + _BOTTOM


def interval_figure(chart: Intervals, note: str = "") -> Markup:
    """The picture with its heading."""
    heading = [element("strong", chart.title), *([f" {note}"] if note else [])]
    return element("figure", element("figcaption", *heading), interval_drawing(chart))


def interval_drawing(chart: Intervals, **place: str) -> Markup:
    """The picture alone.

    :param place: attributes of its frame, such as ``x`` and ``width`` inside a larger picture.
    """
    title, description = f"{chart.anchor}-title", f"{chart.anchor}-desc"
    width, height = chart.size
    return element(
        "svg",
        element("title", chart.title, id=title),
        element("desc", chart.description, id=description),
        *_scale(chart, height),
        *(shape for place, row in enumerate(chart.rows) for shape in _row(chart, row, place)),
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{title} {description}",
        **place,
    )


def _scale(chart: Intervals, height: float) -> Iterator[Markup]:
    bottom = height - _BOTTOM
    for value, name in chart.axis.ticks():
        x = _x(chart, value)
        yield _line(x, _TOP, x, bottom, "grid")
        yield element("text", name, x=f"{x:.1f}", y=f"{bottom + 15:g}", text_anchor="middle")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield element(
        "text", chart.axis.name, x=f"{middle:g}", y=f"{height - 5:g}", text_anchor="middle"
    )


def _row(chart: Intervals, row: Interval, place: int) -> Iterator[Markup]:
    y = _TOP + _ROW * (place + 0.5)
    short = row.name if len(row.name) <= _LONGEST_NAME else f"{row.name[: _LONGEST_NAME - 1]}…"
    yield element("text", short, x=f"{_LEFT - 8:g}", y=f"{y + 4:.1f}", text_anchor="end")
    series = f"series{row.number}"
    if row.deviation is not None:
        left, right = (_x(chart, row.mean + sign * row.deviation) for sign in (-1, 1))
        yield _line(left, y, right, y, f"line bar-of {series}")
        for end in (left, right):
            yield _line(end, y - 4, end, y + 4, f"line bar-of {series}")
    if len(row.values) > 1:
        for value in row.values:
            yield _dot(_x(chart, value), y, 2.0, f"dot seed {series}")
    yield _dot(_x(chart, row.mean), y, 4.2, f"dot {series}", row.title)


def _x(chart: Intervals, value: float) -> float:
    return _LEFT + chart.axis.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    return element(
        "line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=name
    )


def _dot(x: float, y: float, radius: float, name: str, title: str = "") -> Markup:
    inner = [element("title", title)] if title else []
    return element("circle", *inner, cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:g}", class_=name)
