"""Pictures of an experiment as SVG files of ``docs/pictures``, drawn with the charts of the report.

A page asks for one as it asks for a table, in the words of ``experiment_results.py``::

    <!-- numbers: experiment_scores_picture experiment=tables methods=flat,global -->
    <!-- numbers: experiment_bands_picture experiment=tables methods=flat,global -->

The same results always give the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hbgl.experiments.page_charts import fitted_axis
from hbgl.experiments.tables import shown
from hbgl.report.charts import Axis, Chart, Line, drawing
from hbgl.report.intervals import Interval, Intervals, interval_drawing
from hbgl.report.markup import Markup, element, percent
from tools.benchmark_rows import SCORES
from tools.experiment_results import Experiment, Method

__all__ = ["EXPERIMENT_PICTURES", "Picture"]

_COLOURS = (
    "#1d4ed8", "#b45309", "#047857", "#a21caf", "#0e7490", "#b42318", "#6d5a00", "#475569",
)  # fmt: skip
_DASHES = ("none", "6 3", "2 2.5", "9 3 2 3")
_GAP, _HEADING, _LEGEND_ROW, _LEGEND_COLUMN = 20.0, 22.0, 18.0, 170.0


@dataclass(frozen=True)
class Picture:
    """A file beside the pages, and the words that stand for it."""

    file: str
    words: str
    svg: str

    @property
    def link(self) -> str:
        """In Markdown, from a page of ``docs``."""
        return f"![{self.words}]({self.file})"


@dataclass(frozen=True)
class _Panel:
    """One chart with its heading; placed by the picture."""

    title: str
    size: tuple[float, float]
    draw: Callable[..., Markup]


def scores_picture(experiment: Experiment) -> Picture:
    """Each method's mean, deviation and seeds; a row of panels for each corpus."""
    panels = [
        [_scores(experiment, corpus, name) for name in SCORES] for corpus in experiment.corpora
    ]
    words = f"Micro- and Macro-F1 on test: {_summary(experiment)}"
    return _picture(experiment, "scores", words, panels, [])


def bands_picture(experiment: Experiment) -> Picture:
    """Mean F1 of labels by their training documents; a panel for each corpus."""
    panels = [[_bands(experiment, corpus) for corpus in experiment.corpora]]
    words = f"Mean F1 of labels by their training documents, {_which(experiment)}"
    finished = {row.name for row in experiment.rows()}
    legend = [
        (number, experiment.wanted[name])
        for name, number in _numbers(experiment).items()
        if name in finished
    ]
    return _picture(experiment, "bands", words, panels, legend)


EXPERIMENT_PICTURES: Mapping[str, Callable[[Experiment], Picture]] = {
    "experiment_scores_picture": scores_picture,
    "experiment_bands_picture": bands_picture,
}


def _which(experiment: Experiment) -> str:
    return f"experiment {experiment.words['experiment']} on {', '.join(experiment.corpora)}"


def _summary(experiment: Experiment) -> str:
    """All numbers of the picture, for who cannot see it."""
    parts = []
    for row in experiment.rows():
        scores = " / ".join(shown(row.score("test", experiment.decision, name)) for name in SCORES)
        parts.append(f"{row.corpus} {row.shown_as} {scores}")
    return "; ".join(parts)


def _numbers(experiment: Experiment) -> dict[str, int]:
    """Method -> its colour: the same in all pictures, unless two of this one would share it."""
    every = experiment.run["results"]["methods"]
    found = {name: every.index(name) % len(_COLOURS) for name in experiment.wanted}
    if len(set(found.values())) == len(found):
        return found
    return {name: place % len(_COLOURS) for place, name in enumerate(experiment.wanted)}


def _scores(experiment: Experiment, corpus: str, name: str) -> _Panel:
    numbers, rows, ends = _numbers(experiment), [], []
    for method in experiment.methods(corpus):
        one = method.score("test", experiment.decision, name)
        if one is None:
            continue
        deviation = one.deviation or 0.0
        ends += [*one.values, one.mean - deviation, one.mean + deviation]
        words = f"{method.shown_as}: {shown(one)}"
        rows.append(
            Interval(
                method.shown_as, numbers[method.name], one.mean, one.deviation, one.values, words
            )
        )
    chart = Intervals(
        f"{corpus}: {SCORES[name]} on test",
        "; ".join(row.title for row in rows),
        fitted_axis(SCORES[name], ends or [0.0]),
        rows,
        f"{corpus}-{name}",
    )
    return _Panel(chart.title, chart.size, lambda **place: interval_drawing(chart, **place))


def _bands(experiment: Experiment, corpus: str) -> _Panel:
    numbers, methods = _numbers(experiment), experiment.methods(corpus)
    lowest = sorted({band["lowest"] for one in methods for band in one.found["bands"]})
    place = {value: float(number) for number, value in enumerate(lowest)}
    names = [(place[one], f"{one // 1000}k" if one >= 1000 else str(one)) for one in lowest]
    lines = [_line(method, numbers[method.name], place) for method in methods]
    values = [y for line in lines for _, y in line.points if y is not None]
    chart = Chart(
        f"{corpus}: labels by training documents",
        "; ".join(title for line in lines for title in line.titles or []),
        Axis("training documents, from", 0, max(len(lowest) - 1, 1), is_percent=False, names=names),
        fitted_axis("mean F1 of labels", values or [0.0]),
        lines,
        anchor=f"{corpus}-bands",
    )
    return _Panel(chart.title, chart.size, lambda **where: drawing(chart, **where))


def _line(method: Method, number: int, place: Mapping[int, float]) -> Line:
    bands: Sequence[Mapping[str, Any]] = method.found["bands"]
    return Line(
        method.shown_as,
        number,
        [(place[band["lowest"]], band["f1"]) for band in bands],
        [2.4] * len(bands),
        [
            f"{method.shown_as}, {band['labels']} labels from {band['lowest']}: "
            f"{percent(band['f1'])}"
            for band in bands
        ],
    )


# ---------------------------------------------------------------------- the picture around panels


def _picture(
    experiment: Experiment,
    kind: str,
    words: str,
    panels: Sequence[Sequence[_Panel]],
    legend: Sequence[tuple[int, str]],
) -> Picture:
    """Rows of panels, then the legend: the name of each colour."""
    parts: list[Markup] = []
    y, width = 0.0, 0.0
    for row in panels:
        x = 0.0
        for panel in row:
            parts += _placed(panel, x, y)
            x += panel.size[0] + _GAP
        width = max(width, x - _GAP)
        y += _HEADING + max(panel.size[1] for panel in row) + _GAP
    columns = max(1, int(width // _LEGEND_COLUMN))
    for place, (number, name) in enumerate(legend):
        parts += _legend(name, number, _LEGEND_COLUMN * (place % columns), place // columns, y)
    height = y - _GAP if not legend else y + _LEGEND_ROW * -(-len(legend) // columns)
    corpus = experiment.words.get("corpus")
    stem = "_".join([experiment.words["experiment"], kind, *([corpus] if corpus else [])])
    svg = element(
        "svg",
        element("title", words),
        element("style", Markup(_style())),
        element("rect", width="100%", height="100%", class_="paper"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"-8 -4 {width + 16:g} {height + 8:g}",
        width=f"{width + 16:g}",
        height=f"{height + 8:g}",
        role="img",
    )
    return Picture(f"pictures/{stem}.svg", words, svg.replace("><", ">\n<") + "\n")


def _placed(panel: _Panel, x: float, y: float) -> Iterator[Markup]:
    width, height = panel.size
    yield element("text", panel.title, x=f"{x + 8:g}", y=f"{y + 14:g}", class_="title")
    yield panel.draw(x=f"{x:g}", y=f"{y + _HEADING:g}", width=f"{width:g}", height=f"{height:g}")


def _legend(name: str, number: int, x: float, row: int, top: float) -> Iterator[Markup]:
    y = top + _LEGEND_ROW * row
    series = f"line series{number}"
    yield element("line", x1=f"{x:g}", x2=f"{x + 24:g}", y1=f"{y:g}", y2=f"{y:g}", class_=series)
    yield element("text", name, x=f"{x + 30:g}", y=f"{y + 4:g}")


def _style() -> str:
    """The colours of the report as plain values: few viewers of pictures know variables."""
    series = "".join(
        f".series{number} {{ stroke: {colour}; stroke-dasharray: {_DASHES[number % 4]}; }}\n"
        f".dot.series{number} {{ fill: {colour}; stroke: #fff; stroke-dasharray: none; }}\n"
        for number, colour in enumerate(_COLOURS)
    )
    return (
        "\ntext { fill: #5b6068; font: 11px system-ui, sans-serif; }\n"
        ".title { fill: #1a1a1a; font-weight: 600; font-size: 12px; }\n"
        ".paper { fill: #fff; x: -8px; y: -4px; }\n.grid { stroke: #d9dce1; }\n"
        ".line { fill: none; stroke-width: 2; }\n.dot { stroke-width: .7; }\n"
        f"{series}.bar-of.line {{ stroke-dasharray: none; }}\n"
        ".dot.seed { stroke: none; opacity: .45; }\n"
    )
