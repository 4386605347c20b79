"""The parts of the page about labels: headline, levels, every label, labels by frequency."""

from __future__ import annotations

import numpy as np

from hbgl.metrics import LabelScores
from hbgl.report.charts import Axis, Chart, Line, figure
from hbgl.report.findings import Findings
from hbgl.report.frequency_bands import FrequencyBand, frequency_bands
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
    share,
    table,
)
from hbgl.report.metric_rows import metric_rows

__all__ = ["all_scores", "headline", "labels", "levels"]

_MOST_LABELS = 5_000
_MOST_DOTS = 2_000
_OPEN_LABELS = 200
"""A longer table is folded away at first."""


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
            "of the predicted labels' probabilities",
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
    evaluation = found.evaluation
    rows: list[list[Content]] = [
        [
            "all",
            len(found.taxonomy),
            int(evaluation.scores.labels.support.sum()),
            share(evaluation.scores.micro_f1, bar=True),
            share(evaluation.scores.macro_f1, bar=True),
            share(evaluation.scores.macro_f1_supported, bar=True),
            share(evaluation.scores.micro_precision),
            share(evaluation.scores.micro_recall),
            share(evaluation.hierarchical.micro.f1),
            share(evaluation.constrained.micro_f1),
        ]
    ]
    for flat, closed, constrained in zip(
        evaluation.scores.levels,
        evaluation.hierarchical.levels,
        evaluation.constrained.levels,
        strict=True,
    ):
        support = evaluation.scores.labels.support[found.taxonomy.level_slice(flat.level)]
        rows.append(
            [
                f"level {flat.level}",
                flat.labels,
                int(support.sum()),
                share(flat.micro_f1, bar=True),
                share(flat.macro_f1, bar=True),
                share(flat.macro_f1_supported, bar=True),
                share(flat.micro_precision),
                share(flat.micro_recall),
                share(closed.micro.f1),
                share(constrained.micro_f1),
            ]
        )
    head = [
        "", "labels", "gold", "Micro-F1", "Macro-F1 all labels", "Macro-F1 supported", "precision",
        "recall", "hierarchical F1", "C-F1",
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
        table(head, rows, caption="Scores by level, in percent"),
    )


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


def labels(found: Findings) -> Markup:
    """Every label, and labels by how often they occur."""
    scores = found.evaluation.scores.labels
    bands = frequency_bands(scores)
    return section(
        "labels",
        "Labels",
        element(
            "p",
            "How well a label is found often depends on how often it occurs. The bands go by "
            "the gold documents in the evaluated file: how often each label occurs in training "
            "is not in a model folder.",
        ),
        element("div", _band_table(bands), _dots(found, scores), class_="beside"),
        _label_table(found, scores),
    )


def _band_table(bands: list[FrequencyBand]) -> Markup:
    rows: list[list[Content]] = [
        [
            f"{band.lowest:,}"
            if band.lowest == band.highest
            else f"{band.lowest:,}{DASH}{band.highest:,}",
            band.labels,
            share(band.f1, bar=True),
            share(band.precision),
            share(band.recall),
            band.never_right,
        ]
        for band in bands
    ]
    return table(
        ["documents", "labels", "mean F1", "mean precision", "mean recall", "F1 is 0"],
        rows,
        caption="Labels by frequency, means over the labels in percent",
    )


def _dots(found: Findings, scores: LabelScores) -> Markup:
    shown = np.flatnonzero(scores.support > 0)
    note = ""
    if len(shown) > _MOST_DOTS:
        shown = shown[np.linspace(0, len(shown) - 1, _MOST_DOTS).astype(int)]
        note = f"{_MOST_DOTS:,} labels, evenly drawn."
    if not len(shown):
        return Markup()
    names = found.taxonomy.labels
    line = Line(
        "a label",
        0,
        [(float(scores.support[i]), float(scores.f1[i])) for i in shown],
        [2.5] * len(shown),
        [f"{names[i]}: F1 {percent(scores.f1[i])}, {scores.support[i]:,} gold" for i in shown],
        is_dots=True,
    )
    chart = Chart(
        "F1 of each label against its frequency",
        f"{len(shown):,} labels with gold documents; the numbers are in the table of all labels.",
        Axis("gold documents", high=float(scores.support.max()), is_percent=False, is_log=True),
        Axis("F1"),
        [line],
        anchor="label-dots",
    )
    return figure(chart, note=note)


def _named(found: Findings, label: int) -> Content:
    """The label, with its words where they are others."""
    name = found.taxonomy.labels[label]
    words = found.taxonomy.names.own.get(name, name)
    return name if words == name else join(name, element("small", words))


def _label_table(found: Findings, scores: LabelScores) -> Markup:
    """The weakest first: of low F1 and much support; those without support last."""
    order = np.lexsort((-scores.support, scores.f1, scores.support == 0))
    taxonomy, count = found.taxonomy, len(scores.f1)
    rows: list[list[Content]] = [
        [
            _named(found, i),
            " / ".join(taxonomy.labels[parent] for parent in taxonomy.parents(i).tolist()) or DASH,
            int(taxonomy.levels[i]),
            int(scores.support[i]),
            share(float(scores.f1[i]), bar=True),
            share(float(scores.precision[i])),
            share(float(scores.recall[i])),
        ]
        for i in order[:_MOST_LABELS].tolist()
    ]
    left_out = "" if count <= _MOST_LABELS else f" The {_MOST_LABELS:,} weakest are shown."
    return details(
        f"Every label ({count:,}), the weakest first",
        element(
            "p",
            join("Labels without support stand last.", left_out),
            class_="note",
        ),
        table(
            ["label", "parent", "level", "gold", "F1", "precision", "recall"],
            rows,
            caption="Every label, in percent",
            class_="sortable filterable",
            is_long=True,
        ),
        is_open=count <= _OPEN_LABELS,
    )
