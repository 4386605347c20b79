"""``hbgl predict``: labels for new texts, from a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hbgl.cli.decision_options import (
    DecisionChoice,
    MostPaths,
    RawScores,
    RuleName,
    ThresholdText,
)
from hbgl.cli.engine_options import EngineChoice, model_of_engine
from hbgl.cli.interruption import interruptible
from hbgl.cli.sources import check_model, check_side_file, checked_source
from hbgl.cli.text_sources import InputFormat, TextSource
from hbgl.errors import UsageError
from hbgl.records import SkippedRecords
from hbgl.records.sources import format_of

if TYPE_CHECKING:
    from hbgl.prediction_output import Prediction
    from hbgl.trained_model import TrainedModel

__all__ = ["EXAMPLE", "predict"]

EXAMPLE = 'Example: echo "how do i freeze my account" | hbgl predict my-model -'

_StreamFormat = Literal["jsonl", "csv", "tsv"]
_WINDOW = 2048
_MOST_PROBABILITIES = 2_000_000  # of a window's answers, as Python objects


@dataclass(frozen=True, slots=True)
class _Answers:
    """What is asked of the model."""

    decision: DecisionChoice
    top_k: int | None
    everything: bool


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="Texts: .jsonl, .csv, .tsv, .parquet (also .gz, .zst), .txt with one text per "
            "line, or CORPUS:SPLIT; - for standard input, JSONL or plain lines.",
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
    rule: RuleName = None,
    threshold: ThresholdText = None,
    most_paths: MostPaths = None,
    raw: RawScores = False,
    engine: EngineChoice = None,
    all_probabilities: Annotated[
        bool, typer.Option("--all-probabilities", help="Give the probability of every label.")
    ] = False,
    input_format: Annotated[
        InputFormat | None, typer.Option("--format", help="Of the input; default: by its name.")
    ] = None,
    stream_format: Annotated[
        _StreamFormat | None,
        typer.Option("--to", help="Format on standard output; default: jsonl."),
    ] = None,
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
        bool, typer.Option("--force", help="Replace OUT, or what an interrupted run left of it.")
    ] = False,
    skip_bad: Annotated[
        Path | None,
        typer.Option("--skip-bad", metavar="FILE", help="Write bad records there and go on."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Predict labels, as whole paths with probabilities, in the order of the input.

    Files of any size stream in constant memory. A blank line holds no text and gets no answer
    (each answer names its line); a JSON, CSV or Parquet record whose text is empty is a bad one.
    """
    decision = DecisionChoice.of(rule, threshold, most_paths, raw=raw)
    chosen = _Answers(decision, top_k, all_probabilities)
    _check_options(chosen, output, stream_format, resume=resume, force=force)
    texts = TextSource(checked_source(source), input_format, text_column, id_column)
    texts.check()
    check_model(model)
    model = model_of_engine(model, engine)
    check_side_file(skip_bad, texts.file, output)
    if output is not None:
        _check_output(output, texts.file, resume=resume, force=force)
    elif source == "-" and not quiet and sys.stdin.isatty():
        typer.echo("one text per line, Ctrl-D ends", err=True)
    with interruptible(lambda: _advice(output, texts.file)), SkippedRecords(skip_bad) as skipped:
        job = _Job(model, texts, chosen, skipped if skip_bad else None)
        if output is None:
            answered = job.stream(stream_format or "jsonl")
            if not answered and not quiet:
                typer.echo(f"hbgl: no text in {texts.name}, so there is no answer", err=True)
        else:
            job.write(output, resume=resume, force=force, quiet=quiet)
    if skip_bad and not quiet:
        typer.echo(str(skipped.summary), err=True)


def _check_options(
    chosen: _Answers,
    output: Path | None,
    stream_format: str | None,
    *,
    resume: bool,
    force: bool,
) -> None:
    """No option is accepted and then ignored."""
    if chosen.top_k is not None and chosen.everything:
        raise UsageError("--top-k is a part of --all-probabilities; choose one of them")
    if resume and force:
        raise UsageError("--resume and --force contradict each other; choose one of them")
    if output is None and resume:
        raise UsageError("--resume needs --output: standard output cannot be read back")
    if output is None and force:
        raise UsageError("--force needs --output: there is nothing to replace")
    if output is not None and stream_format is not None:
        raise UsageError(f"--to is for standard output; the format of {output} is that of its name")


def _check_output(output: Path, source: str, *, resume: bool, force: bool) -> None:
    """Refuse what would lose a file, before the model is loaded."""
    format_of(output)
    if source != "-" and output.resolve() == Path(source).resolve():
        raise UsageError(f"{output} is the input; name another output")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"{output.parent} is no folder; make it, or name another output")
    if output.is_file() and not resume and not force:
        raise UsageError(f"{output} exists already; name another file, or replace it with --force")


def _advice(output: Path | None, source: str) -> str:
    """What an interrupted run left, and how to go on."""
    if output is None:
        return ""
    part = _unfinished(output)[0]
    if not part.exists():
        return f"nothing of {output} was written yet"
    if source == "-":
        return f"what was predicted is in {part}; standard input cannot be read again"
    return f"what was predicted is in {part}; to go on repeat the command with --resume"


def _unfinished(output: Path) -> tuple[Path, Path]:
    """The two files beside an unfinished output."""
    part = output.with_name(output.name + ".part")
    return part, part.with_name(part.name + ".json")


@dataclass(frozen=True, slots=True)
class _Job:
    """A model, texts, and what is asked of them."""

    model: Path
    texts: TextSource
    chosen: _Answers
    skipped: SkippedRecords | None

    def stream(self, stream_format: _StreamFormat) -> int:
        """Answer on standard output; how many answers there were."""
        from hbgl.prediction_output import PredictionStream

        classifier = self._load()
        # A person or a program that waits for each answer gets it; a file is read in windows.
        window = 1 if self.texts.waits() else self._window(classifier)
        writer = PredictionStream(sys.stdout.buffer, stream_format)
        for found in self._answers(classifier, window):
            writer.write(found)
        return writer.written

    def write(self, output: Path, *, resume: bool, force: bool, quiet: bool) -> None:
        """Answer in a file that appears when it is complete."""
        from hbgl.cli.progress import DocumentProgress
        from hbgl.prediction_output import PredictionRun, PredictionWriter

        run = PredictionRun.of(self.model, self.texts.file, self._options())
        classifier = self._load()
        if resume:
            writer = PredictionWriter.resume(output, run)
        else:
            writer = PredictionWriter.create(output, run, overwrite=force)
        try:
            with writer, DocumentProgress("predicted", quiet=quiet) as progress:
                before = writer.written
                for found in self._answers(classifier, self._window(classifier), before):
                    writer.write(found)
                    progress.counted(writer.written, before=before)
        except BaseException:
            if not writer.written:  # nothing to resume: the corrected command begins anew
                for file in _unfinished(output):
                    file.unlink(missing_ok=True)
            raise
        if not quiet:
            typer.echo(f"{output}: {writer.written:,} texts", err=True)

    def _load(self) -> TrainedModel:
        from hbgl.trained_model import TrainedModel

        return TrainedModel.load(self.model)

    def _answers(
        self, classifier: TrainedModel, window: int, written: int = 0
    ) -> Iterator[Prediction]:
        """The answers after the first ``written``.

        Windows begin where those of an uninterrupted run do: which texts share a batch decides
        the last bits of a probability.
        """
        from hbgl.prediction import predict_records

        again = written % window
        found = predict_records(
            classifier,
            islice(self.texts.records(self.skipped), written - again, None),
            decision=self.chosen.decision.apply(classifier),
            top_k=self.chosen.top_k,
            everything=self.chosen.everything,
            window=window,
        )
        return islice(found, again, None)

    def _window(self, classifier: TrainedModel) -> int:
        """Texts in memory at a time: fewer where each answer holds all labels."""
        if not self.chosen.everything:
            return _WINDOW
        return min(_WINDOW, max(16, _MOST_PROBABILITIES // len(classifier.taxonomy)))

    def _options(self) -> dict[str, Any]:
        """What a resumed run must have in common."""
        return {
            "top_k": self.chosen.top_k,
            "decision": self.chosen.decision.to_json(),
            "everything": self.chosen.everything,
            "format": self.texts.format,
            "columns": [self.texts.text_column, self.texts.id_column],
            "skip": self.skipped is not None,
        }
