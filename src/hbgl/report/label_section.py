"""The part of the page about single labels: by how often they occur, and every one of them."""

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
    breakable,
    details,
    element,
    join,
    percent,
    section,
    share,
    table,
)

__all__ = ["labels"]

_MOST_LABELS = 5_000
_MOST_DOTS = 2_000
_OPEN_LABELS = 200
"""A longer table is folded away at first."""


def labels(found: Findings) -> Markup:
    """Every label, and labels by how often they occur."""
    scores, trained = found.evaluation.scores.labels, found.training_documents
    if trained is None:
        words = (
            "The bands go by the gold documents in the evaluated file: how often each label "
            "occurred in training is not in this model folder."
        )
    else:
        absent = int((scores.support == 0).sum())
        words = "The bands go by the documents that a label had in training" + (
            f"; labels without a gold document in the evaluated file ({absent:,}) are left out."
            if absent
            else "."
        )
    return section(
        "labels",
        "Labels",
        element("p", f"How well a label is found often depends on how often it occurs. {words}"),
        element(
            "div",
            _band_table(frequency_bands(scores, trained), found),
            _dots(found, scores),
            class_="beside",
        ),
        _label_table(found, scores),
    )


def _band_table(bands: list[FrequencyBand], found: Findings) -> Markup:
    rows: list[list[Content]] = [
        [
            f"{band.lowest:,}"
            if band.lowest == band.highest
            else f"{band.lowest:,}{DASH}{band.highest:,}",
            share(band.f1, bar=True),
            band.labels,
            band.never_right,
            share(band.precision),
            share(band.recall),
        ]
        for band in bands
    ]
    return table(
        [_documents(found), "mean F1", "labels", "with F1 0", "mean precision", "mean recall"],
        rows,
        caption="Labels by frequency, means over the labels in percent",
        class_="narrow",
    )


def _documents(found: Findings) -> str:
    """What the frequency of a label is counted in."""
    return "gold documents" if found.training_documents is None else "training documents"


def _dots(found: Findings, scores: LabelScores) -> Markup:
    shown = np.flatnonzero(scores.support > 0)
    note = ""
    if len(shown) > _MOST_DOTS:
        shown = shown[np.linspace(0, len(shown) - 1, _MOST_DOTS).astype(int)]
        note = f"{_MOST_DOTS:,} labels, evenly drawn."
    if not len(shown):
        return Markup()
    names, trained = found.taxonomy.labels, found.training_documents
    frequency = scores.support if trained is None else trained
    titles = [
        f"{names[i]}: F1 {percent(scores.f1[i])}, {scores.support[i]:,} gold"
        + ("" if trained is None else f", {trained[i]:,} in training")
        for i in shown
    ]
    line = Line(
        "a label",
        0,
        [(float(frequency[i]), float(scores.f1[i])) for i in shown],
        [2.5] * len(shown),
        titles,
        is_dots=True,
    )
    chart = Chart(
        "F1 of each label against its frequency",
        f"{len(shown):,} labels with gold documents; the numbers are in the table of all labels.",
        Axis(_documents(found), high=float(frequency.max()), is_percent=False, is_log=True),
        Axis("F1"),
        [line],
        anchor="label-dots",
    )
    return figure(chart, note=note)


def _named(found: Findings, label: int) -> Content:
    """The label, with its words where they are others."""
    name = found.taxonomy.labels[label]
    words = found.taxonomy.names.own.get(name, name)
    shown = breakable(name)
    return shown if words == name else join(shown, element("small", words))


def _label_table(found: Findings, scores: LabelScores) -> Markup:
    """The weakest first: of low F1 and much support; those without support last."""
    order = np.lexsort((-scores.support, scores.f1, scores.support == 0))
    taxonomy, count, trained = found.taxonomy, len(scores.f1), found.training_documents
    rows: list[list[Content]] = [
        [
            _named(found, i),
            share(float(scores.f1[i]), bar=True),
            int(scores.support[i]),
            *([] if trained is None else [int(trained[i])]),
            share(float(scores.precision[i])),
            share(float(scores.recall[i])),
            int(taxonomy.levels[i]),
            breakable(" / ".join(taxonomy.labels[one] for one in taxonomy.parents(i).tolist()))
            or DASH,
        ]
        for i in order[:_MOST_LABELS].tolist()
    ]
    training = [] if trained is None else ["training"]
    left_out = "" if count <= _MOST_LABELS else f" The {_MOST_LABELS:,} weakest are shown."
    words = "; training: of the documents it was trained on" if trained is not None else ""
    return details(
        f"Every label ({count:,}), the weakest first",
        element(
            "p",
            f"Gold: documents of the evaluated file that have the label (its support){words}. "
            f"Labels without support stand last.{left_out}",
            class_="note",
        ),
        table(
            ["label", "F1", "gold", *training, "precision", "recall", "level", "parent"],
            rows,
            caption="Every label, in percent",
            class_="sortable filterable",
            is_long=True,
        ),
        is_open=count <= _OPEN_LABELS,
    )
