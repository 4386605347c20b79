"""The parts of the page about errors: their kinds, confused pairs, documents to read."""

from __future__ import annotations

from collections.abc import Iterator

from hbgl.report.confusions import MISSED_KINDS, WRONG_KINDS
from hbgl.report.examples import ErrorExample
from hbgl.report.findings import Findings
from hbgl.report.markup import (
    DASH,
    Content,
    Markup,
    Number,
    breakable,
    details,
    element,
    join,
    percent,
    section,
    table,
)
from hbgl.taxonomy import PATH_SEPARATOR, Taxonomy

__all__ = ["confusions", "examples"]

_SHOWN_PAIRS = 15
_MOST_PATHS = 20
_FIRM_SPACE = "\u00a0"
"""No line ends between a sign, its label and its probability."""
_SIGNS = {"right": "✓", "wrong": "✗", "missed": "○"}


def confusions(found: Findings) -> Markup:
    """Kinds of errors with their totals, and the most frequent pairs."""
    part = found.confusions
    if not any(part.wrong.values()) and not any(part.missed.values()):
        return section("errors", "Errors", element("p", "There are none."))
    return section(
        "errors",
        "Errors",
        element(
            "p",
            "Every wrong predicted label is held against the missed gold label nearest to it in "
            "the taxonomy: a sibling is a near miss, another branch is far off. What is wrong on "
            "a level makes the labels below wrong, too.",
        ),
        element(
            "div",
            _kinds("Wrong predicted labels", part.wrong, WRONG_KINDS),
            _kinds("Missed gold labels", part.missed, MISSED_KINDS),
            class_="beside",
        ),
        _pairs(found),
    )


def _kinds(caption: str, counts: dict[str, int], meanings: dict[str, str]) -> Markup:
    total = sum(counts.values())
    rows: list[list[Content]] = [
        [
            join(kind, element("small", meanings[kind])),
            count,
            Number(f"{percent(count / total, 1)}%" if total else DASH, count, count / (total or 1)),
        ]
        for kind, count in counts.items()
    ]
    rows.append(["all", total, Number("", total)])
    return table(["kind", "labels", "share"], rows, caption=caption, class_="kinds")


def _pairs(found: Findings) -> Markup:
    labels = [breakable(label) for label in found.taxonomy.labels]
    pairs: list[list[Content]] = [
        [
            DASH if pair.predicted is None else labels[pair.predicted],
            DASH if pair.gold is None else labels[pair.gold],
            pair.kind,
            pair.count,
        ]
        for pair in found.confusions.pairs
    ]
    alone: list[list[Content]] = [
        [labels[label], side, pair.kind, pair.count]
        for pair in found.confusions.alone
        for label, side in ((pair.predicted, "wrong"), (pair.gold, "missed"))
        if label is not None
    ]
    note = element(
        "p",
        "Too deep: gold ends at the label on the right, and the answer goes on to the one on the "
        "left. Too shallow: the answer ends at the label on the left.",
        class_="note",
    )
    return element(
        "div",
        element(
            "div",
            _shown_first(["predicted", "gold", "kind", "times"], pairs, "Most confused pairs"),
            note,
        ),
        _shown_first(
            ["label", "side", "kind", "times"], alone, "Labels too many or too few, alone"
        ),
        class_="beside",
    )


def _shown_first(head: list[str], rows: list[list[Content]], caption: str) -> Markup:
    """The first rows; the others folded away."""
    if not rows:
        return Markup()
    first = table(head, rows[:_SHOWN_PAIRS], caption=caption, class_="pairs")
    if len(rows) <= _SHOWN_PAIRS:
        return element("div", first)
    rest = table(head, rows[_SHOWN_PAIRS:], caption=f"{caption}, further ones", class_="pairs")
    return element("div", first, details(f"{len(rows) - _SHOWN_PAIRS} more", rest))


def examples(found: Findings) -> Markup:
    """Documents with errors, with their paths and probabilities."""
    if not found.surest and not found.drawn:
        return Markup()
    parts: list[Markup] = []
    for title, ones in (
        ("The surest mistakes", found.surest),
        ("Drawn at random among the documents with errors", found.drawn),
    ):
        if ones:
            parts.append(element("h3", title))
            parts += [_example(found, one) for one in ones]
    return section(
        "examples",
        "Documents with errors",
        element(
            "p",
            *_legend(),
            " The number is the label's probability; a path's is that of its least likely label. "
            "The surest mistakes are the place to look for labels that gold lacks.",
        ),
        *parts,
    )


def _legend() -> Iterator[Content]:
    for name, words in (
        ("right", "gold and predicted"),
        ("wrong", "predicted, not gold"),
        ("missed", "gold, not predicted"),
    ):
        yield element("span", f"{_SIGNS[name]} {words}", class_=f"node {name}")
        yield " "


def _example(found: Findings, one: ErrorExample) -> Markup:
    shown = found.texts[one.index]
    place = f"line {shown.line:,}" if shown.line else f"document {one.index + 1:,}"
    name = place if shown.id is None else f"{place}, id {shown.id}"
    text: Content = shown.text + (" …" if shown.is_cut else "")
    if not shown.text:
        text = element("em", "an empty text")
    return element(
        "article",
        element("p", name, class_="note"),
        element("blockquote", text),
        _answer("Gold", found.taxonomy, one, one.gold),
        _answer("Predicted", found.taxonomy, one, one.predicted),
    )


def _answer(title: str, taxonomy: Taxonomy, one: ErrorExample, ids: tuple[int, ...]) -> Markup:
    paths = taxonomy.paths(ids, closed=False) if ids else []
    items = [element("li", *_path(taxonomy, one, path)) for path in paths[:_MOST_PATHS]]
    if len(paths) > _MOST_PATHS:
        items.append(element("li", f"and {len(paths) - _MOST_PATHS:,} more paths"))
    if not items:
        items = [element("li", "no label")]
    return element("div", element("h4", title), element("ul", *items), class_="answer")


def _path(taxonomy: Taxonomy, one: ErrorExample, path: tuple[int, ...]) -> Iterator[Content]:
    for place, label in enumerate(path):
        if place:
            yield PATH_SEPARATOR
        probability = element("small", f"{one.probabilities[label]:.2f}")
        yield element(
            "span",
            *_sign(one, label),
            breakable(taxonomy.labels[label]),
            _FIRM_SPACE,
            probability,
            class_=f"node {_standing(one, label)}",
        )


def _standing(one: ErrorExample, label: int) -> str:
    is_gold, is_predicted = label in one.gold, label in one.predicted
    if is_gold and is_predicted:
        return "right"
    if is_predicted:
        return "wrong"
    return "missed" if is_gold else "between"


def _sign(one: ErrorExample, label: int) -> Iterator[str]:
    sign = _SIGNS.get(_standing(one, label))
    if sign is not None:
        yield sign + _FIRM_SPACE
