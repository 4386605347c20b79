"""The README.md of a model folder: what the model is, what it was trained on, how well it does.

Markdown under the YAML header that the Hugging Face hub reads. All of it comes from what the folder
itself holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from hbgl.backbones import KNOWN
from hbgl.decisions import RULES, Decision
from hbgl.errors import UsageError
from hbgl.settings import Settings
from hbgl.taxonomy import Taxonomy

__all__ = ["check_license", "model_card"]

_SHOWN = 12
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.-]*")
_SCORES = {
    "micro_f1": "Micro-F1",
    "macro_f1": "Macro-F1",
    "macro_f1_supported": "Macro-F1 of labels with support",
    "exact_match": "exact sets",
}


def model_card(
    taxonomy: Taxonomy,
    settings: Settings,
    decision: Decision,
    metrics: Mapping[str, Any],
    *,
    license: str | None = None,  # noqa: A002 - the hub's own word
    repo_id: str | None = None,
) -> str:
    """The card as Markdown.

    :param metrics: those of the model folder; a ``test`` entry is shown where there is one.
    :param license: the hub's identifier, such as ``apache-2.0``; not guessed.
    :param repo_id: where the model is on the hub.
    """
    parts = (
        _header(settings, license),
        _what(settings),
        _taxonomy(taxonomy),
        _training(settings, metrics),
        _scores(metrics),
        _decision(taxonomy, decision, metrics),
        _intended(settings),
        _use(repo_id),
    )
    return "\n".join(line for part in parts for line in (*part, ""))


def check_license(license: str | None) -> None:  # noqa: A002 - as above
    """Refuse what cannot be an identifier of a licence.

    :raises UsageError: naming it.
    """
    if license is not None and not _LICENSE.fullmatch(license):
        raise UsageError(
            f"{license!r} is no licence identifier of the hub; write one such as apache-2.0"
        )


def _header(settings: Settings, license: str | None) -> Iterator[str]:  # noqa: A002 - as above
    check_license(license)
    yield "---"
    yield "library_name: hbgl"
    yield "pipeline_tag: text-classification"
    yield "tags:"
    for tag in ("hbgl", "hierarchical-text-classification", "multi-label-classification"):
        yield f"- {tag}"
    if license is not None:
        yield f"license: {license}"
    if settings.backbone in KNOWN:
        # A JSON string is a YAML string.
        yield f"base_model: {json.dumps(KNOWN[settings.backbone].hub_id)}"
    yield "---"


def _what(settings: Settings) -> Iterator[str]:
    yield "# Hierarchical text classifier"
    yield ""
    yield f"Method `{settings.model.method}` over the backbone `{_backbone(settings)}`, by hbgl."


def _backbone(settings: Settings) -> str:
    """Its name; of a folder the last part, for the rest is of one machine."""
    name = settings.backbone
    is_path = name.startswith((".", "~", "/")) or "\\" in name or name.count("/") > 1
    return (PurePath(name.replace("\\", "/")).name or "a folder") if is_path else name


def _taxonomy(taxonomy: Taxonomy) -> Iterator[str]:
    top = [taxonomy.names[label] for label in taxonomy.labels[taxonomy.level_slice(1)]]
    more = f" and {len(top) - _SHOWN} more" if len(top) > _SHOWN else ""
    several = "" if taxonomy.is_tree else " Labels may have several parents."
    yield "## Taxonomy"
    yield ""
    yield (
        f"{len(taxonomy)} labels on {taxonomy.depth} levels. Level 1: "
        f"{', '.join(top[:_SHOWN])}{more}.{several} All of them are in `taxonomy.tsv`."
    )


def _training(settings: Settings, metrics: Mapping[str, Any]) -> Iterator[str]:
    training = settings.training
    yield "## Training"
    yield ""
    yield (
        f"{training.epochs:g} epochs, batches of {training.batch_size}, peak learning rate "
        f"{training.learning_rate:g}, seed {training.seed}; the checkpoint with the best dev "
        f"{training.metric.replace('_', '-')}."
    )
    for key, title in (("corpus", "Corpus"), ("documents", "Training documents")):
        if metrics.get(key) is not None:
            value = metrics[key]
            yield f"{title}: {f'{value:,}' if isinstance(value, int) else value}."
    counts = sorted(metrics.get("label_documents") or ())
    if counts:
        yield (
            f"A label has {counts[0]:,} to {counts[-1]:,} of them, the median is "
            f"{counts[len(counts) // 2]:,}; labels without any: {counts.count(0):,}."
        )
    tuning = metrics.get("tuning") or {}
    if tuning.get("documents"):
        yield (
            "Dev documents, on which thresholds and calibration were fitted: "
            f"{tuning['documents']:,}."
            + (" What it decides by was set by hand since." if tuning.get("set_by_hand") else "")
        )


def _scores(metrics: Mapping[str, Any]) -> Iterator[str]:
    tuning = metrics.get("tuning") or {}
    tuned = "as tuned on these documents" if tuning.get("documents") else "as it decides"
    rows = [
        ("dev, each level on its own over 0.5", tuning.get("before") or metrics.get("dev")),
        (f"dev, {tuned}", metrics.get("dev_scores") or tuning.get("after")),
        ("test", metrics.get("test")),
    ]
    found = [(title, scores) for title, scores in rows if scores]
    yield "## Scores"
    yield ""
    if not found:
        yield "None are recorded: the model was trained without dev documents."
        return
    columns = [key for key in _SCORES if any(key in scores for _, scores in found)]
    yield from _table(
        ["documents", *(_SCORES[key] for key in columns)],
        (
            [title, *(f"{100 * scores[key]:.2f}" if key in scores else "" for key in columns)]
            for title, scores in found
        ),
    )


def _decision(taxonomy: Taxonomy, decision: Decision, metrics: Mapping[str, Any]) -> Iterator[str]:
    written = decision.to_json(taxonomy)
    own = [int(taxonomy.levels[taxonomy.id(label)]) for label in written["labels"]]
    yield "## How it decides"
    yield ""
    yield f"Rule `{decision.rule}`: {RULES[decision.rule]}."
    if decision.most_paths is not None:
        yield f"At most {decision.most_paths} paths per text."
    yield ""
    yield from _table(
        ["level", "labels", "threshold", "labels with another", "calibration"],
        (
            [
                str(level),
                str(int((taxonomy.levels == level).sum())),
                f"{threshold:.4g}",
                str(own.count(level)),
                decision.calibration.of(level).kind,
            ]
            for level, threshold in enumerate(written["levels"], start=1)
        ),
    )
    yield ""
    fitted = (metrics.get("tuning") or {}).get("documents", 0)
    if decision.calibration.levels:
        yield f"Probabilities were calibrated on {fitted:,} dev documents (`calibration.json`)."
    else:
        yield "Probabilities are not calibrated: sigmoids of the scores."
    yield "Every threshold is in `thresholds.json`."


def _intended(settings: Settings) -> Iterator[str]:
    length = settings.model.max_length
    cut = f"{length} tokens" if length else "what the backbone's positions hold"
    yield "## Intended use and limits"
    yield ""
    yield (
        "For texts like those it was trained on, in their language: it gives each the labels of "
        "its taxonomy that fit, as whole paths with probabilities."
    )
    yield ""
    yield "- It knows only the labels of its taxonomy; a text about something else may get some."
    yield f"- Texts longer than {cut} are cut off at their end."
    yield "- Probabilities and thresholds hold for texts like those of dev; for others, tune anew."
    yield "- It repeats what is wrong or one-sided in its training labels and its backbone."
    yield "- Not for decisions about people without a person who checks them."


def _use(repo_id: str | None) -> Iterator[str]:
    yield "## Use"
    yield ""
    if repo_id is not None:
        yield "```python"
        yield "from hbgl import HBGLClassifier"
        yield ""
        yield f"model = HBGLClassifier.from_pretrained({json.dumps(repo_id)})"
        yield 'print(model.predict_paths(["a text"])[0])'
        yield "```"
        yield ""
        yield "From a copy of the folder:"
        yield ""
    yield "```python"
    yield "from hbgl import TrainedModel"
    yield ""
    yield 'model = TrainedModel.load("this-folder")'
    yield 'print(model.predict(["a text"])[0].paths)'
    yield "```"
    yield ""
    yield "```console"
    yield '$ echo "a text" | hbgl predict this-folder -'
    yield "```"


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
