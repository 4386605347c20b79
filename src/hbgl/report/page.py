"""The report as one self-contained page: its style and its script are inside, nothing is loaded.

The script only sorts and filters tables; without it the page says the same. A content security
policy lets no other script run and nothing be fetched, whatever a label or a text may hold.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from hbgl.report.error_sections import confusions, examples
from hbgl.report.findings import Findings
from hbgl.report.label_section import labels
from hbgl.report.markup import Markup, element, join
from hbgl.report.probability_sections import abstention, reliability, thresholds
from hbgl.report.rule_section import rule_table
from hbgl.report.score_sections import all_scores, headline, levels
from hbgl.report.settings_section import settings

__all__ = ["report_page"]


def report_page(found: Findings) -> str:
    """The page as HTML."""
    style, script = _part("report.css"), _part("report.js")
    title = f"Evaluation of {found.model or 'a model'}"
    parts = [
        ("headline", "At a glance", headline(found)),
        ("levels", "Levels", levels(found)),
        ("rules", "Rules", rule_table(found))
        if found.rules
        else ("scores", "All scores", all_scores(found)),
        ("labels", "Labels", labels(found)),
        ("errors", "Errors", confusions(found)),
        ("examples", "Examples", examples(found)),
        ("reliability", "Reliability", reliability(found)),
        ("thresholds", "Thresholds", thresholds(found)),
        ("coverage", "Coverage", abstention(found)),
        ("model", "Model", settings(found)),
    ]
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
            element(
                "p",
                f"{found.source or 'documents in memory'}, {found.time:%Y-%m-%d %H:%M} UTC",
                class_="note",
            ),
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
