"""What a measured process does: it prepares once, then repeats the same work when asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from hbgl.bench.spec import TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from hbgl.bench.workload import Workload

__all__ = ["Task", "open_task"]


class Task(Protocol):
    """Work that is repeated."""

    def prepare(self) -> dict[str, Any]:
        """Make ready; facts about what was prepared."""

    def run(self, documents: int) -> dict[str, Any]:
        """Do it once over so many documents: ``seconds`` and what was measured beside them."""


def open_task(spec: TaskSpec) -> Task:
    """The task that a description means, not yet prepared."""
    import torch

    if spec.threads is not None:
        torch.set_num_threads(spec.threads)
    if spec.kind == "matmul":
        return _Matmul()
    if spec.workload is None:
        raise ValueError(f"a task of kind {spec.kind} needs a workload")
    kinds: dict[str, Callable[[TaskSpec], Task]] = {
        "global-stage": _GlobalStage,
        "save": _Save,
        "export": _Export,
    }
    return kinds.get(spec.kind, _Speed)(spec)


class _Matmul:
    """The peak of matrix products."""

    def prepare(self) -> dict[str, Any]:
        import torch

        from hbgl.bench.machine import hardware
        from hbgl.bench.matmul import MatmulPeak

        self.peak = MatmulPeak()
        return {"hardware": hardware(), "threads": torch.get_num_threads()}

    def run(self, documents: int) -> dict[str, Any]:
        started = time.perf_counter()
        rates = self.peak.measure()
        return {"seconds": time.perf_counter() - started, "gflops": rates}


class _Speed:
    """One contender over the documents of a workload."""

    def __init__(self, spec: TaskSpec) -> None:
        self.spec = spec

    def prepare(self) -> dict[str, Any]:
        from hbgl.allocation import keep_freed_memory
        from hbgl.bench.flops import EncoderShape
        from hbgl.bench.registry import PEERS, prediction_contender, training_contender
        from hbgl.families import encoder_parts

        if self.spec.contender not in PEERS:
            keep_freed_memory()  # as the command line does
        work = self.workload = _opened(self.spec)
        self.documents = work.labelled()
        self.shape = EncoderShape.of(encoder_parts(work.backbone.model))
        self.contender: Any
        if self.spec.kind == "train":
            self.contender = training_contender(self.spec.contender, work, self.spec.batch_size)
        else:
            self.contender = prediction_contender(self.spec.contender, work)
        self.contender.prepare()
        return {
            "documents": len(self.documents),
            "workload": work.name,
            "labels": len(work.taxonomy),
            "levels": work.taxonomy.depth,
            "max_length": work.max_length,
            "backbone": work.backbone.name,
            "what": self.contender.what,
            "precision": self.contender.precision,
        }

    def run(self, documents: int) -> dict[str, Any]:
        import numpy as np

        from hbgl.bench.flops import all_layers_flops, needed_flops
        from hbgl.bench.registry import documents_of

        documents = documents_of(self.spec.kind, self.spec.contender, documents)
        part: Any = self.workload.texts[:documents]
        training = self.spec.kind == "train"
        if training:
            part = self.documents.subset(np.arange(documents))
        started = time.perf_counter()
        self.contender.run(part)
        seconds = time.perf_counter() - started
        lengths = self.documents.texts.lengths[:documents].tolist()
        taxonomy = self.workload.taxonomy
        return {
            "seconds": seconds,
            "documents": documents,
            "tokens": sum(lengths),
            "flops": needed_flops(
                self.shape,
                lengths,
                taxonomy.depth,
                len(taxonomy),
                method=self.contender.method,
                training=training,
            ),
            "flops_of_all_layers": all_layers_flops(self.shape, lengths, training=training),
        }


class _GlobalStage:
    """Steps of the global stage; ``documents`` are steps."""

    def __init__(self, spec: TaskSpec) -> None:
        self.spec = spec

    def prepare(self) -> dict[str, Any]:
        from hbgl.label_embeddings import initial_vectors

        self.workload = _opened(self.spec)
        self.vectors = initial_vectors(self.workload.taxonomy, self.workload.backbone)
        return {
            "labels": len(self.workload.taxonomy),
            "levels": self.workload.taxonomy.depth,
            "backbone": self.workload.backbone.name,
        }

    def run(self, documents: int) -> dict[str, Any]:
        """Seconds of a step in the mean; the first step, which makes what is made once, apart."""
        import dataclasses

        from hbgl.label_embeddings import train_label_vectors
        from hbgl.settings import GlobalStage

        clocks: list[float] = []
        _, report = train_label_vectors(
            self.workload.taxonomy,
            self.workload.backbone,
            dataclasses.replace(GlobalStage(), steps=documents + 1),
            self.vectors,
            seed=self.workload.spec.seed,
            precision=self.workload.spec.precision,
            progress=lambda *_: clocks.append(time.perf_counter()),
        )
        return {
            "seconds": (clocks[-1] - clocks[0]) / documents,
            "path": report.path,
            "masks_per_step": report.masks_per_step,
        }


class _Save:
    """Writes the workload's model as a folder."""

    def __init__(self, spec: TaskSpec) -> None:
        self.spec = spec

    def prepare(self) -> dict[str, Any]:
        from hbgl.bench.machine import hardware

        self.workload = _opened(self.spec)
        self.workload.model().save(self.spec.folder)
        return {
            "hardware": hardware(),
            "backbone": self.workload.backbone.name,
            "labels": len(self.workload.taxonomy),
            "levels": self.workload.taxonomy.depth,
            "workload": self.workload.name,
        }

    def run(self, documents: int) -> dict[str, Any]:
        return {"seconds": 0.0, "texts": self.workload.texts[:documents]}


class _Export:
    """Writes the workload's model as graphs of an engine."""

    def __init__(self, spec: TaskSpec) -> None:
        self.spec = spec

    def prepare(self) -> dict[str, Any]:
        from pathlib import Path

        from hbgl.bench.engine_prediction import export_engine

        export_engine(self.spec.contender, _opened(self.spec), Path(self.spec.folder))
        return {}

    def run(self, documents: int) -> dict[str, Any]:
        return {"seconds": 0.0}


def _opened(spec: TaskSpec) -> Workload:
    from hbgl.bench.workload import open_workload

    if spec.workload is None:
        raise ValueError(f"a task of kind {spec.kind} needs a workload")
    return open_workload(spec.workload)
