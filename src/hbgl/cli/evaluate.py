"""``hbgl evaluate``: scores of a model on labelled documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.cli.sources import check_model, check_side_file, checked_source, labelled_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hbgl.cli.progress import DocumentProgress
    from hbgl.metrics import Scores
    from hbgl.records import Record
    from hbgl.trained_model import TrainedModel

__all__ = ["EXAMPLE", "evaluate"]

EXAMPLE = "Example: hbgl evaluate my-model clinc150:test --json"

_TOKEN_BUDGET = 16384  # padded tokens of one forward pass


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Labelled documents: a file, - for standard input, or CORPUS:SPLIT such as "
            "clinc150:test.",
        ),
    ],
    weakest: Annotated[
        int, typer.Option("--weakest", min=0, help="Also show the N labels with the lowest F1.")
    ] = 0,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", min=0.0, max=1.0, help="One threshold for all labels."),
    ] = None,
    skip_bad: Annotated[
        Path | None,
        typer.Option("--skip-bad", metavar="FILE", help="Write bad records there and go on."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the scores.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Micro- and Macro-F1, overall, by level and (with --json) by label.

    A file without documents, or none of whose documents has labels, is refused.
    """
    source = checked_source(source)
    check_model(model)
    check_side_file(skip_bad, source)

    import numpy as np

    from hbgl.cli.progress import DocumentProgress
    from hbgl.metrics import score_table
    from hbgl.records import SkippedRecords
    from hbgl.trained_model import TrainedModel

    classifier = TrainedModel.load(model)
    if threshold is not None:
        classifier.thresholds = np.full_like(classifier.thresholds, threshold)
    with SkippedRecords(skip_bad) as skipped, DocumentProgress("scored", quiet=quiet) as progress:
        records = labelled_records(
            source, classifier.taxonomy, skipped=skipped if skip_bad else None
        )
        scores = _scores(classifier, records, progress)
    if skip_bad:
        typer.echo(str(skipped.summary), err=True)
    if as_json:
        typer.echo(json.dumps(scores.to_json(classifier.taxonomy.labels)))
        return
    for line in score_table(scores, classifier.taxonomy, weakest=weakest):
        typer.echo(line)


def _scores(
    classifier: TrainedModel, records: Iterable[Record], progress: DocumentProgress
) -> Scores:
    """As `TrainedModel.evaluate`, with progress."""
    import torch

    from hbgl.evaluation import count_labels

    corpus = classifier.prepare(records)
    done = 0

    def scored(documents: int) -> None:
        nonlocal done
        done += documents
        progress.counted(done, len(corpus))

    counts = count_labels(
        classifier.method,
        corpus,
        torch.from_numpy(classifier.thresholds),
        device=classifier.device,
        precision=classifier.settings.training.precision,
        token_budget=_TOKEN_BUDGET,
        on_batch=scored,
    )
    return counts.scores(classifier.taxonomy.levels)
