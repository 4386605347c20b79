"""The global stage with a graph-attention network where HBGL has the backbone (``gat``).

Same masks, targets, loss and head as in ``stage.py``. The network starts at random, so it has to
train, or the label vectors have to adapt to it: ``gat_trains`` says which, ``gat_output`` what the
local stage then starts from.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from hbgl.backbones import Backbone
from hbgl.errors import UsageError
from hbgl.families import encoder_parts
from hbgl.label_embeddings.frozen import FrozenEncoder, frozen
from hbgl.label_embeddings.graph import label_graph
from hbgl.label_embeddings.graph_attention import GraphAttention, GraphAttentionEncoder
from hbgl.label_embeddings.objective import (
    PLACES_PER_STEP,
    GlobalStageReport,
    MaskedObjective,
    minimise,
    with_fitting_masks,
)
from hbgl.precision import autocast_dtype
from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy

__all__ = ["train_graph_attention"]

_TINY = torch.finfo(torch.float32).tiny


def train_graph_attention(
    taxonomy: Taxonomy,
    backbone: Backbone,
    settings: GlobalStage,
    vectors: torch.Tensor,
    *,
    seed: int,
    device: torch.device | str | None = None,
    precision: str = "auto",
    places_per_step: int | None = PLACES_PER_STEP,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[torch.Tensor, GlobalStageReport]:
    """Label vectors from a graph-attention network over the taxonomy.

    Of the backbone only the vectors of special tokens are used, and with the head ``transform`` its
    masked-LM transform, where it has one; it comes back bit-identical. Parameters mean what they
    mean in :func:`hbgl.label_embeddings.train_label_vectors`. Encoded labels are scaled to the mean
    length of the first vectors.

    :param seed: the network's first weights and the masks are pure functions of it.
    :returns: float32 [L, d] on the CPU, and a report.
    :raises UsageError: if the heads do not divide the width.
    :raises TrainingError: if the loss is no longer a number.
    """
    width = vectors.shape[1]
    if width % settings.gat_heads:
        raise UsageError(
            f"{settings.gat_heads} heads of graph attention do not divide the backbone's width "
            f"{width}; take another number of heads"
        )
    home = encoder_parts(backbone.model).word_embeddings.weight.device
    place = torch.device(device) if device is not None else home
    # The network has no positions, so no depth is too much for it.
    graph = label_graph(taxonomy, settings.attention, taxonomy.depth + 2)
    settings = with_fitting_masks(settings, len(taxonomy), places_per_step)
    report = GlobalStageReport("edges", settings.masks_per_step)
    transform = backbone.transform if settings.head == "transform" else None
    modules = [backbone.model, *([] if transform is None else [transform])]
    network = GraphAttention(width, settings.gat_layers, settings.gat_heads, seed).to(place)
    with frozen(nn.ModuleList(modules), place):
        known = FrozenEncoder(backbone, settings.segment)
        special = torch.stack([known.mask_vector, *known.end_vectors]).float()
        encoder = GraphAttentionEncoder(network, graph, special)
        labels = vectors.detach().to(place, torch.float32, copy=True)
        labels.requires_grad_(settings.gat_trains != "network")
        network.requires_grad_(settings.gat_trains != "vectors")
        trained = [one for one in (labels, *network.parameters()) if one.requires_grad]
        dtype = autocast_dtype(precision, place)
        objective = MaskedObjective(taxonomy, encoder, labels, dtype, transform)
        minimise(objective, trained, len(taxonomy), settings, report, seed=seed, progress=progress)
        if settings.gat_output == "encoded":
            with torch.no_grad():
                labels = _as_long_as(vectors.to(labels), encoder.encoded(labels))
    return labels.detach().cpu(), report


def _as_long_as(first: torch.Tensor, encoded: torch.Tensor) -> torch.Tensor:
    """Encoded labels [L, d] times one factor: on average as long as the first vectors.

    The network finds lengths that suit its own loss, 30 times those of word embeddings after a few
    hundred steps; the backbone and its head start from vectors as long as words.
    """
    lengths = [one.norm(dim=1).mean() for one in (first, encoded)]
    scaled: torch.Tensor = encoded * (lengths[0] / lengths[1].clamp_min(_TINY))
    return scaled
