"""``hbgl reproduce``: the tables of the paper on the corpora at hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from hbgl.cli import experiment_options as options
from hbgl.cli.bench_output import command_line
from hbgl.errors import UsageError

__all__ = ["EXAMPLE", "Table", "reproduce"]

EXAMPLE = "Example: hbgl reproduce table4 --corpora clinc150 --seeds 0,1 --budget epochs=2"


class Table(str, Enum):
    """The tables of the paper."""

    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    table4 = "table4"


def reproduce(
    context: typer.Context,
    table: Annotated[Table, typer.Argument(help="Which table.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Default: runs/TABLE."),
    ] = None,
    corpora: options.Corpora = "clinc150,arxiv-sample",
    seeds: options.Seeds = "0,1,2",
    methods: options.Methods = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="BUDGET",
            help="quick (one epoch, no tuning of the flat classifier), epochs=N, or full (as "
            "long as the presets say: 96,000 steps of preset authors).",
        ),
    ] = "epochs=4",
    backbone: Annotated[
        str, typer.Option("--backbone", metavar="NAME", help="Of every method that has one.")
    ] = "minilm",
    processes: options.Processes = 1,
    report_only: options.ReportOnly = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """One of the paper's tables, with the published figures beside where the corpus is the same.

    table1: statistics of corpora. table2: presets, flat classifier, yardsticks. table3: label
    embeddings. table4: classifiers. The flat classifier is tuned on dev: rate of its head, epochs.
    """
    named = options.names(corpora, "--corpora") or []
    place = output or Path("runs") / table.value
    if table is Table.table1:
        _statistics(named, place, quiet=quiet, as_json=as_json)
        return
    from hbgl.experiments.paper_tables import Budget, table_plan
    from hbgl.experiments.plan_reader import read_plan

    nested = table_plan(
        table.value,
        output=place,
        corpora=named,
        seeds=options.numbers(seeds, "--seeds") or [0],
        budget=Budget.parse(budget),
        backbone=backbone,
        methods=options.names(methods, "--methods"),
    )
    options.run_and_report(
        read_plan(nested, table.value),
        processes=processes,
        report_only=report_only,
        command=command_line(context),
        quiet=quiet,
        as_json=as_json,
    )


def _statistics(corpora: list[str], output: Path, *, quiet: bool, as_json: bool) -> None:
    from hbgl.cli.data_progress import PrepareProgress
    from hbgl.experiments.corpus_table import corpus_files, corpus_lines, corpus_rows
    from hbgl.experiments.results import write_files

    if not corpora:
        raise UsageError("name a corpus with --corpora")
    with PrepareProgress(quiet=quiet or as_json) as progress:
        rows = corpus_rows(corpora, progress)
    content = json.dumps({"title": "Table 1", "rows": [asdict(row) for row in rows]}, indent=1)
    write_files(output, {**corpus_files(rows), "results.json": f"{content}\n".encode()})
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows]))
        return
    for line in corpus_lines(rows):
        typer.echo(line)
    typer.echo(f"{output / 'results.html'}, results.md, results.csv, results.json")
