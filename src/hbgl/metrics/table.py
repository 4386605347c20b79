"""Scores as lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hbgl.metrics.flat import Averages, LabelScores, Scores
from hbgl.metrics.result import Abstention, Evaluation, PrecisionRecall, RankingScores

if TYPE_CHECKING:
    from hbgl.taxonomy import Taxonomy

__all__ = ["score_table"]


def score_table(scores: Scores | Evaluation, taxonomy: Taxonomy, *, weakest: int = 0) -> list[str]:
    """Lines of plain text: the scores overall and by level, in percent.

    Args:
        scores: Of ``LabelCounts.scores(taxonomy.levels)``, or an evaluation, whose families follow.
        taxonomy: Names the labels.
        weakest: How many labels to list, those of the lowest F1 among the supported ones.
    """
    flat = scores.scores if isinstance(scores, Evaluation) else scores
    header = ["", "labels", "Micro-F1", "Macro-F1", "precision", "recall"]
    rows = [_row("all", len(taxonomy), flat)]
    rows += [_row(f"level {level.level}", level.labels, level) for level in flat.levels]
    lines = _aligned([header, *rows])
    lines += [
        "",
        f"{flat.documents:,} documents, {_percent(flat.exact_match)}% with exactly the gold "
        f"labels; Macro-F1 {_percent(flat.macro_f1)} over all {len(taxonomy):,} labels, "
        f"{_percent(flat.macro_f1_supported)} over the {int((flat.labels.support > 0).sum()):,} "
        "with support",
    ]
    if isinstance(scores, Evaluation):
        lines += ["", *_families(scores)]
    if weakest > 0:
        lines += ["", *_label_rows(flat.labels, taxonomy, weakest)]
    return lines


def _families(found: Evaluation) -> list[str]:
    """The scores that know the taxonomy, and those of the probabilities."""
    closed, constrained, paths = found.hierarchical, found.constrained, found.paths
    unweighted = paths.unweighted
    lines = _aligned(
        [
            ["in the taxonomy", "Micro-F1", "Macro-F1", "precision", "recall"],
            _family("hierarchical (ancestors added)", closed.micro, closed.macro.f1),
            _family("  mean of the documents", closed.per_document),
            *(
                _family(f"  level {level.level}", level.micro, level.macro.f1)
                for level in closed.levels
            ),
            _family("lowest common ancestors", found.lca.micro),
            ["C-F1 (right down from the top)", *_shares(constrained)],
            [
                "P-F1 (whole paths)",
                *map(_percent, (paths.micro_f1, paths.macro_f1)),
                *map(_percent, (unweighted.micro_precision, unweighted.micro_recall)),
            ],
        ]
    )
    coherence = found.coherence
    lines += [
        "",
        f"{_percent(coherence.documents_with_orphans)}% of the documents have a label without its "
        f"parent, {_percent(coherence.orphans)}% of the labels are such; Hamming loss "
        f"{_percent(found.hamming_loss)}; P-F1 is weighted by {paths.weight:.4f}",
    ]
    if found.ranking is not None:
        lines += ["", *_ranking(found.ranking)]
    if found.calibration is not None:
        overall = found.calibration.overall
        lines += [
            "",
            f"calibration error {_percent(overall.ece)} over all labels, "
            f"{_percent(overall.ece_chosen)} over the predicted ones; Brier score "
            f"{overall.brier:.4f}; {_percent(coherence.inversions or 0.0)}% of the probabilities "
            "exceed those of all parents",
        ]
    if found.abstention is not None:
        lines += ["", *_abstention(found.abstention)]
    return lines


def _ranking(ranking: RankingScores) -> list[str]:
    return [
        *_aligned(
            [
                ["by rank", *(f"@{k}" for k in ranking.precision_at)],
                ["precision", *map(_percent, ranking.precision_at.values())],
                ["nDCG", *map(_percent, ranking.ndcg_at.values())],
            ]
        ),
        f"hF1-AUC {_percent(ranking.hf1_auc)}",
    ]


def _abstention(found: Abstention) -> list[str]:
    return _aligned(
        [
            ["surest documents", *(f"{100 * point.coverage:.0f}%" for point in found.at)],
            ["exactly right", *(_percent(point.accuracy) for point in found.at)],
            ["hierarchical F1", *(_percent(point.hf1) for point in found.at)],
        ]
    )


def _family(name: str, scores: PrecisionRecall, macro_f1: float | None = None) -> list[str]:
    macro = "" if macro_f1 is None else _percent(macro_f1)
    return [name, _percent(scores.f1), macro, _percent(scores.precision), _percent(scores.recall)]


def _label_rows(scores: LabelScores, taxonomy: Taxonomy, count: int) -> list[str]:
    order = np.lexsort((-scores.support, scores.f1))
    order = order[scores.support[order] > 0][:count]
    rows = [["weakest labels", "documents", "F1", "precision", "recall"]]
    rows += [
        [
            taxonomy.labels[label],
            f"{scores.support[label]:,}",
            *(_percent(column[label]) for column in (scores.f1, scores.precision, scores.recall)),
        ]
        for label in order.tolist()
    ]
    return _aligned(rows)


def _row(name: str, labels: int, scores: Averages) -> list[str]:
    return [name, f"{labels:,}", *_shares(scores)]


def _shares(scores: Averages) -> list[str]:
    shares = (scores.micro_f1, scores.macro_f1, scores.micro_precision, scores.micro_recall)
    return [_percent(share) for share in shares]


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _aligned(rows: list[list[str]]) -> list[str]:
    """Columns of equal width, the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]
