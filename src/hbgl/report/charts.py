"""Line charts as inline SVG: coloured by the page's style, with a title, a description, a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hbgl.report.markup import Markup, element

__all__ = ["Axis", "Chart", "Line", "Mark", "drawing", "figure"]

_WIDTH, _HEIGHT = 340.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 12.0, 10.0, 40.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale; its numbers are shown as percent or as they are."""

    name: str
    low: float = 0.0
    high: float = 1.0
    is_percent: bool = True
    is_log: bool = False
    """values from 1 on, by powers of ten"""
    names: Sequence[tuple[float, str]] = ()
    """where the lines of the grid lie, with their names; empty: at even distances"""

    def place(self, value: float) -> float:
        """0..1, cut off at the ends."""
        if self.is_log:
            top = math.log10(max(self.high, 10))
            return min(max(math.log10(max(value, 1)) / top, 0), 1)
        return min(max((value - self.low) / ((self.high - self.low) or 1), 0), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Where the lines of the grid lie, and their names."""
        if self.names:
            return list(self.names)
        if self.is_log:
            top = max(self.high, 10)
            powers = range(int(math.log10(top)) + 1)
            steps = (1, 2, 5) if len(powers) < 4 else (1,)
            found = [step * 10**power for power in powers for step in steps]
            return [(float(one), f"{one:,}") for one in found if one <= top]
        values = [self.low + (self.high - self.low) * i / 4 for i in range(5)]
        return [(value, self._named(value)) for value in values]

    def _named(self, value: float) -> str:
        if not self.is_percent:
            return f"{value:.3g}"
        shown = f"{100 * value:.1f}".removesuffix(".0")
        return f"{shown}%"


@dataclass(frozen=True, slots=True)
class Line:
    """One series; ``number`` picks its colour and dashes."""

    name: str
    number: int
    points: Sequence[tuple[float, float | None]]
    """None: the line breaks"""
    radii: Sequence[float] | None = None
    """of a dot on each point; None: no dots"""
    titles: Sequence[str] | None = None
    """shown where the pointer rests on a dot"""
    is_dots: bool = False
    """dots without a line"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line, or a band from ``low`` to ``high``."""

    name: str
    at: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Chart:
    """What is drawn."""

    title: str
    description: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    diagonal: bool = False
    anchor: str = field(default="chart")
    """an id that no other chart of the page has"""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return _WIDTH, _HEIGHT


def figure(chart: Chart, numbers: Markup | None = None, note: str = "") -> Markup:
    """The picture with its heading, its legend and, folded away, its numbers."""
    parts: list[Markup] = [
        element("figcaption", element("strong", chart.title), *([f" {note}"] if note else [])),
        drawing(chart),
        _legend(chart),
    ]
    if numbers is not None:
        parts.append(element("details", element("summary", "Numbers"), numbers))
    return element("figure", *parts)


def drawing(chart: Chart, **place: str) -> Markup:
    """The picture alone.

    :param place: attributes of its frame, such as ``x`` and ``width`` inside a larger picture.
    """
    title, description = f"{chart.anchor}-title", f"{chart.anchor}-desc"
    return element(
        "svg",
        element("title", chart.title, id=title),
        element("desc", chart.description, id=description),
        *_grid(chart),
        *_marks(chart),
        *(shape for line in chart.lines for shape in _shapes(chart, line)),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_labelledby=f"{title} {description}",
        **place,
    )


def _x(chart: Chart, value: float) -> float:
    return _LEFT + chart.x.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(chart: Chart, value: float) -> float:
    return _HEIGHT - _BOTTOM - chart.y.place(value) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(chart: Chart) -> Iterator[Markup]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value, name in chart.x.ticks():
        x = _x(chart, value)
        yield _line(x, _TOP, x, bottom, "grid")
        # The last name would stick out of the picture if it stood in the middle of its line.
        anchor = "end" if x > right - 1 else "middle"
        yield _text(x + (4 if anchor == "end" else 0), bottom + 15, name, anchor)
    for value, name in chart.y.ticks():
        y = _y(chart, value)
        yield _line(_LEFT, y, right, y, "grid")
        yield _text(_LEFT - 5, y + 3.5, name, "end")
    yield _text((_LEFT + right) / 2, _HEIGHT - 6, chart.x.name, "middle")
    yield element(
        "text",
        chart.y.name,
        text_anchor="middle",
        transform=f"translate(12 {(_TOP + bottom) / 2:g}) rotate(-90)",
    )
    if chart.diagonal:
        yield _line(_LEFT, bottom, right, _TOP, "diagonal")


def _marks(chart: Chart) -> Iterator[Markup]:
    for mark in chart.marks:
        if mark.low is not None and mark.high is not None and mark.high > mark.low:
            left, right = _x(chart, mark.low), _x(chart, mark.high)
            yield element(
                "rect",
                x=f"{left:.1f}",
                y=f"{_TOP:g}",
                width=f"{right - left:.1f}",
                height=f"{_HEIGHT - _TOP - _BOTTOM:g}",
                class_="band",
            )
        x = _x(chart, mark.at)
        yield _line(x, _TOP, x, _HEIGHT - _BOTTOM, "mark")


def _shapes(chart: Chart, line: Line) -> Iterator[Markup]:
    if not line.is_dots:
        for run in _runs(line.points):
            path = " ".join(f"{_x(chart, x):.1f},{_y(chart, y):.1f}" for x, y in run)
            yield element("polyline", points=path, class_=f"line series{line.number}")
    if line.radii is None:
        return
    for place, ((x, y), radius) in enumerate(zip(line.points, line.radii, strict=True)):
        if y is not None:
            title = [element("title", line.titles[place])] if line.titles else []
            yield element(
                "circle",
                *title,
                cx=f"{_x(chart, x):.1f}",
                cy=f"{_y(chart, y):.1f}",
                r=f"{radius:.1f}",
                class_=f"dot series{line.number}",
            )


def _runs(points: Sequence[tuple[float, float | None]]) -> Iterator[list[tuple[float, float]]]:
    """The parts between breaks."""
    run: list[tuple[float, float]] = []
    for x, y in points:
        if y is not None:
            run.append((x, y))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _legend(chart: Chart) -> Markup:
    items = [
        element("li", _swatch(f"series{line.number}", is_dot=line.is_dots), line.name)
        for line in chart.lines
    ]
    items += [element("li", _swatch("mark", is_dot=False), mark.name) for mark in chart.marks]
    if chart.diagonal:
        items.append(element("li", _swatch("diagonal", is_dot=False), "means what it says"))
    return element("ul", *items, class_="legend")


def _swatch(name: str, *, is_dot: bool) -> Markup:
    if is_dot:
        shape = element("circle", cx="11", cy="5", r="4", class_=f"dot {name}")
    else:
        shape = element("line", x1="0", y1="5", x2="22", y2="5", class_=f"line {name}")
    return element("svg", shape, viewBox="0 0 22 10", aria_hidden="true")


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    return element(
        "line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=name
    )


def _text(x: float, y: float, content: str, anchor: str) -> Markup:
    return element("text", content, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
