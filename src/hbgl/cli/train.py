"""``hbgl train``: from a corpus folder to a model folder."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hbgl.cli.settings_options import with_settings
from hbgl.settings import Settings

if TYPE_CHECKING:
    from hbgl.corpora import CorpusFolder

__all__ = ["EXAMPLE", "train"]

EXAMPLE = "Example: hbgl train clinc150 -o my-model --epochs 3 --batch-size 32"


@with_settings
def train(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="A corpus folder, or a bundled corpus by name.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to make.")
    ],
    settings: Settings,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with an interrupted run of the same options; begin if there is none; "
            "nothing to do if the model is complete.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a model or the checkpoints that are there.")
    ] = False,
    keep_checkpoints: Annotated[
        bool, typer.Option("--keep-checkpoints", help="Keep MODEL.training after success.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the result.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Train a classifier: global stage, then local stage, the checkpoint chosen on dev.

    Runs on one CPU, one GPU or many processes (accelerate launch, torchrun) alike. Checkpoints
    lie in MODEL.training until the run is done. A corpus without dev is trained to the end.
    """
    from hbgl.cli.train_checks import (
        check_documents,
        check_place,
        check_same_run,
        checkpoint_folder,
        finished_run,
        forget_checkpoints,
        only_run,
    )
    from hbgl.corpora import open_corpus

    # Of many processes the first one checks and speaks: when it refuses, all of them end.
    main_process = os.environ.get("RANK", "0") == "0"
    checkpoints = checkpoint_folder(output)
    if main_process:
        check_place(output, checkpoints, resume=resume, force=force)
    opened = open_corpus(corpus)
    metrics = finished_run(output, checkpoints, settings, opened.path.name) if resume else None
    if metrics is not None:  # known to every process, so that none of them waits for another
        if main_process:
            _report(output, metrics, as_json=as_json, done="complete already, trained")
        return
    if main_process:
        if resume:
            check_same_run(checkpoints, settings)
        check_documents(opened, settings)
    with only_run(checkpoints) if main_process else nullcontext():
        if force and main_process:
            forget_checkpoints(checkpoints)
        metrics = _run(
            opened, settings, output, resume=resume, quiet=quiet, main_process=main_process
        )
        if main_process and not keep_checkpoints:
            forget_checkpoints(checkpoints)
    if main_process:
        _report(output, metrics, as_json=as_json, done="trained")


def _run(
    corpus: CorpusFolder,
    settings: Settings,
    output: Path,
    *,
    resume: bool,
    quiet: bool,
    main_process: bool,
) -> dict[str, Any]:
    """Train and, in the first process, write the model folder; its metrics."""
    from hbgl.cli.interruption import interruptible
    from hbgl.cli.train_checks import checkpoint_folder, last_step

    checkpoints = checkpoint_folder(output)

    def advice() -> str:
        step = last_step(checkpoints)
        if step is None:
            return "no checkpoint was written yet, so the same command begins anew"
        return (
            f"the checkpoint of step {step} is in {checkpoints}; to go on repeat the command "
            "with --resume"
        )

    # The other processes have nothing to say: SIGTERM, as from torchrun when the first one refuses,
    # ends them at once, for they may be waiting for it inside torch.
    with interruptible(advice) if main_process else nullcontext():
        from hbgl.cli.progress import TrainingProgress
        from hbgl.training_run import train_classifier

        with TrainingProgress(quiet=quiet or not main_process) as progress:
            model = train_classifier(
                corpus, settings, run_folder=checkpoints, resume=resume, listener=progress
            )
        model.metrics["corpus"] = corpus.path.name
        if main_process:
            model.save(output)
    return model.metrics


def _report(output: Path, metrics: dict[str, Any], *, as_json: bool, done: str) -> None:
    dev, seconds = metrics["dev"], metrics["seconds"]
    if as_json:
        typer.echo(json.dumps({"model": str(output), "seconds": seconds, "dev": dev}))
        return
    scores = (
        ""
        if dev is None
        else f", dev Micro-F1 {100 * dev['micro_f1']:.2f}, Macro-F1 {100 * dev['macro_f1']:.2f}"
    )
    typer.echo(f"{output}: {done} in {seconds:.0f} s{scores}")
