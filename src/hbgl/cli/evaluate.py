"""``hbgl evaluate``: scores of a model on labelled documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EXAMPLE", "evaluate"]

EXAMPLE = "Example: hbgl evaluate my-model clinc150/test.jsonl.gz --json"


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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Micro- and Macro-F1, overall, by level and (with --json) by label."""
    import numpy as np

    from hbgl.classifier import HBGLClassifier
    from hbgl.cli.sources import labelled_records
    from hbgl.metrics import score_table
    from hbgl.records import SkippedRecords

    classifier = HBGLClassifier.load(model)
    if threshold is not None:
        classifier.thresholds = np.full_like(classifier.thresholds, threshold)
    with SkippedRecords(skip_bad) as skipped:
        records = labelled_records(
            source, classifier.taxonomy, skipped=skipped if skip_bad else None
        )
        scores = classifier.evaluate(records)
    if skip_bad:
        typer.echo(str(skipped.summary), err=True)
    if as_json:
        typer.echo(json.dumps(scores.to_json(classifier.taxonomy.labels)))
        return
    for line in score_table(scores, classifier.taxonomy, weakest=weakest):
        typer.echo(line)
