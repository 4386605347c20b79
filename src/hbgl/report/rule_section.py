"""The part of the page that compares the decision rules."""

from __future__ import annotations

from hbgl.decisions import RULES
from hbgl.report.findings import Findings
from hbgl.report.markup import Content, Markup, Number, element, join, percent, section, table
from hbgl.report.metric_rows import MetricRow
from hbgl.report.rules import REFERENCE

__all__ = ["rule_table"]

_SAME = 5e-7
"""Differences below are rounding."""


def rule_table(found: Findings) -> Markup:
    """Every rule's effect on every score."""
    # The rule in use stands beside the reference, where a phone shows both at once.
    rules = sorted(found.rules, key=lambda one: (one.name != REFERENCE, not one.is_own))
    columns = [one.rows for one in rules]
    reference = {row.key: row.value for row in columns[0]}
    rows: list[list[Content]] = []
    group = ""
    for line in zip(*columns, strict=True):
        first = line[0]
        if first.group != group:
            group = first.group
            rows.append([group])
        best = _best(line)
        rows.append([first.name, *(_cell(row, reference[first.key], best) for row in line)])
    head: list[Content] = ["score"]
    for one in rules:
        own = [element("small", "in use")] if one.is_own else []
        name: Content = one.name if one.name == REFERENCE else element("code", one.name)
        head.append(join(name, *own))
    return section(
        "rules",
        "Every decision rule on every score",
        element(
            "p",
            "What the same model scores under each rule. The first column is the reference: "
            "each level on its own, 0.5 everywhere, no calibration; the second is the rule that "
            "the rest of this page is about. All but the first have the "
            "thresholds and the calibration that were evaluated; below each number is what it "
            "gains or loses against the reference, and the best of a row is bold. A rule's "
            "choices are the model's input for the next level, so each was predicted anew.",
        ),
        table(
            head, rows, caption="Scores by rule, shares in percent", class_="rules", is_long=True
        ),
        element(
            "dl",
            *(
                join(element("dt", element("code", rule)), element("dd", f"{meaning}."))
                for rule, meaning in RULES.items()
            ),
            class_="terms",
        ),
    )


def _best(line: tuple[MetricRow, ...]) -> float | None:
    """The best value of a row, None where all are alike or none is better."""
    values = [row.value for row in line]
    if line[0].better == "neither" or max(values) - min(values) < _SAME:
        return None
    return max(values) if line[0].better == "higher" else min(values)


def _cell(row: MetricRow, reference: float, best: float | None) -> Number:
    difference = row.value - reference
    if row.is_share:
        shown, change = percent(row.value), f"{100 * difference:+.2f}"
    else:
        shown, change = f"{row.value:.2f}", f"{difference:+.2f}"
    is_best = best is not None and abs(row.value - best) < _SAME
    note = change if abs(difference) >= _SAME else ""
    return Number(shown, row.value, note=note, is_best=is_best)
