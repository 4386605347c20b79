"""From a corpus folder, or records, to a trained classifier: data, global stage, local stage.

Reads top-down: :func:`train_classifier` opens the folder, :func:`train_records` is the whole run.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from hbgl.backbones import Backbone, load_backbone
from hbgl.checkpoint import TrainingFolder
from hbgl.corpora import CorpusFolder
from hbgl.errors import CorpusError, UsageError
from hbgl.evaluation import LabelledTexts
from hbgl.label_embeddings import (
    initial_vectors,
    train_graph_attention,
    train_label_vectors,
)
from hbgl.methods import LABEL_VECTOR_METHODS, build_method
from hbgl.methods.seq2seq import Seq2Seq
from hbgl.records import Record
from hbgl.settings import Settings
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel, prepare_records
from hbgl.training import Listener, TrainingResult, fit, start_accelerator
from hbgl.tuning import TuningReport, tune_decision

__all__ = ["RunListener", "checkpoint_folder", "train_classifier", "train_records"]


class RunListener(Listener):
    """Hears of a whole run: what is read and the global stage, then training."""

    def said(self, message: str) -> None:
        """One line about what happens now."""

    def global_step(self, step: int, total: int, loss: float) -> None:
        """After each step of the global stage."""


def checkpoint_folder(model: Path) -> Path:
    """Where a run that will end as ``model`` keeps its checkpoints: beside it."""
    return model.with_name(model.name + ".training")


def train_classifier(
    corpus: CorpusFolder,
    settings: Settings,
    *,
    run_folder: Path | None = None,
    resume: bool = False,
    listener: RunListener | None = None,
    load: Callable[[str], Backbone] = load_backbone,
) -> TrainedModel:
    """Train on ``train``, choose the checkpoint on ``dev``; ``test`` is not touched.

    :param run_folder: where checkpoints go; None: nothing is written.
    :param resume: go on from the checkpoints of ``run_folder``.
    """
    if "train" not in corpus.splits:
        raise CorpusError(f"{corpus.path} has no train split; add train.jsonl to train on it")
    described = settings.model.description_weight > 0
    model = train_records(
        {split: corpus.records(split) for split in ("train", "dev") if split in corpus.splits},
        corpus.taxonomy,
        settings,
        descriptions=corpus.descriptions() if described else None,
        run_folder=run_folder,
        resume=resume,
        listener=listener,
        load=load,
    )
    model.metrics["corpus"] = corpus.path.name
    return model


def train_records(
    records: Mapping[str, Iterable[Record]],
    taxonomy: Taxonomy,
    settings: Settings,
    *,
    descriptions: Mapping[str, str] | None = None,
    run_folder: Path | None = None,
    resume: bool = False,
    listener: RunListener | None = None,
    load: Callable[[str], Backbone] = load_backbone,
) -> TrainedModel:
    """The same from records: those of ``train`` and, where there are any, of ``dev``.

    :param descriptions: label -> a sentence, for a description weight above 0.
    """
    if settings.model.description_weight > 0 and descriptions is None:
        raise UsageError(
            "a description weight needs descriptions; train from a corpus folder with "
            "descriptions.json, or leave the weight at 0"
        )
    listener = listener or RunListener()
    started = time.perf_counter()
    accelerator = start_accelerator()
    torch.manual_seed(settings.training.seed)
    backbone = load(settings.backbone)
    listener.said(f"backbone {backbone.name} from {backbone.source}")
    heads = {settings.model.head, settings.global_stage.head}
    if "transform" in heads and backbone.transform is None:
        listener.said(f"{backbone.name} has no masked-LM transform: the head goes without")
    method = build_method(backbone, taxonomy, settings.model, None)
    # Before the global stage: a fault in the last line of dev must not cost its minutes.
    splits: dict[str, LabelledTexts] = {
        split: prepare_records(records[split], taxonomy, backbone, method.max_length)
        for split in ("train", "dev")
        if split in records
    }
    train, dev = splits["train"], splits.get("dev")
    listener.said(
        f"{len(train):,} training documents, {0 if dev is None else len(dev):,} dev documents, "
        f"{len(taxonomy):,} labels on {taxonomy.depth} levels"
    )
    if isinstance(method, Seq2Seq):
        longer = int((np.diff(train.gold.indptr) > method.most_labels).sum())
        if longer:
            listener.said(
                f"{longer:,} training documents have more than {method.most_labels} labels; those "
                "beyond are not learned (--most-generated)"
            )
    folder = None if run_folder is None else TrainingFolder(run_folder)
    going_on = resume and folder is not None and folder.exists()
    # What the global stage made is in the checkpoint; only a fresh run computes it, and only its
    # first process, from which the others are given their weights.
    global_losses: list[float] = []
    fresh = len(train) > 0 and not going_on and accelerator.is_main_process
    if isinstance(method, LABEL_VECTOR_METHODS) and fresh:
        vectors, global_losses = _label_vectors(
            taxonomy, backbone, settings, descriptions, listener, accelerator.device
        )
        with torch.no_grad():
            method.label_vectors.copy_(vectors)
    prepared = time.perf_counter() - started
    result = fit(
        method,
        train,
        dev,
        settings.training,
        folder=folder,
        fingerprint=_fingerprint(settings, taxonomy, splits, descriptions),
        resume=resume,
        global_losses=global_losses,
        listener=listener,
        accelerator=accelerator,
    )
    decision, tuning = tune_decision(
        method,
        dev,
        settings.decision,
        device=accelerator.device,
        precision=settings.training.precision,
        token_budget=settings.training.token_budget,
        seed=settings.training.seed,
    )
    if tuning.documents:
        listener.said(_tuned(tuning))
    return TrainedModel(
        taxonomy,
        settings,
        backbone,
        method,
        decision,
        {
            "documents": len(train),
            "label_documents": np.bincount(train.gold.indices, minlength=len(taxonomy)).tolist(),
            # A resumed run counts the steps of the runs before it, too.
            "seconds": round(prepared + result.seconds, 1),
            "processes": accelerator.num_processes,
            "global_losses": result.global_losses,
            "tuning": asdict(tuning),
            **_curves(result),
        },
        accelerator.device,
    )


def _label_vectors(
    taxonomy: Taxonomy,
    backbone: Backbone,
    settings: Settings,
    descriptions: Mapping[str, str] | None,
    listener: RunListener,
    device: torch.device,
) -> tuple[torch.Tensor, list[float]]:
    """The label vectors that the local stage starts from."""
    kind, seed = settings.model.label_vectors, settings.training.seed
    start: Literal["random", "name"] = "random" if kind == "random" else "name"
    vectors = initial_vectors(
        taxonomy,
        backbone,
        start,
        settings.model.name_vector,
        seed,
        descriptions=descriptions,
        description_weight=settings.model.description_weight,
        parent_weight=settings.model.parent_weight,
    )
    if kind not in ("global", "gat") or settings.global_stage.steps == 0:
        return vectors, []
    total = settings.global_stage.steps
    listener.said(f"global stage: {total} steps over {len(taxonomy):,} labels")

    def heard(step: int, loss: float) -> None:
        listener.global_step(step, total, loss)

    train = train_label_vectors if kind == "global" else train_graph_attention
    vectors, report = train(
        taxonomy,
        backbone,
        settings.global_stage,
        vectors,
        seed=seed,
        device=device,
        precision=settings.training.precision,
        progress=heard,
    )
    every = max(1, len(report.losses) // 100)
    return vectors, [round(loss, 5) for loss in report.losses[::every]]


def _fingerprint(
    settings: Settings,
    taxonomy: Taxonomy,
    splits: dict[str, LabelledTexts],
    descriptions: Mapping[str, str] | None,
) -> dict[str, Any]:
    """What must be the same for a checkpoint to be continued."""
    data = hashlib.sha256("\n".join(taxonomy.labels).encode("utf-8", "surrogatepass"))
    data.update(np.ascontiguousarray(taxonomy.edges).tobytes())
    for corpus in splits.values():
        for array in (
            corpus.texts.ids,
            corpus.texts.offsets,
            corpus.gold.indices,
            corpus.gold.indptr,
        ):
            data.update(np.ascontiguousarray(array).tobytes())
    for label, sentence in sorted((descriptions or {}).items()):
        data.update(f"{label}\0{sentence}\0".encode())
    return {**settings.to_json(), "data": data.hexdigest()}


def _tuned(report: TuningReport) -> str:
    """One line on what tuning gained on dev."""
    gained = (
        f"{name} {100 * report.before[key]:.2f} -> {100 * report.after[key]:.2f}"
        for key, name in (("micro_f1", "Micro-F1"), ("macro_f1", "Macro-F1"))
    )
    return f"calibration and thresholds tuned on dev: {', '.join(gained)}"


def _curves(result: TrainingResult) -> dict[str, Any]:
    best = [one for one in result.evaluations if one["step"] == result.best_step]
    return {
        "dev": best[0] if best else None,
        "training": {
            key: value
            for key, value in asdict(result).items()
            if key not in ("stale", "window", "global_losses")
        },
    }
