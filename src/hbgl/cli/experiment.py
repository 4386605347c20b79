"""``hbgl experiment``: the runs of an experiment file, and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hbgl.cli import experiment_options as options
from hbgl.cli.bench_output import command_line
from hbgl.errors import UsageError

__all__ = ["EXAMPLE", "experiment"]

EXAMPLE = "Example: hbgl experiment configs/paper/wos.toml --corpora data/wos --seeds 0,1,2"


def experiment(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="An experiment file."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Instead of the file's own output."),
    ] = None,
    corpora: options.Corpora = None,
    seeds: options.Seeds = None,
    methods: options.Methods = None,
    backbone: Annotated[
        str | None,
        typer.Option("--backbone", metavar="NAME", help="Of every method of our own."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="A setting of every method of our own, such as training.epochs=1; repeatable.",
        ),
    ] = None,
    processes: options.Processes = 1,
    report_only: options.ReportOnly = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Run methods x corpora x seeds; write results.html, .md, .csv and .json.

    Repeat the command after an interruption: what is finished is kept, the run that was broken off
    goes on from its checkpoint. docs/experiments.md says what a file holds.
    """
    from hbgl.experiments.experiment_file import read_experiment
    from hbgl.experiments.fields import assignments

    plan = read_experiment(
        file,
        output=output,
        corpora=options.names(corpora, "--corpora"),
        seeds=options.numbers(seeds, "--seeds"),
        overrides={
            **({} if backbone is None else {"backbone": backbone}),
            **assignments(changes or []),
        },
    )
    wanted = options.names(methods, "--methods")
    if wanted is not None:
        known = [one.name for one in plan.methods]
        unknown = [one for one in wanted if one not in known]
        if unknown:
            raise UsageError(
                f"{file} has no method {', '.join(unknown)}; there are {', '.join(known)}"
            )
        plan = plan.only(wanted)
    options.run_and_report(
        plan,
        processes=processes,
        report_only=report_only,
        command=command_line(context),
        quiet=quiet,
        as_json=as_json,
    )
