"""The report on a model's answers: what they score, where they fail, what the rules cost.

Reads in this order: ``findings.py`` (everything is gathered in one walk), what is gathered
(``confusions.py``, ``examples.py``, ``threshold_curves.py``, ``raw_calibration.py``, ``rules.py``
with ``metric_rows.py``, ``frequency_bands.py``), and the page (``page.py``, the sections,
``charts.py``, ``markup.py``, ``frame.py``, ``report.css``, ``report.js``).
"""

from hbgl.report.findings import Findings, gather
from hbgl.report.metric_rows import MetricRow, metric_rows
from hbgl.report.page import report_page
from hbgl.report.rules import REFERENCE, RuleScores, compared_decisions, evaluate_rules

__all__ = [
    "REFERENCE",
    "Findings",
    "MetricRow",
    "RuleScores",
    "compared_decisions",
    "evaluate_rules",
    "gather",
    "metric_rows",
    "report_page",
]
