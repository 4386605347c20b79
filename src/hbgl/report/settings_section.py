"""The part of the page that says what was evaluated, and how the model decides."""

from __future__ import annotations

from collections.abc import Iterator

from hbgl import __version__
from hbgl.decisions import RULES
from hbgl.report.findings import Findings
from hbgl.report.markup import Content, Markup, Number, details, section, table

__all__ = ["settings"]


def settings(found: Findings) -> Markup:
    """Model, file, thresholds, calibration and every setting."""
    return section(
        "model",
        "Model and settings",
        table(["", ""], _facts(found), caption="What was evaluated"),
        table(
            ["level", "labels", "threshold", "labels with another", "calibration"],
            _levels(found),
            caption="How it decides",
        ),
        details(
            "Every setting",
            table(["setting", "value"], _settings(found), caption="Every setting of the model"),
        ),
    )


def _facts(found: Findings) -> Iterator[list[Content]]:
    taxonomy, decision = found.taxonomy, found.decision
    kind = "tree" if taxonomy.is_tree else "labels with several parents"
    yield ["documents", f"{found.evaluation.documents:,} of {found.source or 'memory'}"]
    if found.model:
        yield ["model", found.model]
    yield ["method, backbone", f"{found.settings.model.method}, {found.settings.backbone}"]
    yield ["taxonomy", f"{len(taxonomy):,} labels on {taxonomy.depth} levels, {kind}"]
    if found.metrics.get("corpus") is not None:
        yield ["trained on", str(found.metrics["corpus"])]
    yield ["rule", f"{decision.rule}: {RULES[decision.rule]}"]
    if decision.most_paths is not None:
        yield ["most paths", str(decision.most_paths)]
    tuned = (found.metrics.get("tuning") or {}).get("documents")
    if tuned:
        yield ["tuned on", f"{tuned:,} dev documents"]
    yield ["evaluated", f"{found.time:%Y-%m-%d %H:%M} UTC by hbgl {__version__}"]


def _levels(found: Findings) -> Iterator[list[Content]]:
    taxonomy, decision = found.taxonomy, found.decision
    written = decision.to_json(taxonomy)
    own = [int(taxonomy.levels[taxonomy.id(label)]) for label in written["labels"]]
    for curve in found.thresholds:
        level = curve.level
        columns = taxonomy.level_slice(level)
        yield [
            str(level),
            columns.stop - columns.start,
            Number(curve.thresholds, curve.usual),
            own.count(level),
            decision.calibration.of(level).kind,
        ]


def _settings(found: Findings) -> Iterator[list[Content]]:
    for part, value in found.settings.to_json().items():
        if isinstance(value, dict):
            yield [part]
            for name, one in value.items():
                yield [name.replace("_", " "), str(one)]
        else:
            yield [part.replace("_", " "), str(value)]
