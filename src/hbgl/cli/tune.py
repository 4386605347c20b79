"""``hbgl tune``: fit thresholds and calibration of a trained model anew, or set them by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hbgl.cli.decision_options import DecisionChoice, MostPaths, RawScores, RuleName, ThresholdText
from hbgl.cli.sources import check_model, checked_source, labelled_records
from hbgl.errors import UsageError
from hbgl.settings import CalibrationKind, DecisionSettings, Granularity, TuneFor

__all__ = ["EXAMPLE", "tune"]

EXAMPLE = "Example: hbgl tune my-model clinc150:dev --for macro_f1 -o my-tuned-model"


def tune(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="Labelled documents that training did not see: a file or CORPUS:SPLIT. Without "
            "it nothing is fitted, and what the options say is set.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="NEW", help="The new model folder."),
    ] = None,
    goal: Annotated[
        TuneFor | None, typer.Option("--for", help="The score that thresholds are tuned for.")
    ] = None,
    granularity: Annotated[
        Granularity | None,
        typer.Option("--granularity", help="Thresholds per level, per label, or what dev favours."),
    ] = None,
    calibration: Annotated[
        CalibrationKind | None,
        typer.Option("--calibration", help="Map from scores to probabilities, per level."),
    ] = None,
    rule: RuleName = None,
    threshold: ThresholdText = None,
    most_paths: MostPaths = None,
    raw: RawScores = False,
) -> None:
    """Decide otherwise from now on: fitted on FILE, or set by hand; the weights stay.

    With FILE, thresholds and calibration are fitted on it (--for, --granularity, --calibration).
    Without, --rule, --threshold, --most-paths and --raw are written into the new folder.
    """
    if output is None:
        raise UsageError("-o is missing: name the folder for the tuned model")
    fitted = (goal, granularity, calibration)
    if source is None and any(one is not None for one in fitted):
        raise UsageError("--for, --granularity and --calibration need documents to fit on: FILE")
    if source is not None and (threshold is not None or raw):
        raise UsageError("--threshold and --raw are set by hand, without FILE; choose one way")
    choice = DecisionChoice.of(rule, threshold, most_paths, raw=raw)
    if source is None and choice == DecisionChoice():
        raise UsageError("nothing to change: give FILE to fit on, or --rule, --threshold, ...")
    source = None if source is None else checked_source(source)
    check_model(model)
    _check_place(output)

    from hbgl.trained_model import TrainedModel

    classifier = TrainedModel.load(model)
    if source is None:
        classifier.decided_by(choice.apply(classifier)).save(output)
        typer.echo(f"{output}: as set; see it with: hbgl inspect {output}")
        return
    before = classifier.settings.decision
    classifier.tune(
        labelled_records(source, classifier.taxonomy, skipped=None),
        DecisionSettings(
            rule or before.rule,
            goal or before.tune,
            granularity or before.granularity,
            calibration or before.calibration,
            before.most_paths if most_paths is None else most_paths or None,
        ),
    )
    report = classifier.metrics["tuning"]
    classifier.save(output)
    typer.echo(f"{output}: tuned on {report['documents']:,} documents of {source}")
    for key, name in (("micro_f1", "Micro-F1"), ("macro_f1", "Macro-F1")):
        if key in report["before"]:
            was, now = 100 * report["before"][key], 100 * report["after"][key]
            typer.echo(f"  {name} there: {was:.2f} with 0.5 everywhere, {now:.2f} as tuned")


def _check_place(output: Path) -> None:
    from hbgl.checkpoint import check_replaceable
    from hbgl.cli.train_checks import check_writable

    check_replaceable(output)
    check_writable(output)
    if output.is_dir() and any(output.iterdir()):
        raise UsageError(f"{output} exists already; name another folder")
