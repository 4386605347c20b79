"""Options that ``hbgl experiment`` and ``hbgl reproduce`` share, and what both do with a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.errors import HBGLError, UsageError

if TYPE_CHECKING:
    from hbgl.experiments.plan import Plan
    from hbgl.experiments.summary import Summary

__all__ = [
    "AsJson",
    "Corpora",
    "Methods",
    "Processes",
    "Quiet",
    "ReportOnly",
    "Seeds",
    "names",
    "numbers",
    "run_and_report",
]

Corpora = Annotated[
    str | None,
    typer.Option("--corpora", metavar="A,B", help="Corpus folders, or bundled corpora by name."),
]
Seeds = Annotated[str | None, typer.Option("--seeds", metavar="0,1,2", help="One run for each.")]
Methods = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Only these; default: all.")
]
Processes = Annotated[
    int, typer.Option("--processes", min=1, help="So many runs at a time, each a process.")
]
ReportOnly = Annotated[
    bool, typer.Option("--report-only", help="Run nothing, write the results of what is finished.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the results.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")]


def names(text: str | None, option: str) -> list[str] | None:
    """``a,b`` -> names, in their order, each once."""
    if text is None:
        return None
    found = list(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    if not found:
        raise UsageError(f"{option} {text!r} names nothing; give names with commas between them")
    return found


def numbers(text: str | None, option: str) -> list[int] | None:
    """``0,1,2`` -> whole numbers."""
    try:
        return None if text is None else [int(one) for one in names(text, option) or []]
    except ValueError:
        raise UsageError(f"{option} takes whole numbers such as 0,1,2, not {text!r}") from None


def run_and_report(
    plan: Plan,
    *,
    processes: int,
    report_only: bool,
    command: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run what is left to run, then write the results, of what is finished even if a run failed."""
    from hbgl.cli.interruption import interruptible
    from hbgl.cli.progress import TrainingProgress
    from hbgl.experiments.results import write_results
    from hbgl.experiments.running import run_plan
    from hbgl.experiments.summary import summarise

    failure: HBGLError | None = None
    advice = f"what is finished is in {plan.output}; to go on repeat the command"
    with TrainingProgress(quiet=quiet) as progress:
        if not report_only:
            try:
                with interruptible(lambda: advice):
                    run_plan(plan, processes=processes, command=command, listener=progress)
            except UsageError:
                raise
            except HBGLError as error:
                failure = error
        summary = summarise(plan, said=progress.said)
    if not summary.rows:
        raise failure or UsageError(
            f"no run of this plan is finished in {plan.output}; run it without --report-only"
        )
    write_results(summary, plan.output)
    _say(summary, plan.output, as_json=as_json)
    if failure is not None:
        raise failure


def _say(summary: Summary, output: Path, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary.to_json()))
        return
    from hbgl.experiments.tables import shown

    width = max(len(row.method) for row in summary.rows)
    for corpus in summary.corpora:
        typer.echo(f"{corpus}, on test as each method decides")
        for row in summary.of(corpus):
            scores = row.scores["tuned"]
            micro, macro = shown(scores["micro_f1"]), shown(scores["macro_f1"])
            typer.echo(f"  {row.method:<{width}}  Micro-F1 {micro:<13}  Macro-F1 {macro}")
    if summary.missing:
        typer.echo(f"not finished: {', '.join(summary.missing)}")
    typer.echo(f"{output / 'results.html'}, results.md, results.csv, results.json")
