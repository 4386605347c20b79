"""The masked objective, whatever encodes the labels: masks of a step, loss, gradient, loop.

Some labels are masked; an encoder gives a state for each of them, which is to pick the right label
vectors among all. What trains is the caller's choice.
Shapes: B masks of a step, L labels, R rows of the loss, d width.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from hbgl.errors import TrainingError
from hbgl.label_embeddings.loss import masked_loss
from hbgl.label_embeddings.masking import MaskedRows, draw_masks, leaf_groups
from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy

__all__ = [
    "PLACES_PER_STEP",
    "EncoderPath",
    "GlobalStageReport",
    "MaskedEncoder",
    "MaskedObjective",
    "minimise",
    "with_fitting_masks",
]

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


class MaskedEncoder(Protocol):
    """What the objective needs of an encoder of labels."""

    def states(
        self, vectors: torch.Tensor, masks: npt.NDArray[np.bool_], rows: MaskedRows
    ) -> torch.Tensor:
        """The last states of the rows: vectors [L, d], masks [B, L] -> [R, d]."""


class MaskedObjective:
    """Loss and gradient of one step."""

    def __init__(
        self,
        taxonomy: Taxonomy,
        encoder: MaskedEncoder,
        vectors: torch.Tensor,
        dtype: torch.dtype | None,
        transform: nn.Module | None,
    ) -> None:
        """``vectors`` [L, d] are input and head; states pass ``transform`` before the head."""
        self._groups = leaf_groups(taxonomy)
        self._encoder, self._vectors, self._dtype = encoder, vectors, dtype
        self._transform = transform

    def backward(self, masks: npt.NDArray[np.bool_]) -> float:
        """Add the gradient of a step's masks [B, L] to what trains; the loss."""
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


def with_fitting_masks(
    settings: GlobalStage, labels: int, places_per_step: int | None
) -> GlobalStage:
    """The settings with fewer masks per step, at least one, where L x B exceeds the places."""
    masks = settings.masks_per_step
    if places_per_step is not None:
        masks = min(masks, max(1, places_per_step // labels))
    return dataclasses.replace(settings, masks_per_step=masks)


def minimise(
    objective: MaskedObjective,
    trained: Sequence[torch.Tensor],
    labels: int,
    settings: GlobalStage,
    report: GlobalStageReport,
    *,
    seed: int,
    progress: Callable[[int, float], None] | None = None,
) -> None:
    """The steps of the settings with Adam on ``trained``; losses and time go into the report.

    :raises TrainingError: if the loss is no longer a number.
    """
    started = time.perf_counter()
    optimizer = torch.optim.Adam(trained, lr=settings.learning_rate)
    for step in range(settings.steps):
        masks = draw_masks(labels, settings, seed, step)
        optimizer.zero_grad()
        loss = objective.backward(masks)
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
