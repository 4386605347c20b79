"""The report as one self-contained page.

The script only sorts and filters tables; without it the page says the same.
"""

from __future__ import annotations

from hbgl.report.error_sections import confusions, examples
from hbgl.report.findings import Findings
from hbgl.report.frame import framed
from hbgl.report.label_section import labels
from hbgl.report.probability_sections import abstention, reliability, thresholds
from hbgl.report.rule_section import rule_table
from hbgl.report.score_sections import all_scores, headline, levels
from hbgl.report.settings_section import settings

__all__ = ["report_page"]


def report_page(found: Findings) -> str:
    """The page as HTML."""
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
    note = f"{found.source or 'documents in memory'}, {found.time:%Y-%m-%d %H:%M} UTC"
    return framed(f"Evaluation of {found.model or 'a model'}", note, parts)
