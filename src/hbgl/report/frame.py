"""A self-contained page around its parts: the style and the script are inside, nothing is loaded.

A content security policy lets no other script run and nothing be fetched, whatever a label, a text
or a name may hold.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from hbgl.report.markup import Markup, element, join

__all__ = ["framed"]


def framed(title: str, note: str, parts: Sequence[tuple[str, str, Markup]]) -> str:
    """The page as HTML.

    :param parts: anchor, name in the navigation, content; empty ones are left out.
    """
    style, script = _part("report.css"), _part("report.js")
    shown = [(anchor, name, content) for anchor, name, content in parts if content]
    links = [element("a", name, href=f"#{anchor}") for anchor, name, _ in shown]
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'),
        element("title", title),
        element("style", Markup(style)),
    )
    body = join(
        element(
            "header",
            element("h1", title),
            *([element("p", note, class_="note")] if note else []),
            element("nav", *links, aria_label="Parts of the report"),
        ),
        element("main", *(content for *_, content in shown)),
        element("script", Markup(script)),
    )
    page = element("html", element("head", head), element("body", body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _part(name: str) -> str:
    return resources.files("hbgl.report").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
