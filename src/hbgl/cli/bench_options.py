"""Options that the commands of `hbgl bench` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hbgl.settings.choices import Precision as PrecisionName

__all__ = [
    "Against",
    "Backbone",
    "Labels",
    "Levels",
    "MaxLength",
    "Model",
    "OneProcess",
    "Out",
    "Precision",
    "Quiet",
    "Seconds",
    "Seed",
    "Threads",
    "Words",
    "Workload",
]

Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD", help="A corpus folder, a bundled corpus by name, or: synthetic."
    ),
]
Seconds = Annotated[
    float,
    typer.Option(
        "--seconds",
        min=1,
        help="About how long the rounds may take together; if three do not fit, fewer documents.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="A,B", help="Contenders beside hbgl; default: all."),
]
Backbone = Annotated[
    str, typer.Option("--backbone", metavar="NAME", help="A known name, a folder or a hub id.")
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="MODEL", help="A trained model; default: untrained, of the same size."
    ),
]
Precision = Annotated[
    PrecisionName, typer.Option("--precision", help="Of hbgl; auto: bfloat16 where it is native.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Of each process; default: torch's.")
]
Seed = Annotated[int, typer.Option("--seed", help="Of the choice of documents and weights.")]
Labels = Annotated[int, typer.Option("--labels", min=1, help="Labels of synthetic.")]
Levels = Annotated[int, typer.Option("--levels", min=1, help="Levels of synthetic.")]
Words = Annotated[int, typer.Option("--words", min=1, help="Mean words of a text of synthetic.")]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", min=3, help="Longest text in tokens.")
]
OneProcess = Annotated[
    bool,
    typer.Option("--one-process", help="All in this process: starts sooner, measures no memory."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Also write the JSON to a file.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the results.")]
