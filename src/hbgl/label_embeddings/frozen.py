"""The backbone as the global stage uses it: in evaluation mode, and given back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from hbgl.backbones import Backbone
from hbgl.families import Layer, encoder_parts

__all__ = ["FrozenEncoder", "frozen"]


class FrozenEncoder:
    """The parts of an encoder that labels pass through; no dropout, no gradient of its own."""

    def __init__(self, backbone: Backbone, segment: int) -> None:
        self.parts = encoder_parts(backbone.model)
        words = self.parts.word_embeddings.weight
        self.device = words.device
        self.mask_vector = words[backbone.mask_id]
        self.end_vectors = (words[backbone.cls_id], words[backbone.sep_id])
        segments = self.parts.segment_embeddings
        # RoBERTa has a single segment, DistilBERT and MPNet none.
        self._segment = (
            None if segments is None else segments.weight[min(segment, segments.num_embeddings - 1)]
        )

    def embed(self, vectors: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Vectors [..., S, d] plus segment and position embeddings, normalised; positions [S]."""
        summed = vectors + self.parts.position_embeddings(positions + self.parts.position_offset)
        if self._segment is not None:
            summed = summed + self._segment
        embedded: torch.Tensor = self.parts.embedding_norm(summed)
        return embedded

    def low(self, hidden: torch.Tensor) -> torch.Tensor:
        """States in the dtype that autocast computes in, converted once for all projections."""
        kind = self.device.type
        return (
            hidden.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else hidden
        )

    @staticmethod
    def finish(layer: Layer, hidden: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
        """The rest of a layer after the heads are mixed: projection, residuals, feed-forward."""
        hidden = layer.attention_norm(hidden + layer.attention_output(mixed))
        fed = layer.narrow(layer.activation(layer.widen(hidden)))
        finished: torch.Tensor = layer.output_norm(hidden + fed)
        return finished


@contextmanager
def frozen(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Evaluation mode, no parameter gradients, on ``device``; everything as before afterwards."""
    parameters = list(model.parameters())
    wanted = [parameter.requires_grad for parameter in parameters]
    modes = [(module, module.training) for module in model.modules()]
    home = parameters[0].device
    model.to(device).eval().requires_grad_(False)
    try:
        yield
    finally:
        model.to(home)
        for parameter, before in zip(parameters, wanted, strict=True):
            parameter.requires_grad_(before)
        for module, training in modes:
            module.training = training
