"""Prediction by an engine of ``hbgl.engines``: ``onnx``, ``openvino``, or either with ``-int8``.

The model is exported in a process of its own, so that the memory of exporting is not counted.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import torch

from hbgl.bench.predicting import precision_name
from hbgl.bench.processes import started
from hbgl.bench.spec import TaskSpec
from hbgl.bench.workload import Workload
from hbgl.decoding import Prediction
from hbgl.engines import EngineName, require_export_packages
from hbgl.errors import UsageError
from hbgl.exporting import export_model
from hbgl.trained_model import TrainedModel

__all__ = ["EnginePrediction", "export_engine", "parse_engine"]

_INT8 = "-int8"
_SAMPLE = 128  # documents to calibrate and compare on


def parse_engine(name: str) -> tuple[EngineName, bool]:
    """``onnx-int8`` -> ``onnx`` and True.

    :raises UsageError: for a name that is no engine's.
    """
    engine = name.removesuffix(_INT8)
    known: tuple[EngineName, ...] = get_args(EngineName)
    for one in known:
        if one == engine:
            return one, name.endswith(_INT8)
    names = ", ".join(f"{one}, {one}{_INT8}" for one in known)
    raise UsageError(f"no contender or engine {name!r}; engines are: {names}")


def export_engine(name: str, workload: Workload, folder: Path) -> None:
    """Write the workload's model for an engine; int8 is calibrated on the workload's texts."""
    engine, int8 = parse_engine(name)
    model = workload.model()
    model.torch_method.to("cpu")
    model.device = torch.device("cpu")
    export_model(model, folder, engine, texts=workload.texts[:_SAMPLE], int8=int8)


@dataclass(slots=True)
class EnginePrediction:
    """The same walk over exported graphs."""

    workload: Workload
    name: str
    method: str = "hbgl"
    answers: list[Prediction] = field(default_factory=list)
    model: TrainedModel | None = None

    @property
    def precision(self) -> str:
        """Integer products are held against those in bfloat16, the fastest that are measured."""
        engine, int8 = parse_engine(self.name)
        if int8:
            return "bfloat16"
        wanted = self.workload.spec.precision if engine == "openvino" else "float32"
        return precision_name(wanted, torch.device("cpu"))

    @property
    def what(self) -> str:
        """How it computes."""
        engine, int8 = parse_engine(self.name)
        return f"hbgl, HBGL, engine {engine}, {'int8' if int8 else self.precision}"

    def prepare(self) -> None:
        """Export, then load what was written."""
        engine, int8 = parse_engine(self.name)
        require_export_packages(engine, int8=int8)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "export"
            spec = TaskSpec("export", self.name, self.workload.spec, folder=str(folder))
            with started({self.name: spec}, one_process=False):
                self.model = TrainedModel.load(folder, device="cpu")

    def run(self, documents: list[str]) -> None:
        """Answer all texts."""
        if self.model is None:
            raise RuntimeError("prepare() comes before run()")
        self.answers = self.model.predict(documents)
