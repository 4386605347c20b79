"""``hbgl predict``: labels for new texts, from a file or standard input."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from hbgl.errors import UsageError

if TYPE_CHECKING:
    from hbgl.prediction_output import PredictionStream, PredictionWriter
    from hbgl.records import Record, SkippedRecords

__all__ = ["EXAMPLE", "predict"]

EXAMPLE = 'Example: echo "how do i freeze my account" | hbgl predict my-model -'

_InputFormat = Literal["text", "jsonl", "csv", "tsv", "parquet"]
_StreamFormat = Literal["jsonl", "csv", "tsv"]
_NOTE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class _Input:
    """Where texts come from and how they are read."""

    source: str
    format: _InputFormat | None
    text_column: str
    id_column: str


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="Texts: .jsonl, .csv, .tsv, .parquet (also .gz, .zst) or .txt with one text per "
            "line; - for standard input, JSONL or plain lines.",
        ),
    ] = "-",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="JSONL, CSV, TSV or Parquet; default: stdout."
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", min=1, help="Also give the K likeliest labels of each level."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", min=0.0, max=1.0, help="One threshold for all labels."),
    ] = None,
    all_probabilities: Annotated[
        bool, typer.Option("--all-probabilities", help="Give the probability of every label.")
    ] = False,
    input_format: Annotated[
        _InputFormat | None, typer.Option("--format", help="Of the input; default: by its name.")
    ] = None,
    stream_format: Annotated[
        _StreamFormat, typer.Option("--to", help="Format on standard output.")
    ] = "jsonl",
    text_column: Annotated[
        str, typer.Option("--text-column", help="Name of the field with the text.")
    ] = "text",
    id_column: Annotated[
        str, typer.Option("--id-column", help="Name of the field with the id.")
    ] = "id",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run of the same command.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew over an interrupted run's output.")
    ] = False,
    skip_bad: Annotated[
        Path | None,
        typer.Option("--skip-bad", metavar="FILE", help="Write bad records there and go on."),
    ] = None,
) -> None:
    """Predict labels, as whole paths with probabilities, in the order of the input.

    Files of any size stream in constant memory.
    """
    from hbgl.classifier import HBGLClassifier
    from hbgl.prediction import predict_records
    from hbgl.prediction_output import PredictionRun, PredictionStream, PredictionWriter
    from hbgl.records import SkippedRecords

    if resume and output is None:
        raise UsageError("--resume needs --output: standard output cannot be read back")
    inputs = _Input(source, input_format, text_column, id_column)
    classifier = HBGLClassifier.load(model)
    writer: PredictionStream | PredictionWriter
    if output is None:
        writer = PredictionStream(sys.stdout.buffer, stream_format)
    else:
        options: dict[str, Any] = {
            "top_k": top_k,
            "threshold": threshold,
            "everything": all_probabilities,
        }
        options |= {"everything": all_probabilities, "format": input_format}
        options["columns"] = [text_column, id_column]
        run = PredictionRun.of(model, source, {**options, "skip": skip_bad is not None})
        if resume:
            writer = PredictionWriter.resume(output, run)
        else:
            writer = PredictionWriter.create(output, run, overwrite=force)
    with writer, SkippedRecords(skip_bad) as skipped:
        records = _records(inputs, skipped if skip_bad else None)
        # A stream of lines is answered line by line, so that a person or a pipe need not wait.
        window = 1 if output is None and source == "-" else 2048
        answers = predict_records(
            classifier,
            islice(records, writer.written, None),
            threshold=threshold,
            top_k=top_k,
            everything=all_probabilities,
            window=window,
        )
        noted, before, started = time.monotonic(), writer.written, time.monotonic()
        for found in answers:
            writer.write(found)
            if output is not None and time.monotonic() - noted > _NOTE_SECONDS:
                noted = time.monotonic()
                rate = (writer.written - before) / (noted - started)
                typer.echo(f"{writer.written:,} texts, {rate:.1f} a second", err=True)
    if skip_bad:
        typer.echo(str(skipped.summary), err=True)
    if output is not None:
        typer.echo(f"{output}: {writer.written:,} texts", err=True)


def _records(inputs: _Input, skipped: SkippedRecords | None) -> Iterator[Record]:
    """The texts to predict, as a stream."""
    from hbgl.prediction import text_records
    from hbgl.records import Columns, read_records

    kind = inputs.format or _guessed_format(inputs.source)
    if kind == "text":
        if inputs.source == "-":
            yield from text_records(sys.stdin.buffer)
            return
        try:
            with Path(inputs.source).open("rb") as stream:
                yield from text_records(stream)
        except OSError as fault:
            raise UsageError(f"{inputs.source} cannot be read: {fault.strerror}") from fault
        return
    yield from read_records(
        inputs.source,
        format=kind,
        columns=Columns(text=inputs.text_column, labels=None, id=inputs.id_column),
        on_error="fail" if skipped is None else "skip",
        skipped=skipped,
    )


def _guessed_format(source: str) -> _InputFormat | None:
    """Plain lines for .txt, and for a standard input that does not begin like JSON or Parquet."""
    if source != "-":
        return "text" if source.endswith(".txt") else None
    head = cast(BufferedReader, sys.stdin.buffer).peek(4)
    packed = head.startswith((b"{", b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))
    return None if packed else "text"
