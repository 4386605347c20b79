"""``hbgl demo``: the main job on the bundled corpus, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.errors import UsageError
from hbgl.settings import Settings

if TYPE_CHECKING:
    from hbgl.corpora import CorpusFolder
    from hbgl.metrics import Scores
    from hbgl.trained_model import TrainedModel

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "Example: hbgl demo -o demo-model"

_CORPUS = "clinc150"
_SHOWN = 5
_CHOICES: dict[str, object] = {
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
    backbone: Annotated[
        str, typer.Option("--backbone", metavar="NAME", help="A known name, a folder or a hub id.")
    ] = Settings().backbone,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the results.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Train, evaluate and predict on the bundled clinc150 with the minilm backbone.

    The model folder of an earlier demo is replaced, any other one is refused.
    """
    from hbgl.corpora import open_corpus
    from hbgl.metrics import score_table
    from hbgl.settings import preset, with_overrides

    _check_place(output)
    choices = {**_CHOICES, "training.epochs": epochs, "backbone": backbone}
    settings = with_overrides(preset("default"), choices)
    corpus = open_corpus(_CORPUS)
    model, scores = _train(corpus, settings, output, quiet=quiet)
    if as_json:
        seconds, test = model.metrics["seconds"], model.metrics["test"]
        typer.echo(json.dumps({"model": str(output), "seconds": seconds, "test": test}))
        return
    typer.echo("\nScores on the test split:")
    for line in score_table(scores, corpus.taxonomy):
        typer.echo(line)
    _show_predictions(model, corpus)
    typer.echo(f"\nThe model is in {output} (its README.md describes it). Now try:")
    typer.echo(f'  echo "how do i freeze my account" | hbgl predict {output} -')
    typer.echo(f"  hbgl evaluate {output} {_CORPUS}:test --weakest 10")
    typer.echo("  hbgl train YOUR-CORPUS -o your-model")


def _check_place(output: Path) -> None:
    """Only an earlier demo is replaced: another model may have taken hours."""
    from hbgl.checkpoint import check_replaceable
    from hbgl.cli.train_checks import check_writable

    check_replaceable(output)
    check_writable(output)
    if not output.is_dir() or not any(output.iterdir()):
        return
    try:
        metrics = json.loads((output / "metrics.json").read_bytes())
        demonstrated = metrics["corpus"] == _CORPUS and "test" in metrics
    except (OSError, ValueError, KeyError, TypeError):
        demonstrated = False
    if not demonstrated:
        raise UsageError(f"{output} is not from an earlier demo; name another folder with -o")


def _train(
    corpus: CorpusFolder, settings: Settings, output: Path, *, quiet: bool
) -> tuple[TrainedModel, Scores]:
    """Train, score on the test split, write the model folder."""
    from hbgl.cli.interruption import interruptible

    with interruptible(lambda: "the demo wrote nothing; it begins anew next time"):
        from hbgl.cli.progress import TrainingProgress
        from hbgl.training_run import train_classifier

        with TrainingProgress(quiet=quiet) as progress:
            progress.said(f"corpus {_CORPUS}: requests to a voice assistant, domain > intent")
            model = train_classifier(corpus, settings, listener=progress)
            progress.said("scoring the test split")
            scores = model.evaluate(corpus.records("test"))
        model.metrics["corpus"] = _CORPUS
        model.metrics["test"] = {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1}
        model.save(output)
    return model, scores


def _show_predictions(model: TrainedModel, corpus: CorpusFolder) -> None:
    """A few test requests with their predicted paths, drawn with probabilities."""
    texts = [record.text for record in corpus.records("test")]
    texts = texts[:: max(1, len(texts) // _SHOWN)][:_SHOWN]
    for text, found in zip(texts, model.predict(texts, everything=True), strict=True):
        typer.echo(f"\n“{text}”")
        if not found.paths:
            typer.echo("  (no label)")
        for path in found.paths:
            steps = [
                f"{corpus.taxonomy.names[label]} {found.probabilities[label]:.0%}" for label in path
            ]
            typer.echo("  " + " > ".join(steps))
