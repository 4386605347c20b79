"""The results as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from hbgl.experiments.answers import DECISIONS
from hbgl.experiments.significance import Difference
from hbgl.experiments.summary import CHOSEN_BY, METRICS, MethodRow, Statistic, Summary

__all__ = ["HOW", "compared", "csv_table", "markdown", "p_value", "shown"]

HOW = (
    "Every choice was made on dev: the checkpoint (one for each run, the best by the score that "
    "its settings name), thresholds and calibration, and the point of a grid. Test was answered "
    "once, at the end. ± is the standard deviation over seeds. Differences are to the baseline on "
    "the same test documents, the mean over the seeds that both have: in brackets the 95% interval "
    "of a paired bootstrap over documents, p by approximate randomisation, two-sided, not "
    "corrected for the number of comparisons. Both tests ask about other documents; what "
    "other seeds would do is in ±."
)
"""What a reader of the numbers has to know."""


def shown(value: Statistic | None, scale: float = 100.0) -> str:
    """``87.12 ± 0.31`` in percent; a dash for nothing.

    >>> shown(Statistic.of([0.9, 0.92])), shown(None)
    ('91.00 ± 1.41', '-')
    """
    if value is None:
        return "-"
    mean = f"{scale * value.mean:.2f}"
    return mean if value.deviation is None else f"{mean} ± {scale * value.deviation:.2f}"


def compared(one: Difference) -> str:
    """``+1.20 (+0.40 to +2.00), p 0.003``."""
    low, high = 100 * one.low, 100 * one.high
    return f"{100 * one.difference:+.2f} ({low:+.2f} to {high:+.2f}), {p_value(one)}"


def p_value(one: Difference) -> str:
    """As many digits as mean something."""
    return "p < 0.001" if one.p < 0.001 else f"p {one.p:.3f}"


def markdown(summary: Summary) -> str:
    """A table for each corpus and decision, then how it was done."""
    lines = [f"# {summary.title}", "", HOW, ""]
    if summary.missing:
        lines += [f"Not finished yet: {', '.join(summary.missing)}.", ""]
    for corpus in summary.corpora:
        rows = summary.of(corpus)
        lines += [f"## {corpus}", "", f"{rows[0].documents:,} test documents.", ""]
        for decision, words in DECISIONS.items():
            if any(decision in row.scores for row in rows):
                lines += [f"{words[0].upper()}{words[1:]}:", "", *_score_table(rows, decision), ""]
        lines += [*_cost_table(rows), ""]
        if any(row.published for row in rows):
            lines += ["Published, with `bert-base-uncased`:", "", *_published_table(rows), ""]
        lines += list(_grids(rows))
    lines += [f"- {name}: {'; '.join(values)}" for name, values in summary.facts.items()]
    return "\n".join(lines) + "\n"


def _score_table(rows: Sequence[MethodRow], decision: str) -> Iterator[str]:
    names = {name: title for name, title in METRICS.items() if name != "macro_f1_supported"}
    head = ["Method", *names.values(), "Against", "Micro-F1 difference", "Macro-F1 difference"]
    yield from _lines([*head, "Seeds"], (_score_line(row, decision, list(names)) for row in rows))


def _score_line(row: MethodRow, decision: str, names: Sequence[str]) -> list[str]:
    scores, test = row.scores.get(decision, {}), row.tests.get(decision)
    differences = ["", "", ""]
    if test is not None:
        differences = [str(row.baseline), compared(test.micro_f1), compared(test.macro_f1)]
    seeds = ", ".join(map(str, row.seeds))
    return [row.method, *(shown(scores.get(name)) for name in names), *differences, seeds]


def _cost_table(rows: Sequence[MethodRow]) -> Iterator[str]:
    head = ["Method", "Training, seconds", "Prediction, documents a second", "Peak memory, MiB"]
    yield from _lines(
        head,
        (
            [
                row.method,
                shown(row.training_seconds, 1),
                shown(row.documents_per_second, 1),
                shown(row.peak_mib, 1),
            ]
            for row in rows
        ),
    )


def _published_table(rows: Sequence[MethodRow]) -> Iterator[str]:
    head = ["Method", "Source", "Micro-F1", "Macro-F1"]
    yield from _lines(
        head,
        (
            [
                row.method,
                one.source,
                _published(one.micro_f1, one.micro_deviation),
                _published(one.macro_f1, one.macro_deviation),
            ]
            for row in rows
            for one in row.published
        ),
    )


def _published(value: float, deviation: float | None) -> str:
    return f"{value:.2f}" if deviation is None else f"{value:.2f} ± {deviation:.2f}"


def _grids(rows: Sequence[MethodRow]) -> Iterator[str]:
    for row in rows:
        grid = next((one["grid"] for one in row.chosen if "grid" in one), None)
        if grid is None:
            continue
        metric = CHOSEN_BY[grid["metric"]]
        yield f"{row.method} was chosen on dev with seed {grid['seed']}, by {metric}:"
        yield ""
        fields = list(grid["points"][0]["point"])
        head = [*fields, "dev Micro-F1", "dev Macro-F1", ""]
        yield from _lines(
            head,
            (
                [
                    *(str(one["point"][field]) for field in fields),
                    f"{100 * one['dev']['micro_f1']:.2f}",
                    f"{100 * one['dev']['macro_f1']:.2f}",
                    "chosen" if number == grid["chosen"] else "",
                ]
                for number, one in enumerate(grid["points"])
            ),
        )
        yield ""


def _lines(head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def csv_table(summary: Summary) -> str:
    """A line for each corpus, method and decision; shares in 0..1."""
    columns = [
        "corpus", "method", "decision", "seeds", "documents",
        *(f"{name}{end}" for name in METRICS for end in ("", "_deviation")),
        "training_seconds", "documents_per_second", "peak_mib", "baseline",
        *(
            f"{name}_{part}"
            for name in ("micro_f1", "macro_f1")
            for part in ("difference", "low", "high", "p")
        ),
    ]  # fmt: skip
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in summary.rows:
        for decision in row.scores:
            writer.writerow(_csv_line(row, decision))
    return file.getvalue()


def _csv_line(row: MethodRow, decision: str) -> dict[str, object]:
    found: dict[str, object] = {
        "corpus": row.corpus,
        "method": row.method,
        "decision": decision,
        "seeds": " ".join(map(str, row.seeds)),
        "documents": row.documents,
        "training_seconds": row.training_seconds.mean,
        "documents_per_second": row.documents_per_second.mean,
        "peak_mib": row.peak_mib.mean,
        "baseline": row.baseline or "",
    }
    for name, value in row.scores[decision].items():
        found[name] = value.mean
        if value.deviation is not None:
            found[f"{name}_deviation"] = value.deviation
    test = row.tests.get(decision)
    if test is not None:
        for name, one in (("micro_f1", test.micro_f1), ("macro_f1", test.macro_f1)):
            for part in ("difference", "low", "high", "p"):
                found[f"{name}_{part}"] = getattr(one, part)
    return found
