"""One run, or one point of a grid: train, answer dev and test, write the folder.

Nothing is chosen on test. The checkpoint is the best one on dev, thresholds and calibration are
fitted on dev, and of a grid that point is taken whose checkpoint scores best on dev by the paper's
decision. A point's checkpoints stay until the choice: the run with the grid's own seed goes on from
them, which costs it no second training.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hbgl.backbones import Backbone, load_backbone
from hbgl.checkpoint import json_bytes, write_folder
from hbgl.corpora import CorpusFolder, open_corpus
from hbgl.experiments.answers import (
    Answers,
    gold_matrix,
    model_answers,
    write_predictions,
    yardstick_answers,
)
from hbgl.experiments.plan import OWN_KIND, Run
from hbgl.experiments.run_folder import GridFolder, RunFolder, begin
from hbgl.experiments.run_record import forget_peak, run_record
from hbgl.experiments.yardstick import yardsticks
from hbgl.settings import Settings
from hbgl.training_run import RunListener, train_classifier

__all__ = ["Loader", "execute_point", "execute_run"]

Loader = Callable[[str], Backbone]
Trained = tuple[Mapping[str, Mapping[str, Answers]], dict[str, Any]]
_SPLITS = ("dev", "test")


def execute_run(
    run: Run,
    output: Path,
    data: Mapping[str, str],
    *,
    command: str = "",
    listener: RunListener | None = None,
    load: Loader = load_backbone,
) -> None:
    """Make the folder of a run; one that was interrupted goes on from its checkpoint."""
    listener = listener or RunListener()
    forget_peak()
    corpus = open_corpus(run.source)
    folder = RunFolder(run, output)
    begin(folder.training, {**run.configuration(), "data": dict(data)})
    method = _own if run.kind == OWN_KIND else _yardstick
    answers, training = method(run, corpus, output, folder, listener, load)
    labels = corpus.taxonomy.labels
    counts = np.zeros(len(labels), dtype=np.int64)
    for record in corpus.records("train"):
        counts[corpus.taxonomy.ids(record.labels)] += 1
    record_of_run = run_record(run, data, answers, labels, counts, training, command)

    def writer(split: str) -> Callable[[Path], None]:
        records = list(corpus.records(split))
        return lambda file: write_predictions(file, records, labels, answers[split])

    write_folder(
        folder.path,
        {
            "run.json": json_bytes(record_of_run),
            **{f"{split}.predictions.jsonl.gz": writer(split) for split in _SPLITS},
        },
    )
    folder.forget_training()
    if run.grid and run.seed == run.grid_seed:
        GridFolder(run, output).forget_training()


def execute_point(
    run: Run,
    number: int,
    output: Path,
    data: Mapping[str, str],
    *,
    listener: RunListener | None = None,
    load: Loader = load_backbone,
) -> None:
    """Train one point of a run's grid and keep what it scores on dev; test is not read."""
    listener = listener or RunListener()
    grid = GridFolder(run, output)
    begin(grid.training(number), {**run.configuration(), "data": dict(data)})
    point = run.grid[number]
    listener.said(f"grid point {number + 1} of {len(run.grid)}: {_words(point)}")
    settings = run.point_settings(point, run.grid_seed)
    model = train_classifier(
        open_corpus(run.source),
        settings,
        run_folder=grid.training(number),
        resume=True,
        listener=listener,
        load=load,
    )
    grid.finish(number, model.metrics["dev"], model.metrics["seconds"], data)


def _own(
    run: Run,
    corpus: CorpusFolder,
    output: Path,
    folder: RunFolder,
    listener: RunListener,
    load: Loader,
) -> Trained:
    settings, training_folder, chosen = _settings(run, output, folder)
    model = train_classifier(
        corpus, settings, run_folder=training_folder, resume=True, listener=listener, load=load
    )
    listener.said("answering dev and test")
    answers = {split: model_answers(model, list(corpus.records(split))) for split in _SPLITS}
    training = {
        **model.metrics,
        "decision": model.decision.to_json(model.taxonomy),
        "trained_settings": settings.to_json(),
        **({"grid": chosen} if chosen else {}),
    }
    return answers, training


def _settings(
    run: Run, output: Path, folder: RunFolder
) -> tuple[Settings, Path, dict[str, Any] | None]:
    """The settings to train with, where to keep checkpoints, and how the grid chose."""
    if not run.grid:
        return run.point_settings({}, run.seed), folder.training, None
    grid = GridFolder(run, output)
    chosen = grid.choose()
    point = run.grid[chosen["chosen"]]
    # The point was trained with the grid's seed: the run of that seed is finished already.
    is_trained = run.seed == run.grid_seed and grid.training(chosen["chosen"]).exists()
    place = grid.training(chosen["chosen"]) if is_trained else folder.training
    return run.point_settings(point, run.seed), place, chosen


def _yardstick(
    run: Run,
    corpus: CorpusFolder,
    output: Path,
    folder: RunFolder,
    listener: RunListener,
    load: Loader,
) -> Trained:
    started = time.perf_counter()
    fitted = yardsticks().fit_yardstick(
        run.kind, corpus, seed=run.seed, options=dict(run.options), said=listener.said
    )
    seconds = round(time.perf_counter() - started, 1)
    listener.said("answering dev and test")
    answers = {
        split: yardstick_answers(fitted, list(corpus.records(split)), corpus.taxonomy, run.kind)
        for split in _SPLITS
    }
    return answers, {
        "documents": int(gold_matrix(list(corpus.records("train")), corpus.taxonomy).shape[0]),
        "report": fitted.report,
        "seconds": seconds,
    }


def _words(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in point.items())
