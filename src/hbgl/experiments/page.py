"""The results as one self-contained page; plots in ``page_charts.py``, toolkit in ``report/``."""

from __future__ import annotations

from collections.abc import Sequence

from hbgl.experiments.answers import DECISIONS
from hbgl.experiments.page_charts import charts
from hbgl.experiments.significance import Difference
from hbgl.experiments.summary import CHOSEN_BY, METRICS, MethodRow, Statistic, Summary
from hbgl.experiments.tables import HOW, p_value
from hbgl.report.frame import framed
from hbgl.report.markup import (
    DASH,
    Content,
    Markup,
    Number,
    details,
    element,
    join,
    percent,
    section,
    table,
)

__all__ = ["results_page"]

_SHOWN = {name: title for name, title in METRICS.items() if name != "macro_f1_supported"}
_WITH_BARS = ("micro_f1", "macro_f1")
_NOTHING = Number(DASH, 0.0)
"""A dash where the numbers stand."""


def results_page(summary: Summary) -> str:
    """The page as HTML."""
    corpora = [
        (f"corpus-{place}", corpus, _corpus(corpus, summary.of(corpus), place))
        for place, corpus in enumerate(summary.corpora)
    ]
    dates = summary.facts.get("date", ())
    runs = sum(len(row.seeds) for row in summary.rows)
    note = f"{runs:,} runs, {_range(dates)}" if dates else ""
    parts = [("glance", "At a glance", _glance(summary)), *corpora, ("how", "How", _how(summary))]
    return framed(summary.title, note, parts)


def _range(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} {DASH} {last}"


def _glance(summary: Summary) -> Markup:
    """Both scores of every method on every corpus; the best mean of a column is bold."""
    methods = list(dict.fromkeys(row.method for row in summary.rows))
    head = ["method"]
    for corpus in summary.corpora:
        head += [f"{corpus}, {METRICS[name]}" for name in _WITH_BARS]
    known = {(row.corpus, row.method): row.scores["tuned"] for row in summary.rows}
    body: list[list[Content]] = []
    for method in methods:
        cells: list[Content] = [method]
        for corpus in summary.corpora:
            scores = known.get((corpus, method))
            for name in _WITH_BARS:
                best = max(row.scores["tuned"][name].mean for row in summary.of(corpus))
                cells.append(_cell(None if scores is None else scores[name], best=best))
        body.append(cells)
    missing = ""
    if summary.missing:
        missing = f" Not finished yet: {', '.join(summary.missing)}."
    return section(
        "glance",
        "At a glance",
        element("p", f"{HOW}{missing}"),
        table(head, body, caption="Scores on test in percent, as each method decides")
        if body
        else element("p", "No run is finished yet."),
    )


def _cell(one: Statistic | None, *, best: float | None = None, bar: bool = False) -> Content:
    if one is None:
        return _NOTHING
    note = "" if one.deviation is None else f"± {percent(one.deviation)}"
    is_best = best is not None and one.mean >= best - 5e-7
    return Number(percent(one.mean), one.mean, one.mean if bar else None, note, is_best)


def _corpus(corpus: str, rows: Sequence[MethodRow], place: int) -> Markup:
    tables = [
        _scores(rows, decision, words)
        for decision, words in DECISIONS.items()
        if any(decision in row.scores for row in rows)
    ]
    return section(
        f"corpus-{place}",
        corpus,
        element("p", f"{rows[0].documents:,} test documents.", class_="note"),
        *tables,
        charts(corpus, rows, place),
        _published(rows),
        details("Time and memory", _costs(rows)),
        *_grids(rows),
    )


def _scores(rows: Sequence[MethodRow], decision: str, words: str) -> Markup:
    shown = [row for row in rows if decision in row.scores]
    is_compared = any(decision in row.tests for row in shown)
    head = ["method", *_SHOWN.values()]
    head += ["Micro-F1 against the baseline", "Macro-F1 against the baseline"] * is_compared
    body: list[list[Content]] = []
    for row in shown:
        test = row.tests.get(decision)
        seeds = f"{len(row.seeds)} seeds" if len(row.seeds) > 1 else f"seed {row.seeds[0]}"
        cells: list[Content] = [join(row.method, element("small", seeds))]
        cells += [_cell(row.scores[decision].get(name), bar=name in _WITH_BARS) for name in _SHOWN]
        if is_compared:
            differences = [] if test is None else [test.micro_f1, test.macro_f1]
            cells += [_difference(one) for one in differences] or [_NOTHING, _NOTHING]
        body.append(cells)
    names = list(dict.fromkeys(row.baseline for row in shown if decision in row.tests))
    against = f"; the baseline is {', '.join(map(str, names))}" if names else ""
    return table(head, body, caption=f"On test, in percent, {words}{against}")


def _difference(one: Difference) -> Number:
    low, high = f"{100 * one.low:+.2f}", f"{100 * one.high:+.2f}"
    is_clear = one.low > 0
    return Number(
        f"{100 * one.difference:+.2f}",
        one.difference,
        note=f"{low} to {high}, {p_value(one)}",
        is_best=is_clear,
    )


def _published(rows: Sequence[MethodRow]) -> Markup:
    body: list[list[Content]] = [
        [row.method, one.source, _figure(one.micro_f1, one.micro_deviation),
         _figure(one.macro_f1, one.macro_deviation)]
        for row in rows
        for one in row.published
    ]  # fmt: skip
    if not body:
        return Markup()
    head = ["method", "source", "Micro-F1", "Macro-F1"]
    return table(head, body, caption="Published, with bert-base-uncased, in percent")


def _figure(value: float, deviation: float | None) -> Number:
    return Number(f"{value:.2f}", value, note="" if deviation is None else f"± {deviation:.2f}")


def _costs(rows: Sequence[MethodRow]) -> Markup:
    body: list[list[Content]] = [
        [
            row.method,
            *(
                Number(f"{one.mean:,.1f}", one.mean)
                for one in (row.training_seconds, row.documents_per_second, row.peak_mib)
            ),
        ]
        for row in rows
    ]
    head = ["method", "seconds of training", "documents a second in prediction", "peak MiB"]
    return table(head, body, caption="Means over the seeds")


def _grids(rows: Sequence[MethodRow]) -> list[Markup]:
    """What was tried on dev, and what was taken."""
    found = []
    for row in rows:
        grid = next((one["grid"] for one in row.chosen if "grid" in one), None)
        if grid is None:
            continue
        fields = list(grid["points"][0]["point"])
        body: list[list[Content]] = [
            [
                ", ".join(f"{name.rpartition('.')[2]} {one['point'][name]}" for name in fields),
                *(
                    Number(
                        percent(one["dev"][name]),
                        one["dev"][name],
                        is_best=number == grid["chosen"],
                    )
                    for name in _WITH_BARS
                ),
            ]
            for number, one in enumerate(grid["points"])
        ]
        words = f"by {CHOSEN_BY[grid['metric']]} with seed {grid['seed']}"
        head = ["point", "dev Micro-F1", "dev Macro-F1"]
        shown = table(head, body, caption=f"Scores on dev in percent; bold: taken, {words}")
        found.append(details(f"What was tried on dev for {row.method}", shown))
    return found


def _how(summary: Summary) -> Markup:
    facts = [
        pair
        for name, values in summary.facts.items()
        for pair in (element("dt", name), element("dd", "; ".join(values)))
    ]
    return section("how", "How it was done", element("dl", *facts, class_="terms"))
