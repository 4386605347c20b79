"""The README.md of a model folder: what the model is, what it was trained on, how well it does."""

from __future__ import annotations

from typing import Any

from hbgl.settings import Settings
from hbgl.taxonomy import Taxonomy

__all__ = ["model_card"]

_SHOWN = 12


def model_card(taxonomy: Taxonomy, settings: Settings, metrics: dict[str, Any]) -> str:
    """Markdown from what the folder itself holds."""
    top = [taxonomy.names[label] for label in taxonomy.labels[taxonomy.level_slice(1)]]
    more = f" and {len(top) - _SHOWN} more" if len(top) > _SHOWN else ""
    training = settings.training
    lines = [
        "# Hierarchical text classifier",
        "",
        f"Method `{settings.model.method}` over the backbone `{settings.backbone}`, by hbgl.",
        "",
        "## Taxonomy",
        "",
        f"{len(taxonomy)} labels on {taxonomy.depth} levels. Level 1: "
        f"{', '.join(top[:_SHOWN])}{more}.",
        "",
        "## Training",
        "",
        f"{training.epochs:g} epochs, batches of {training.batch_size}, peak learning rate "
        f"{training.learning_rate:g}, seed {training.seed}; the checkpoint with the best dev "
        f"{training.metric.replace('_', '-')}.",
    ]
    for key, title in (("corpus", "Corpus"), ("documents", "Training documents")):
        if key in metrics:
            lines.append(f"{title}: {metrics[key]}.")
    dev = metrics.get("dev")
    if dev:
        lines += [
            "",
            "## Scores on the dev split",
            "",
            "| Micro-F1 | Macro-F1 |",
            "| --- | --- |",
            f"| {100 * dev['micro_f1']:.2f} | {100 * dev['macro_f1']:.2f} |",
        ]
    lines += [
        "",
        "## Use",
        "",
        "```python",
        "from hbgl import TrainedModel",
        "",
        'model = TrainedModel.load("this-folder")',
        'print(model.predict(["a text"])[0].paths)',
        "```",
        "",
        "## Limits",
        "",
        "The model knows only the labels of its taxonomy and texts like those it was trained on. "
        "Probabilities are not calibrated; thresholds are in `thresholds.json`.",
        "",
    ]
    return "\n".join(lines)
