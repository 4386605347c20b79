"""The global stage: label vectors learn the taxonomy by predicting masked labels.

The labels are one sentence through the frozen backbone, where a label sees itself, its parents and
its children; some are replaced by [MASK], and the states of those are to pick the right label
vectors among all. Gradients reach only the label vectors, through the input and as the head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import nn

from hbgl.backbones import Backbone
from hbgl.families import encoder_parts
from hbgl.label_embeddings.dense import DenseEncoder
from hbgl.label_embeddings.edges import EdgeEncoder
from hbgl.label_embeddings.frozen import FrozenEncoder, frozen
from hbgl.label_embeddings.graph import label_graph
from hbgl.label_embeddings.objective import (
    PLACES_PER_STEP,
    GlobalStageReport,
    MaskedEncoder,
    MaskedObjective,
    minimise,
    with_fitting_masks,
)
from hbgl.precision import autocast_dtype
from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy

__all__ = ["GlobalStageReport", "train_label_vectors"]


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
    settings = with_fitting_masks(settings, len(taxonomy), places_per_step)
    report = GlobalStageReport(path, settings.masks_per_step)
    transform = backbone.transform if settings.head == "transform" else None
    modules = [backbone.model, *([] if transform is None else [transform])]
    with frozen(nn.ModuleList(modules), place):
        encoder = FrozenEncoder(backbone, settings.segment)
        states: MaskedEncoder = (
            DenseEncoder(encoder, taxonomy, graph, settings.attention)
            if report.path == "dense"
            else EdgeEncoder(encoder, graph)
        )
        trained = vectors.detach().to(place, torch.float32, copy=True).requires_grad_()
        dtype = autocast_dtype(precision, place)
        objective = MaskedObjective(taxonomy, states, trained, dtype, transform)
        minimise(
            objective, [trained], len(taxonomy), settings, report, seed=seed, progress=progress
        )
    return trained.detach().cpu(), report
