"""The global stage: label vectors learn the taxonomy by predicting masked labels.

The labels are one sentence through the frozen backbone, where a label sees itself, its parents and
its children; some are replaced by [MASK], and the states of those are to pick the right label
vectors among all. Gradients reach only the label vectors, through the input and as the head.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from hbgl.backbones import Backbone
from hbgl.errors import TrainingError
from hbgl.families import encoder_parts
from hbgl.label_embeddings.dense import DenseEncoder
from hbgl.label_embeddings.edges import EdgeEncoder
from hbgl.label_embeddings.frozen import FrozenEncoder, frozen
from hbgl.label_embeddings.graph import label_graph
from hbgl.label_embeddings.loss import masked_loss
from hbgl.label_embeddings.masking import MaskedRows, draw_masks, leaf_groups
from hbgl.precision import autocast_dtype
from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy

__all__ = ["GlobalStageReport", "train_label_vectors"]

EncoderPath = Literal["dense", "edges"]
PLACES_PER_STEP = 1 << 14
"""Labels times masks of a step. One mask of 10,000 labels asks for thousands of labels already."""
PLACES_AT_ONCE = 1 << 14
"""Labels times masks of one forward pass; the masks of a step beyond that accumulate."""


@dataclass(slots=True)
class GlobalStageReport:
    """What a global stage did."""

    path: EncoderPath
    """dense: attention matrices; edges: attention along the taxonomy's edges."""
    masks_per_step: int
    """The masks that each step used."""
    losses: list[float] = field(default_factory=list)
    """Per step: binary cross-entropy summed over all labels, mean over the masked ones."""
    seconds: float = 0.0


class _Encoder(Protocol):
    def states(
        self, vectors: torch.Tensor, masks: npt.NDArray[np.bool_], rows: MaskedRows
    ) -> torch.Tensor: ...


def train_label_vectors(
    taxonomy: Taxonomy,
    backbone: Backbone,
    settings: GlobalStage,
    vectors: torch.Tensor,
    *,
    seed: int,
    device: torch.device | str | None = None,
    precision: str = "auto",
    path: Literal["auto", "dense", "edges"] = "auto",
    places_per_step: int | None = PLACES_PER_STEP,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[torch.Tensor, GlobalStageReport]:
    """Train label vectors on the taxonomy alone; the backbone comes back bit-identical.

    The loss of a step is the paper's sum over masked rows and columns, divided by the number of
    masked rows over all masks of the step, so that a learning rate means the same for any number
    of labels and masks.

    With the head ``transform`` the states pass the backbone's masked-LM transform, where it has
    one, before they meet the label vectors.

    :param vectors: [L, d] first vectors; left as they are.
    :param seed: the masks are a pure function of it and the step.
    :param device: where to compute; default: where the backbone is.
    :param precision: ``auto``, ``float32`` or ``bfloat16``.
    :param path: ``dense`` and ``edges`` give the same numbers. ``auto`` is ``edges``, the faster at
        every size measured (``benchmarks/global_stage.py``); ``dense`` is the plain form.
    :param places_per_step: a step uses fewer masks than the settings say, at least one, where
        masks times labels exceed this; None: never.
    :param progress: called after each step with its number, from 1, and its loss.
    :returns: float32 [L, d] on the CPU, and a report.
    :raises UsageError: if the taxonomy has more levels than the backbone has positions.
    :raises TrainingError: if the loss is no longer a number.
    """
    parts = encoder_parts(backbone.model)
    place = torch.device(device) if device is not None else parts.word_embeddings.weight.device
    graph = label_graph(taxonomy, settings.attention, parts.max_positions)
    if path == "auto":
        path = "edges"
    masks_per_step = settings.masks_per_step
    if places_per_step is not None:
        masks_per_step = min(masks_per_step, max(1, places_per_step // len(taxonomy)))
    settings = dataclasses.replace(settings, masks_per_step=masks_per_step)
    report = GlobalStageReport(path, masks_per_step)
    started = time.perf_counter()
    transform = backbone.transform if settings.head == "transform" else None
    modules = [backbone.model, *([] if transform is None else [transform])]
    with frozen(nn.ModuleList(modules), place):
        encoder = FrozenEncoder(backbone, settings.segment)
        states: _Encoder = (
            DenseEncoder(encoder, taxonomy, graph, settings.attention)
            if report.path == "dense"
            else EdgeEncoder(encoder, graph)
        )
        trained = vectors.detach().to(place, torch.float32, copy=True).requires_grad_()
        dtype = autocast_dtype(precision, place)
        stage = _Stage(taxonomy, states, trained, dtype, transform)
        optimizer = torch.optim.Adam([trained], lr=settings.learning_rate)
        for step in range(settings.steps):
            masks = draw_masks(len(taxonomy), settings, seed, step)
            optimizer.zero_grad()
            loss = stage.backward(masks)
            if not math.isfinite(loss):
                raise TrainingError(
                    f"the loss of the global stage is {loss} at step {step + 1}; lower its "
                    f"learning rate ({settings.learning_rate})"
                )
            optimizer.step()
            report.losses.append(loss)
            if progress is not None:
                progress(step + 1, loss)
    report.seconds = time.perf_counter() - started
    return trained.detach().cpu(), report


class _Stage:
    """Loss and gradient of one step."""

    def __init__(
        self,
        taxonomy: Taxonomy,
        encoder: _Encoder,
        vectors: torch.Tensor,
        dtype: torch.dtype | None,
        transform: nn.Module | None,
    ) -> None:
        self._groups = leaf_groups(taxonomy)
        self._encoder, self._vectors, self._dtype = encoder, vectors, dtype
        self._transform = transform

    def backward(self, masks: npt.NDArray[np.bool_]) -> float:
        """Add the gradient of a step's masks [B, L] to the vectors; the loss."""
        total, loss = int(masks.sum()), 0.0
        at_once = max(1, PLACES_AT_ONCE // masks.shape[1])
        for first in range(0, len(masks), at_once):
            share = self._loss(masks[first : first + at_once]) / total
            share.backward()  # type: ignore[no-untyped-call]
            loss += float(share.detach())
        return loss

    def _loss(self, masks: npt.NDArray[np.bool_]) -> torch.Tensor:
        device = self._vectors.device
        rows = MaskedRows.of(self._groups, masks)
        with torch.autocast(device.type, dtype=self._dtype, enabled=self._dtype is not None):
            states = self._encoder.states(self._vectors, masks, rows)
        if self._transform is not None:
            states = self._transform(states.float())
        weight, row, label = (
            torch.from_numpy(part).to(device)
            for part in (rows.weight, rows.target_row, rows.target_label)
        )
        return masked_loss(states, self._vectors, weight, row, label, self._dtype)
