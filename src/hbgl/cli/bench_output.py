"""What the commands of `hbgl bench` say: progress, a table, one JSON line, a result file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from hbgl.errors import UsageError

__all__ = ["check_out", "command_line", "echo", "finish", "model_name", "progress"]


def progress(*, quiet: bool) -> Callable[[str], None]:
    """Says on standard error what happens now."""

    def said(words: str) -> None:
        if not quiet:
            typer.echo(words, err=True)

    return said


def echo(lines: Iterable[str]) -> None:
    """A table."""
    for line in lines:
        typer.echo(line)


def model_name(model: Path | None) -> str:
    """What a result calls the model."""
    return "untrained" if model is None else model.resolve().name


def check_out(out: Path | None) -> None:
    """Minutes of measuring must not end without a place for the result."""
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise UsageError(f"--out {out} is a folder or lies in none; name a file")


def finish(
    context: typer.Context, benchmark: str, results: dict[str, Any], seed: int, out: Path | None
) -> None:
    """The JSON line, and the file.

    ``hardware`` is as the measured processes saw it: this one has not loaded torch.
    """
    from hbgl.bench.machine import provenance, source_root

    record = {
        "benchmark": benchmark,
        **provenance(command_line(context), seed, source_root()),
        "hardware": results["hardware"],
        "results": {key: value for key, value in results.items() if key != "hardware"},
    }
    line = json.dumps(record, ensure_ascii=False)
    if out is not None:
        out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    typer.echo(line)


def command_line(context: typer.Context) -> str:
    """The command with the options that were given, but for those of its output."""
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in ("out", "quiet"):
            continue
        value = context.params[name]
        flags = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
        if isinstance(value, bool):
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [*flags, str(one)]
    return shlex.join(words)
