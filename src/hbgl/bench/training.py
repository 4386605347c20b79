"""Contenders of training: optimisation steps over the same tokenised documents, once each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from hbgl.batching import Batch, collate
from hbgl.bench.predicting import precision_name
from hbgl.bench.registry import STRAIGHTFORWARD_BATCH
from hbgl.bench.straightforward import Straightforward
from hbgl.bench.workload import Workload
from hbgl.errors import UsageError
from hbgl.evaluation import LabelledTexts
from hbgl.methods import TorchMethod
from hbgl.model import HBGL
from hbgl.precision import autocast
from hbgl.settings import TrainingSettings
from hbgl.trained_model import default_device
from hbgl.training import fit

__all__ = ["OurTraining", "PlainTraining", "StraightforwardTraining", "plain_epoch"]

_PLAIN_BATCH = 32
_PAPER_BATCH = STRAIGHTFORWARD_BATCH["train"]
_RATE = 3e-5
_CLIP = 1.0


@dataclass(slots=True)
class OurTraining:
    """One epoch of our loop: HBGL, or the flat classifier."""

    workload: Workload
    method: str = "hbgl"
    batch_size: int = TrainingSettings().batch_size
    model: TorchMethod | None = None
    losses: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """``hbgl`` or ``flat``."""
        return self.method

    @property
    def precision(self) -> str:
        """As the settings say."""
        return precision_name(self.workload.spec.precision, default_device())

    @property
    def what(self) -> str:
        """How it computes."""
        kind = "HBGL" if self.method == "hbgl" else "flat classifier"
        return f"hbgl, {kind}, batches of {self.batch_size} by length, {self.precision}"

    def prepare(self) -> None:
        """Build the model."""
        made = self.workload.model("hbgl" if self.method == "hbgl" else "multilabel")
        self.model = made.torch_method

    def run(self, documents: LabelledTexts) -> None:
        """One epoch."""
        if self.model is None:
            raise RuntimeError("prepare() comes before run()")
        settings = TrainingSettings(
            epochs=1.0,
            batch_size=self.batch_size,
            precision=self.workload.spec.precision,  # type: ignore[arg-type]
            seed=self.workload.spec.seed,
        )
        result = fit(self.model, documents, None, settings)
        self.losses = [loss for _, loss, _ in result.losses]


@dataclass(slots=True)
class PlainTraining:
    """HBGL in the loop that one writes first: torch's default AdamW, random batches of 32."""

    workload: Workload
    name: str = "plain"
    method: str = "hbgl"
    model: HBGL | None = None
    losses: list[float] = field(default_factory=list)

    @property
    def precision(self) -> str:
        """As ours."""
        return precision_name(self.workload.spec.precision, default_device())

    @property
    def what(self) -> str:
        """How it computes."""
        return (
            "the same HBGL in a plain loop: torch's default AdamW, random batches of "
            f"{_PLAIN_BATCH} padded to their longest, {self.precision}"
        )

    def prepare(self) -> None:
        """Build the model."""
        self.model = _hbgl(self.workload)

    def run(self, documents: LabelledTexts) -> None:
        """One epoch."""
        if self.model is None:
            raise RuntimeError("prepare() comes before run()")
        self.losses = plain_epoch(
            self.model,
            documents,
            batch_size=_PLAIN_BATCH,
            pad_id=self.model.pad_id,
            pad_to=None,
            precision=self.workload.spec.precision,
            seed=self.workload.spec.seed,
        )


@dataclass(slots=True)
class StraightforwardTraining:
    """HBGL as one long padded sequence, in batches of 12 and float32, as its authors trained it."""

    workload: Workload
    name: str = "long"
    method: str = "hbgl"
    precision: str = "float32"
    model: Straightforward | None = None
    losses: list[float] = field(default_factory=list)

    @property
    def what(self) -> str:
        """How it computes."""
        return (
            "straightforward HBGL: one long sequence, padded to the longest, 3-D mask, "
            f"word-vocabulary head, batches of {_PAPER_BATCH}, the backbone's own dropout, float32"
        )

    def prepare(self) -> None:
        """Copy the weights of our model."""
        self.model = Straightforward(self.workload.backbone, _hbgl(self.workload))
        self.model.to(default_device())

    def run(self, documents: LabelledTexts) -> None:
        """One epoch."""
        if self.model is None:
            raise RuntimeError("prepare() comes before run()")
        self.losses = plain_epoch(
            self.model,
            documents,
            batch_size=_PAPER_BATCH,
            pad_id=self.model.pad_id,
            pad_to=self.workload.max_length,
            precision="float32",
            seed=self.workload.spec.seed,
        )


def plain_epoch(
    model: nn.Module,
    documents: LabelledTexts,
    *,
    batch_size: int,
    pad_id: int,
    pad_to: int | None,
    precision: str,
    seed: int,
) -> list[float]:
    """One epoch over random batches with torch's default AdamW; the loss of each step.

    :param pad_to: tokens that every text is padded to; None: the longest of its batch.
    """
    device = default_device()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.01)
    order = np.random.default_rng(seed).permutation(len(documents))
    losses = []
    for start in range(0, len(order), batch_size):
        batch = _labelled_batch(documents, order[start : start + batch_size], pad_id, pad_to)
        optimizer.zero_grad()
        with autocast(precision, device):
            loss: torch.Tensor = model(batch.to(device))
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimizer.step()
        losses.append(float(loss.detach()))
    model.eval()
    return losses


def _labelled_batch(
    documents: LabelledTexts, indices: np.ndarray, pad_id: int, pad_to: int | None
) -> Batch:
    batch = collate(documents.texts, indices, pad_id, pad_to)
    gold = torch.from_numpy(documents.gold[indices].toarray())
    return dataclasses.replace(batch, gold=gold)


def _hbgl(workload: Workload) -> HBGL:
    method = workload.model().torch_method
    if not isinstance(method, HBGL):
        raise UsageError("this contender needs a model of method hbgl")
    return method
