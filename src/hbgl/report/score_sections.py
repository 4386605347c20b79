"""The parts of the page with scores over all labels: headline, levels, every score."""

from __future__ import annotations

from hbgl.metrics import Averages
from hbgl.report.findings import Findings
from hbgl.report.markup import (
    Content,
    Markup,
    Number,
    element,
    percent,
    section,
    share,
    table,
)
from hbgl.report.metric_rows import metric_rows

__all__ = ["all_scores", "headline", "levels"]


def headline(found: Findings) -> Markup:
    """The numbers to look at first."""
    evaluation = found.evaluation
    scores = evaluation.scores
    supported = int((scores.labels.support > 0).sum())
    reliability = found.calibration.answered.overall
    tiles = [
        ("Micro-F1", percent(scores.micro_f1), "all labels pooled"),
        ("Macro-F1", percent(scores.macro_f1), f"mean over all {len(found.taxonomy):,} labels"),
        (
            "Macro-F1, supported",
            percent(scores.macro_f1_supported),
            f"mean over the {supported:,} that occur",
        ),
        (
            "Hierarchical F1",
            percent(evaluation.hierarchical.micro.f1),
            "ancestors added on both sides",
        ),
        ("Whole paths (P-F1)", percent(evaluation.paths.micro_f1), "right from root to end"),
        ("Exactly right", f"{percent(scores.exact_match, 1)}%", "of the documents"),
        (
            "Labels without parent",
            f"{percent(evaluation.coherence.documents_with_orphans, 1)}%",
            "of the documents have one",
        ),
        (
            "Calibration error",
            percent(reliability.ece_chosen),
            "of the predicted labels, 0 is best",
        ),
    ]
    boxes = [
        element(
            "div", element("dt", name), element("dd", element("b", value), element("small", note))
        )
        for name, value, note in tiles
    ]
    return section(
        "headline",
        "At a glance",
        element("dl", *boxes, class_="tiles"),
        element(
            "p",
            f"{scores.documents:,} documents. Scores in percent, rule ",
            element("code", found.decision.rule),
            ". Bars show the share of 100.",
            class_="note",
        ),
    )


def levels(found: Findings) -> Markup:
    """Scores level by level."""
    evaluation, taxonomy = found.evaluation, found.taxonomy
    scores = evaluation.scores
    rows = [
        _level_row(
            "all", scores, evaluation.hierarchical.micro.f1, evaluation.constrained, len(taxonomy),
            int(scores.labels.support.sum()),
        )
    ]  # fmt: skip
    for flat, closed, constrained in zip(
        scores.levels, evaluation.hierarchical.levels, evaluation.constrained.levels, strict=True
    ):
        gold = int(scores.labels.support[taxonomy.level_slice(flat.level)].sum())
        rows.append(
            _level_row(f"level {flat.level}", flat, closed.micro.f1, constrained, flat.labels, gold)
        )
    head = [
        "", "Micro-F1", "Macro-F1 all labels", "Macro-F1 supported", "precision", "recall",
        "hierarchical F1", "C-F1", "labels", "gold",
    ]  # fmt: skip
    return section(
        "levels",
        "By level",
        element(
            "p",
            "Macro-F1 once over all labels, of which one that never occurs and is never predicted "
            "counts 0, and once over the labels with support, that is with a gold document here. "
            "Hierarchical F1 adds the ancestors of every label first; for C-F1 a label is right "
            "only if a whole chain above it is.",
        ),
        table(head, rows, caption="Scores by level, in percent", class_="narrow"),
    )


def _level_row(
    name: str,
    flat: Averages,
    hierarchical_f1: float,
    constrained: Averages,
    labels: int,
    gold: int,
) -> list[Content]:
    return [
        name,
        share(flat.micro_f1, bar=True),
        share(flat.macro_f1, bar=True),
        share(flat.macro_f1_supported, bar=True),
        share(flat.micro_precision),
        share(flat.micro_recall),
        share(hierarchical_f1),
        share(constrained.micro_f1),
        labels,
        gold,
    ]


def all_scores(found: Findings) -> Markup:
    """Every number, where no table of rules has them."""
    rows: list[list[Content]] = []
    group = ""
    for row in metric_rows(found.evaluation):
        if row.group != group:
            group = row.group
            rows.append([group])
        shown = share(row.value) if row.is_share else Number(f"{row.value:.2f}", row.value)
        rows.append([row.name, shown])
    return section(
        "scores",
        "All scores",
        table(["score", "value"], rows, caption="All scores, shares in percent"),
    )
