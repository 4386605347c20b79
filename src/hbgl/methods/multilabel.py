"""The flat baseline: a linear layer over all labels on the last state of [CLS].

It runs through the same encoder, batches and loop as HBGL, so that a difference in scores is the
method's. Its last layer, too, is computed for the one position that is used.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.decisions import Decider, Decoded
from hbgl.encoder import TwoStreamEncoder
from hbgl.errors import UsageError
from hbgl.losses import LabelLoss
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy

__all__ = ["Multilabel"]

_HEAD_STD = 0.02
"""BERT's own initial standard deviation."""


class Multilabel(nn.Module):
    """Each label on its own from [CLS]: ``sigmoid(W state + b)``."""

    def __init__(self, backbone: Backbone, taxonomy: Taxonomy, settings: ModelSettings) -> None:
        """Take over the backbone's modules; the head starts at random."""
        super().__init__()
        self.encoder = TwoStreamEncoder(backbone.model)
        weight = torch.randn(len(taxonomy), self.encoder.parts.hidden_size) * _HEAD_STD
        self.head_weight = nn.Parameter(weight)
        self.head_bias = nn.Parameter(torch.zeros(len(taxonomy)))
        self.slices = [taxonomy.level_slice(level) for level in range(1, taxonomy.depth + 1)]
        self.label_loss = LabelLoss(settings, taxonomy)
        self.settings, self.taxonomy = settings, taxonomy
        self.pad_id = backbone.pad_id

    @property
    def max_length(self) -> int:
        """Longest text in tokens."""
        room = self.encoder.parts.max_positions
        return min(self.settings.max_length or room, room)

    @property
    def special_ids(self) -> list[int]:
        """Tokens that are looked up beside those of the texts."""
        return [self.pad_id]

    def label_parameters(self) -> list[nn.Parameter]:
        """The head."""
        return [self.head_weight, self.head_bias]

    def forward(self, batch: Batch) -> torch.Tensor:
        """The labels' losses, summed (or averaged) over them, averaged over documents."""
        if batch.gold is None:
            raise UsageError("training needs labels, and this batch has none")
        entropies: torch.Tensor = self.label_loss(self.logits(batch), batch.gold)
        losses = entropies.sum(dim=1)
        if self.settings.loss_reduction == "mean":
            losses = losses / entropies.shape[1]
        if batch.weights is not None:
            losses = losses * batch.weights
        return losses.mean()

    def logits(self, batch: Batch) -> torch.Tensor:
        """[B, L] scores before the sigmoid, in float32."""
        state = self.encoder.first_state(
            self.encoder.parts.word_embeddings(batch.ids), batch.lengths
        )
        with torch.autocast(state.device.type, enabled=False):
            return functional.linear(state.float(), self.head_weight, self.head_bias)

    @torch.inference_mode()
    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        """All scores at once; the decider walks down the levels."""
        logits = self.logits(batch)
        walk = decider.begin(len(logits))
        for level, columns in enumerate(self.slices, start=1):
            walk.take(level, logits[:, columns])
        return walk.decoded()
