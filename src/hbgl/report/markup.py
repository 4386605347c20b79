"""HTML in small pieces: what is not `Markup` is escaped, so a label or text can never be a tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

__all__ = [
    "DASH",
    "Content",
    "Markup",
    "Number",
    "breakable",
    "details",
    "element",
    "join",
    "percent",
    "section",
    "share",
    "table",
]


DASH = "\u2013"
"""Stands between the ends of a range, and where there is nothing."""


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A cell with a number: what is shown, what it is sorted by, how long its bar is."""

    shown: str
    value: float
    bar: float | None = None
    """0..1"""
    note: str = ""
    """small, below"""
    is_best: bool = False


Content: TypeAlias = "Markup | str | Number | int"


def element(tag: str, *content: Content, **attributes: str | None) -> Markup:
    """``<tag attributes>content</tag>``; ``class_`` stands for ``class``, ``_`` for a hyphen.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{named}>{join(*content)}</{tag}>")


def join(*content: Content) -> Markup:
    """The pieces one after the other, escaped where they are no markup."""
    return Markup("".join(_escaped(one) for one in content))


def breakable(name: str) -> Markup:
    """A name that may go on in the next line after an underscore, slash, dot or hyphen.

    >>> breakable("oil_change")
    'oil_<wbr>change'
    """
    parts = re.split(r"(?<=[_/.-])(?=\w)", name)
    return Markup("<wbr>".join(join(part) for part in parts))


def _escaped(one: Content) -> str:
    if isinstance(one, Markup):
        return one
    if isinstance(one, Number):
        return escape(one.shown)
    # Control characters are no HTML; surrogates are no UTF-8.
    text = f"{one:,}" if isinstance(one, int) else one.encode("utf-8", "replace").decode()
    return escape("".join(c if c >= " " and not "\x7f" <= c <= "\x9f" else " " for c in text))


def section(anchor: str, title: str, *content: Content) -> Markup:
    """A part of the page with its heading."""
    return element("section", element("h2", title), *content, id=anchor)


def details(summary: str, *content: Content, is_open: bool = False) -> Markup:
    """A part that can be folded away."""
    return element(
        "details", element("summary", summary), *content, open="open" if is_open else None
    )


def table(
    head: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    caption: str,
    class_: str | None = None,
    is_long: bool = False,
) -> Markup:
    """A table that scrolls inside its box; numbers stand to the right, first cells are headings.

    A row of a single cell is a heading over all columns. A long table has a box of its own height,
    in which its head stays in sight.
    """
    lines = list(rows)
    numeric = [
        any(isinstance(row[i], (Number, int)) for row in lines if len(row) > 1)
        for i in range(len(head))
    ]
    heads = [
        element("th", name, scope="col", class_="number" if is_number else None)
        for name, is_number in zip(head, numeric, strict=True)
    ]
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)) if any(head) else Markup(),
        element("tbody", *(_row(row, len(head)) for row in lines)),
        class_=class_,
    )
    box = "scroll long" if is_long else "scroll"
    return element("div", inner, class_=box, tabindex="0", role="region", aria_label=caption)


def _row(cells: Sequence[Content], width: int) -> Markup:
    if len(cells) == 1 and width > 1:
        heading = element("th", cells[0], colspan=str(width), scope="rowgroup")
        return element("tr", heading, class_="group")
    marked = []
    for place, cell in enumerate(cells):
        if isinstance(cell, int):
            cell = Number(f"{cell:,}", cell)
        if isinstance(cell, Number):
            marked.append(_number(cell))
        elif place == 0:
            marked.append(element("th", cell, scope="row"))
        else:
            marked.append(element("td", cell))
    return element("tr", *marked)


def _number(cell: Number) -> Markup:
    names = ["number"]
    names += ["bar"] if cell.bar is not None else []
    names += ["best"] if cell.is_best else []
    note = element("small", cell.note) if cell.note else Markup()
    return element(
        "td",
        cell,
        note,
        class_=" ".join(names),
        data_value=f"{cell.value:.6g}",
        style=None if cell.bar is None else f"--share:{100 * cell.bar:.1f}%",
    )


def percent(value: float, digits: int = 2) -> str:
    """``0.8712`` -> ``87.12``; tables say in their heads that they are in percent."""
    return f"{100 * value:.{digits}f}"


def share(value: float | None, *, bar: bool = False, is_best: bool = False) -> Number | str:
    """A cell with a share in percent; a dash for None."""
    if value is None:
        return DASH
    return Number(percent(value), value, value if bar else None, is_best=is_best)
