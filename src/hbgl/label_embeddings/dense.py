"""The frozen encoder over the labels as one sentence, the plain way: the whole attention matrix.

Every mask of a batch is one sentence [S] and the attention mask is a matrix [S, S]: what the plain
Hugging Face model computes from the same embeddings and the same mask.
Shapes: B masks, S places, H heads, d width.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from hbgl.attending import attend
from hbgl.attention import global_root_mask, global_self_mask
from hbgl.families import EncoderParts, Layer
from hbgl.label_embeddings.frozen import FrozenEncoder
from hbgl.label_embeddings.graph import LabelGraph
from hbgl.label_embeddings.masking import MaskedRows
from hbgl.settings import GlobalMask
from hbgl.taxonomy import Taxonomy

__all__ = ["DenseEncoder"]


class DenseEncoder:
    """Masked sentences in, the states of the masked rows out; all masks of a batch at once."""

    def __init__(
        self, encoder: FrozenEncoder, taxonomy: Taxonomy, graph: LabelGraph, attention: GlobalMask
    ) -> None:
        self._encoder, self._graph = encoder, graph
        matrix = global_self_mask if attention == "self" else global_root_mask
        device = encoder.device
        self._positions = torch.from_numpy(graph.positions).to(device)
        self._bias = _bias(
            encoder.parts, torch.from_numpy(matrix(taxonomy)).to(device), self._positions
        )

    def states(
        self, vectors: torch.Tensor, masks: npt.NDArray[np.bool_], rows: MaskedRows
    ) -> torch.Tensor:
        """The last states of the rows: vectors [L, d], masks [B, L] -> [R, d]."""
        encoder = self._encoder
        masked = torch.from_numpy(masks).to(encoder.device)[:, :, None]
        labels = torch.where(masked, encoder.mask_vector, vectors)  # [B, L, d]
        if self._graph.first:
            start, end = (vector.expand(len(masks), 1, -1) for vector in encoder.end_vectors)
            labels = torch.cat([start, labels, end], dim=1)  # [B, S, d]
        hidden = encoder.embed(labels, self._positions)
        for layer in encoder.parts.layers:
            hidden = encoder.finish(layer, hidden, self._attend(layer, hidden))
        mask = torch.from_numpy(rows.mask).to(encoder.device)
        place = torch.from_numpy(rows.label).to(encoder.device) + self._graph.first
        return hidden[mask, place]

    def _attend(self, layer: Layer, hidden: torch.Tensor) -> torch.Tensor:
        batch, places, width = hidden.shape
        low = self._encoder.low(hidden)
        query, key, value = (
            part(low).view(batch, places, self._encoder.parts.heads, -1).transpose(1, 2)
            for part in (layer.query, layer.key, layer.value)
        )
        mixed = attend(query, key, value, self._bias, dropout=0.0)
        return mixed.transpose(1, 2).reshape(batch, places, width)


def _bias(parts: EncoderParts, mask: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """What attention adds: boolean [1, 1, S, S], or MPNet's float [1, H, S, S]."""
    if parts.relative_bias is None:
        return mask[None, None]
    relative = parts.relative_bias(positions[None, :] - positions[:, None])  # [S, S, H]
    bias: torch.Tensor = relative.permute(2, 0, 1)[None].masked_fill(~mask, float("-inf"))
    return bias
