"""``hbgl export``: a model as graphs for another runtime."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.cli.engine_options import ExportEngine, default_export, exported_engine, model_state
from hbgl.cli.sources import check_model, checked_source
from hbgl.corpora.folder import BUNDLED
from hbgl.errors import RecordError, UsageError

if TYPE_CHECKING:
    from hbgl.engines import Agreement, ExportReport

__all__ = ["EXAMPLE", "export"]

EXAMPLE = "Example: hbgl export my-model --engine onnx --int8 --calibrate clinc150"


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    engine: Annotated[
        ExportEngine, typer.Option("--engine", help="onnx: ONNX Runtime; openvino: OpenVINO.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Default: MODEL-ENGINE beside MODEL."),
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Compute in 8 bits; needs --calibrate.")
    ] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(
            "--calibrate",
            metavar="CORPUS",
            help="The training corpus: a folder or a bundled corpus (its train split), or "
            "CORPUS:SPLIT, or a file. One half of the documents taken calibrates int8, the other "
            "is compared on.",
        ),
    ] = None,
    documents: Annotated[
        int, typer.Option("--documents", min=2, help="Take so many documents of it.")
    ] = 600,
    force: Annotated[bool, typer.Option("--force", help="Replace DIR if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Write a folder that predicts without torch's weights, verified against torch.

    The folder is a model of its own: hbgl predict DIR, hbgl evaluate DIR. In float its scores are
    those of torch, or it is not written; with --int8 the share of texts with the same labels is
    reported. hbgl predict MODEL --engine ENGINE takes the folder of the default name.
    """
    if int8 and calibrate is None:
        raise UsageError("--int8 needs --calibrate CORPUS, the corpus that the model learned from")
    check_model(model)
    known = exported_engine(model)
    if known is not None:
        raise UsageError(f"{model} is an export for {known} itself; export the model it came from")
    target = output or default_export(model, engine)
    _check_target(target, model, force=force)
    source = None if calibrate is None else checked_source(_training_split(calibrate))

    from hbgl.engines import require_export_packages
    from hbgl.exporting import export_model
    from hbgl.trained_model import TrainedModel

    require_export_packages(engine, int8=int8)
    texts = [] if source is None else _sample(source, documents)
    state = model_state(model)
    loaded = TrainedModel.load(model, device="cpu")
    report = export_model(loaded, target, engine, texts=texts, int8=int8, source=state)
    if as_json:
        typer.echo(json.dumps({"folder": str(target), **report.to_json()}))
        return
    for line in _lines(target, report):
        typer.echo(line)


def _check_target(target: Path, model: Path, *, force: bool) -> None:
    """Refuse what would lose a folder, before any work."""
    from hbgl.checkpoint import check_replaceable

    if target.resolve() == model.resolve():
        raise UsageError(f"{target} is the model itself; name another folder")
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]) and not force:
        raise UsageError(
            f"{target} exists already; name another folder, or replace it with --force"
        )
    check_replaceable(target)


def _training_split(corpus: str) -> str:
    """``clinc150`` or a corpus folder means its train split."""
    if Path(corpus).is_dir() or (not Path(corpus).exists() and corpus in BUNDLED):
        return f"{corpus}:train"
    return corpus


def _sample(source: str, count: int) -> list[str]:
    """Texts drawn evenly from a whole file, the same ones each time, in its order."""
    from hbgl.records import read_records

    draw = random.Random(0)
    kept: list[tuple[int, str]] = []
    for number, record in enumerate(read_records(source)):
        place = number if number < count else draw.randint(0, number)
        if number < count:
            kept.append((number, record.text))
        elif place < count:
            kept[place] = (number, record.text)
    if len(kept) < 2:
        raise RecordError(f"{source}: {len(kept)} documents; an export needs two or more of them")
    return [text for _, text in sorted(kept)]


def _lines(target: Path, report: ExportReport) -> Iterator[str]:
    yield f"{target}: {report.engine}, {'int8' if report.int8 else 'float'}"
    texts = "texts" if report.sample == "texts" else "texts of random tokens"
    yield f"beside torch on {report.agreement.documents} {texts}: {_agreement(report.agreement)}"
    if report.in_use is not None:
        yield f"in bfloat16, as it runs on this machine: {_agreement(report.in_use)}"


def _agreement(found: Agreement) -> str:
    return (
        f"same labels {100 * found.equal_label_sets:.1f}%, "
        f"largest difference of a score {found.largest_score_difference:.2g}, "
        f"mean difference of a probability {found.mean_probability_difference:.2g}"
    )
