"""Contenders of prediction: texts in, answers out, tokenisation included."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from hbgl.batching import collate, tokenize
from hbgl.bench.registry import STRAIGHTFORWARD_BATCH
from hbgl.bench.straightforward import Straightforward
from hbgl.bench.workload import Workload
from hbgl.decisions import Decider
from hbgl.decoding import Prediction, answer
from hbgl.errors import UsageError
from hbgl.model import HBGL
from hbgl.precision import autocast_dtype
from hbgl.trained_model import TrainedModel, default_device

__all__ = ["OurPrediction", "StraightforwardPrediction", "precision_name"]

_BATCH = STRAIGHTFORWARD_BATCH["predict"]


def precision_name(wanted: str, device: torch.device) -> str:
    """``auto`` is what the device computes natively."""
    return "float32" if autocast_dtype(wanted, device) is None else "bfloat16"


@dataclass(slots=True)
class OurPrediction:
    """``TrainedModel.predict``: HBGL, or the flat classifier on the same engine."""

    workload: Workload
    method: str = "hbgl"
    answers: list[Prediction] = field(default_factory=list)
    model: TrainedModel | None = None

    @property
    def name(self) -> str:
        """``hbgl`` or ``flat``."""
        return self.method

    @property
    def precision(self) -> str:
        """As the model's settings say."""
        wanted = self.workload.spec.precision
        if self.model is not None:
            wanted = self.model.settings.training.precision
        return precision_name(wanted, default_device())

    @property
    def what(self) -> str:
        """How it computes."""
        kind = "HBGL" if self.method == "hbgl" else "flat classifier"
        return f"hbgl, {kind}, batches by length, {self.precision}"

    def prepare(self) -> None:
        """Build or load the model."""
        self.model = self.workload.model("hbgl" if self.method == "hbgl" else "multilabel")

    def run(self, documents: list[str]) -> None:
        """Answer all texts."""
        if self.model is None:
            raise RuntimeError("prepare() comes before run()")
        self.answers = self.model.predict(documents)


@dataclass(slots=True)
class StraightforwardPrediction:
    """The same model as one long sequence: padded to the longest length, no cache, float32."""

    workload: Workload
    name: str = "long"
    method: str = "hbgl"
    precision: str = "float32"
    answers: list[Prediction] = field(default_factory=list)
    model: Straightforward | None = None
    decider: Decider | None = None

    @property
    def what(self) -> str:
        """How it computes."""
        return (
            "straightforward HBGL: one long sequence, padded to the longest, 3-D mask, no cache, "
            f"word-vocabulary head, batches of {_BATCH}, float32"
        )

    def prepare(self) -> None:
        """Copy the weights of our model."""
        ours = self.workload.model()
        if not isinstance(ours.method, HBGL):
            raise UsageError("the straightforward HBGL needs a model of method hbgl")
        self.model = Straightforward(self.workload.backbone, ours.method)
        self.model.to(ours.device).eval()
        self.decider = ours.decider(ours.decision)

    def run(self, documents: list[str]) -> None:
        """Answer all texts, in their order."""
        if self.model is None or self.decider is None:
            raise RuntimeError("prepare() comes before run()")
        work, model = self.workload, self.model
        tokens = tokenize(documents, work.backbone.tokenizer, work.max_length)
        self.answers = []
        for start in range(0, len(documents), _BATCH):
            indices = np.arange(start, min(start + _BATCH, len(documents)))
            batch = collate(tokens, indices, model.pad_id, work.max_length)
            decoded = model.predict(batch.to(self.decider.device), self.decider).cpu()
            rows = zip(decoded.probabilities.numpy(), decoded.chosen.numpy(), strict=True)
            self.answers += [answer(work.taxonomy, row, chosen) for row, chosen in rows]
