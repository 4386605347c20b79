"""``hbgl train``: from a corpus folder to a model folder."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from hbgl.cli.settings_options import with_settings
from hbgl.errors import UsageError
from hbgl.settings import Settings

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
        bool, typer.Option("--resume", help="Go on with an interrupted run of the same options.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a model or the checkpoints that are there.")
    ] = False,
    keep_checkpoints: Annotated[
        bool, typer.Option("--keep-checkpoints", help="Keep MODEL.training after success.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Train a classifier: global stage, then local stage, the checkpoint chosen on dev.

    Runs on one CPU, one GPU or many processes (accelerate launch, torchrun) alike. Checkpoints
    lie in MODEL.training until the run is done.
    """
    from hbgl.checkpoint import check_replaceable, recover_folder
    from hbgl.cli.progress import TrainingProgress
    from hbgl.corpora import open_corpus
    from hbgl.training_run import checkpoint_folder, train_classifier

    main_process = os.environ.get("RANK", "0") == "0"
    checkpoints = checkpoint_folder(output)
    recover_folder(output)
    check_replaceable(output)
    _refuse_overwriting(output, checkpoints, resume=resume, force=force)
    if force and not resume and main_process:
        shutil.rmtree(checkpoints, ignore_errors=True)
    opened = open_corpus(corpus)
    with TrainingProgress(quiet=not main_process) as progress:
        model = train_classifier(
            opened, settings, run_folder=checkpoints, resume=resume, listener=progress
        )
    if not main_process:
        return
    model.metrics["corpus"] = Path(corpus).name
    model.save(output)
    if not keep_checkpoints:
        shutil.rmtree(checkpoints, ignore_errors=True)
    dev = model.metrics["dev"]
    if as_json:
        facts = {"model": str(output), "seconds": model.metrics["seconds"], "dev": dev}
        typer.echo(json.dumps(facts))
        return
    scores = (
        ""
        if dev is None
        else (f", dev Micro-F1 {100 * dev['micro_f1']:.2f}, Macro-F1 {100 * dev['macro_f1']:.2f}")
    )
    typer.echo(f"{output}: trained in {model.metrics['seconds']:.0f} s{scores}")


def _refuse_overwriting(output: Path, checkpoints: Path, *, resume: bool, force: bool) -> None:
    """Nothing that took hours is lost by a repeated command."""
    if force or resume:
        return
    if output.exists() and any(output.iterdir()):
        raise UsageError(
            f"{output} exists already; name another folder, or replace it with --force"
        )
    if checkpoints.exists():
        raise UsageError(
            f"{checkpoints} holds an interrupted run; go on with --resume, or "
            "begin anew with --force"
        )
