"""Every score of an evaluation as a flat list: the rows of the tables that compare rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hbgl.metrics import Evaluation

__all__ = ["MetricRow", "metric_rows"]

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One number, with its name for machines and for people."""

    key: str
    group: str
    name: str
    value: float
    better: Better = "higher"
    is_share: bool = True
    """shown in percent"""


def metric_rows(found: Evaluation) -> list[MetricRow]:
    """All scores but those of single labels, grouped by family."""
    return [
        *_flat(found),
        *_levels(found),
        *_in_the_taxonomy(found),
        *_coherence(found),
        *_ranking(found),
        *_probabilities(found),
    ]


def _flat(found: Evaluation) -> Iterator[MetricRow]:
    group, scores = "Labels one by one", found.scores
    supported = int((scores.labels.support > 0).sum())
    yield MetricRow("micro_f1", group, "Micro-F1", scores.micro_f1)
    yield MetricRow(
        "macro_f1", group, f"Macro-F1 over all {len(scores.labels.f1):,} labels", scores.macro_f1
    )
    yield MetricRow(
        "macro_f1_supported",
        group,
        f"Macro-F1 over the {supported:,} with support",
        scores.macro_f1_supported,
    )
    yield MetricRow("micro_precision", group, "Precision (micro)", scores.micro_precision)
    yield MetricRow("micro_recall", group, "Recall (micro)", scores.micro_recall)
    yield MetricRow("exact_match", group, "Exactly the gold labels", scores.exact_match)
    yield MetricRow("hamming_loss", group, "Hamming loss", found.hamming_loss, "lower")
    if found.calibration is not None and found.documents:
        per_document = found.calibration.overall.chosen / found.documents
        name = "Predicted labels per document"
        yield MetricRow("labels_per_document", group, name, per_document, "neither", is_share=False)


def _levels(found: Evaluation) -> Iterator[MetricRow]:
    for level in found.scores.levels:
        group, name = "By level", f"Level {level.level}"
        yield MetricRow(f"level_{level.level}_micro_f1", group, f"{name} Micro-F1", level.micro_f1)
        yield MetricRow(
            f"level_{level.level}_macro_f1",
            group,
            f"{name} Macro-F1 over all {level.labels:,}",
            level.macro_f1,
        )


def _in_the_taxonomy(found: Evaluation) -> Iterator[MetricRow]:
    group, closed, paths = "In the taxonomy", found.hierarchical, found.paths
    for key, name, value in (
        ("hierarchical_f1", "Hierarchical F1, pooled", closed.micro.f1),
        ("hierarchical_precision", "Hierarchical precision, pooled", closed.micro.precision),
        ("hierarchical_recall", "Hierarchical recall, pooled", closed.micro.recall),
        ("hierarchical_f1_documents", "Hierarchical F1, per document", closed.per_document.f1),
        ("hierarchical_macro_f1", "Hierarchical Macro-F1, all labels", closed.macro.f1),
        ("c_micro_f1", "C-F1 micro", found.constrained.micro_f1),
        ("c_macro_f1", "C-F1 macro", found.constrained.macro_f1),
        ("p_micro_f1", "P-F1 micro", paths.micro_f1),
        ("p_macro_f1", "P-F1 macro", paths.macro_f1),
        ("p_weight", "P-F1 weight", paths.weight),
        ("lca_f1", "Lowest-common-ancestor F1, pooled", found.lca.micro.f1),
        ("lca_f1_documents", "Lowest-common-ancestor F1, per document", found.lca.per_document.f1),
    ):
        yield MetricRow(key, group, name, value)


def _coherence(found: Evaluation) -> Iterator[MetricRow]:
    group, coherence = "Coherence", found.coherence
    for key, name, value in (
        (
            "documents_with_orphans",
            "Documents with a label without its parent",
            coherence.documents_with_orphans,
        ),
        ("orphans", "Labels without their parent", coherence.orphans),
        ("inversions", "Probabilities above all parents'", coherence.inversions),
    ):
        if value is not None:
            yield MetricRow(key, group, name, value, "lower")


def _ranking(found: Evaluation) -> Iterator[MetricRow]:
    if found.ranking is None:
        return
    group, ranking = "Order of the labels", found.ranking
    for k, value in ranking.precision_at.items():
        yield MetricRow(f"precision_at_{k}", group, f"Precision@{k}", value)
    for k, value in ranking.ndcg_at.items():
        yield MetricRow(f"ndcg_at_{k}", group, f"nDCG@{k}", value)
    yield MetricRow("hf1_auc", group, "hF1-AUC", ranking.hf1_auc)


def _probabilities(found: Evaluation) -> Iterator[MetricRow]:
    group = "Probabilities"
    if found.calibration is not None:
        overall = found.calibration.overall
        for key, name, value in (
            ("ece", "Calibration error, all labels", overall.ece),
            ("ece_equal_mass", "Calibration error, equal-mass bins", overall.ece_equal_mass),
            ("ece_chosen", "Calibration error, predicted labels", overall.ece_chosen),
            ("brier", "Brier score", overall.brier),
        ):
            yield MetricRow(key, group, name, value, "lower")
    if found.abstention is not None:
        for point in found.abstention.at:
            percent = round(100 * point.coverage)
            if percent < 100:
                name = f"Exactly right among the surest {percent}%"
                yield MetricRow(f"accuracy_at_{percent}", group, name, point.accuracy)
        name = "Area under the risk-coverage curve"
        yield MetricRow("aurc", group, name, found.abstention.aurc, "lower")
