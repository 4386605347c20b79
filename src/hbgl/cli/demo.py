"""``hbgl demo``: the main job on the bundled corpus, end to end."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hbgl.classifier import HBGLClassifier
    from hbgl.corpora import CorpusFolder

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "Example: hbgl demo -o demo-model"

_CORPUS = "clinc150"
_SHOWN = 5
_CHOICES = {
    "training.epochs": 3.0,
    "training.batch_size": 32,
    "training.learning_rate": 2e-4,
}


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to make.")
    ] = Path("demo-model"),
    epochs: Annotated[
        float, typer.Option("--epochs", help="Passes over the training documents.")
    ] = 3.0,
) -> None:
    """Train, evaluate and predict on the bundled clinc150 with the minilm backbone.

    The model folder of an earlier demo is replaced.
    """
    from hbgl.checkpoint import check_replaceable
    from hbgl.cli.progress import TrainingProgress
    from hbgl.corpora import open_corpus
    from hbgl.metrics import score_table
    from hbgl.settings import preset, with_overrides
    from hbgl.training_run import train_classifier

    check_replaceable(output)
    settings = with_overrides(preset("default"), {**_CHOICES, "training.epochs": epochs})
    corpus = open_corpus(_CORPUS)
    with TrainingProgress() as progress:
        progress.said(f"corpus {_CORPUS}: requests to a voice assistant, domain > intent")
        model = train_classifier(corpus, settings, listener=progress)
    model.metrics["corpus"] = _CORPUS
    scores = model.evaluate(corpus.records("test"))
    model.metrics["test"] = {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1}
    model.save(output)
    typer.echo("\nScores on the test split:")
    for line in score_table(scores, corpus.taxonomy):
        typer.echo(line)
    _show_predictions(model, corpus)
    typer.echo(f"\nThe model is in {output} (its README.md describes it). Now try:")
    typer.echo(f'  echo "how do i freeze my account" | hbgl predict {output} -')
    typer.echo(f"  hbgl evaluate {output} {_CORPUS}:test --weakest 10")
    typer.echo("  hbgl train YOUR-CORPUS -o your-model")


def _show_predictions(model: HBGLClassifier, corpus: CorpusFolder) -> None:
    """A few test requests with their predicted paths, drawn with probabilities."""
    records = list(islice(corpus.records("test"), 0, 900 * _SHOWN, 900))
    for record, found in zip(records, model.predict([one.text for one in records]), strict=True):
        typer.echo(f"\n“{record.text}”")
        if not found.paths:
            typer.echo("  (no label)")
        for path in found.paths:
            scores = found.probabilities or {}
            steps = [f"{corpus.taxonomy.names[one]} {scores[one]:.0%}" for one in path]
            typer.echo("  " + " > ".join(steps))
