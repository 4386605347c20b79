"""Answers to a whole split: which labels, with which scores, in how many seconds; kept by name."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from hbgl.decisions import Decision
from hbgl.errors import ModelFolderError, UsageError
from hbgl.evaluation import label_matrix, predict_batches
from hbgl.experiments.yardstick import FittedYardstick
from hbgl.metrics import Evaluation, Evaluator
from hbgl.records import Record
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel

__all__ = [
    "DECISIONS",
    "Answers",
    "gold_matrix",
    "model_answers",
    "read_predictions",
    "write_predictions",
    "yardstick_answers",
]

DECISIONS = {
    "tuned": "as the method decides: rule, thresholds and calibration fitted on dev",
    "paper": "the paper's decision: each level on its own, over 0.5",
}
"""How scores become labels. A yardstick has its own way only, which stands under ``tuned``."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a method answers by one decision."""

    chosen: csr_matrix
    """[documents, L] boolean"""
    evaluation: Evaluation
    seconds: float
    """from texts to labels, without the scoring"""


def gold_matrix(records: Sequence[Record], taxonomy: Taxonomy) -> csr_matrix:
    """[documents, L] boolean."""
    return label_matrix([taxonomy.ids(one.labels) for one in records], len(taxonomy))


def model_answers(model: TrainedModel, records: Sequence[Record]) -> dict[str, Answers]:
    """The answers of a trained model by every decision."""
    paper = Decision.of_paper(len(model.taxonomy))
    found = {"tuned": _decided(model, records, model.decision)}
    is_same = model.decision.to_json(model.taxonomy) == paper.to_json(model.taxonomy)
    if is_same and not model.decision.calibration.levels:
        return {**found, "paper": found["tuned"]}
    return {**found, "paper": _decided(model, records, paper)}


def _decided(model: TrainedModel, records: Sequence[Record], decision: Decision) -> Answers:
    evaluator = Evaluator(model.taxonomy)
    model.method.eval()
    begun = time.perf_counter()
    corpus = model.prepare(records)
    seconds = time.perf_counter() - begun
    chosen = [np.zeros(0, dtype=np.int64)] * len(records)
    batches = predict_batches(
        model.method,
        corpus.texts,
        model.decider(decision),
        precision=model.settings.training.precision,
    )
    while True:
        begun = time.perf_counter()
        batch = next(batches, None)
        seconds += time.perf_counter() - begun
        if batch is None:
            break
        indices, decoded = batch
        picked = decoded.chosen.numpy()
        evaluator.update(corpus.gold[indices], picked, decoded.probabilities.numpy())
        for index, row in zip(indices, picked, strict=True):
            chosen[index] = np.flatnonzero(row)
    return Answers(label_matrix(chosen, len(model.taxonomy)), evaluator.result(), seconds)


def yardstick_answers(
    fitted: FittedYardstick, records: Sequence[Record], taxonomy: Taxonomy, name: str
) -> dict[str, Answers]:
    """The answers of a yardstick."""
    texts = [record.text for record in records]
    begun = time.perf_counter()
    chosen = csr_matrix(fitted.choose(texts))
    seconds = time.perf_counter() - begun
    if chosen.shape != (len(texts), len(taxonomy)):
        raise UsageError(
            f"{name} answered with a matrix {chosen.shape}, not {(len(texts), len(taxonomy))}"
        )
    evaluator = Evaluator(taxonomy)
    evaluator.update(gold_matrix(records, taxonomy), chosen, fitted.probabilities(texts))
    return {"tuned": Answers(chosen.astype(bool), evaluator.result(), seconds)}


def write_predictions(
    path: Path,
    records: Sequence[Record],
    labels: Sequence[str],
    answers: Mapping[str, Answers],
) -> None:
    """A line for each document: id, index, and by label names what is gold and what was chosen."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for index, record in enumerate(records):
            line: dict[str, Any] = {
                "id": record.id,
                "index": index,
                "gold": list(record.labels),
                "predicted": _names(answers["tuned"].chosen, index, labels),
            }
            if "paper" in answers:
                line["predicted_paper"] = _names(answers["paper"].chosen, index, labels)
            file.write(json.dumps(line, ensure_ascii=True).encode() + b"\n")


def read_predictions(path: Path, labels: Sequence[str]) -> dict[str, csr_matrix]:
    """``gold``, ``tuned`` and, where it is there, ``paper``: [documents, L] boolean each."""
    number = {label: i for i, label in enumerate(labels)}
    keys = {"gold": "gold", "predicted": "tuned", "predicted_paper": "paper"}
    found: dict[str, list[np.ndarray]] = {}
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for text in file:
                line = json.loads(text)
                for key, name in keys.items():
                    if key in line:
                        ids = sorted(number[label] for label in line[key])
                        found.setdefault(name, []).append(np.array(ids, dtype=np.int64))
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise ModelFolderError(
            f"{path} cannot be read ({error!r}); move the folder away and run it again"
        ) from error
    return {name: label_matrix(ids, len(labels)) for name, ids in found.items()}


def _names(chosen: csr_matrix, row: int, labels: Sequence[str]) -> list[str]:
    ids = chosen.indices[chosen.indptr[row] : chosen.indptr[row + 1]]
    return [labels[i] for i in sorted(ids.tolist())]
