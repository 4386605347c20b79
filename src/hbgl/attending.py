"""Scaled dot-product attention, in the way that is fastest where it runs.

Shapes: B documents, H heads, S queries, N keys, k = width of a head. Torch's fused kernel is right
on GPUs. On a CPU its plain products win where the scores stay in the processor's caches, by about
two in bfloat16 (``benchmarks/kernels.py``): so prediction goes through a batch in pieces of that
size, each cut to its own longest text, and training takes them up to a size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

__all__ = ["KeyValue", "attend", "attend_both"]

KeyValue = tuple[torch.Tensor, torch.Tensor]
"""Keys and values of one layer, each [B, H, positions, k]."""

_FUSED_BACKWARD_PAYS = 640 * 640
"""Scores (queries x keys) from which the fused kernel's gradient is the faster one on a CPU."""
_PIECE = 1 << 19
"""Scores of all heads that stay in the caches of a CPU."""


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    dropout: float,
    lengths: Sequence[int] | None = None,
    guest: bool = False,
) -> torch.Tensor:
    """[B, H, S, k] queries over [B, H, N, k] -> [B, H, S, k].

    :param bias: None, a boolean mask or a float bias that broadcasts to [B, H, S, N].
    :param lengths: of each document, where ``bias`` is no more than the padding of its keys. The
        outputs of padded queries are then anything finite.
    :param guest: with ``lengths``: position 0 sees all, but no other query sees it.
    """
    learns = torch.is_grad_enabled() and query.requires_grad
    if query.device.type != "cpu" or (learns and _scores(query, key) >= _FUSED_BACKWARD_PAYS):
        return _fused(query, key, value, bias, dropout)
    if learns:
        weights = _weights((query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2), bias)
        return functional.dropout(weights, dropout) @ value
    return _in_pieces(query, key, value, bias, lengths, guest)


def attend_both(
    query: torch.Tensor,
    text: KeyValue,
    labels: KeyValue,
    text_bias: torch.Tensor | None,
    label_bias: torch.Tensor,
    dropout: float,
) -> torch.Tensor:
    """A few queries [B, H, S, k] over the text's keys and values and then over the labels' own.

    As :func:`attend` over both joined, but only scores are joined: the text's keys and values, far
    larger, are not copied for it.
    """
    (text_key, text_value), (key, value) = text, labels
    query = query * query.shape[-1] ** -0.5
    on_text = query @ text_key.transpose(-1, -2)
    if text_bias is not None:
        on_text = on_text + _added(text_bias, on_text.dtype)
    on_labels = query @ key.transpose(-1, -2)
    on_labels = on_labels + _added(label_bias, on_labels.dtype)
    together = torch.softmax(torch.cat([on_text, on_labels], dim=-1), dim=-1)
    weights = functional.dropout(together, dropout)
    width = text_key.shape[2]
    mixed: torch.Tensor = weights[..., :width] @ text_value + weights[..., width:] @ value
    return mixed


def _scores(query: torch.Tensor, key: torch.Tensor) -> int:
    return query.shape[2] * key.shape[2]


def _fused(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    dropout: float,
) -> torch.Tensor:
    if bias is not None and bias.is_floating_point():
        bias = bias.to(query.dtype)
    return functional.scaled_dot_product_attention(query, key, value, bias, dropout)


def _weights(scores: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Scores [B, H, S, N], which are written over, under a bias -> weights that sum to 1."""
    if bias is not None:
        scores += _added(bias, scores.dtype)  # in place, and its gradient costs nothing
    return torch.softmax(scores, dim=-1)


def _added(bias: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A boolean mask as what is added to scores: 0, or minus infinity where nothing is seen."""
    if bias.dtype != torch.bool:
        return bias.to(dtype)
    return torch.zeros(bias.shape, dtype=dtype, device=bias.device).masked_fill(
        ~bias, float("-inf")
    )


def _in_pieces(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    lengths: Sequence[int] | None,
    guest: bool,
) -> torch.Tensor:
    """Document by document, or as many at once as fit: only what is not padding, where known."""
    batch, heads, places, width = query.shape
    keys = key.shape[2]
    query = query * width**-0.5
    # Laid out as [B, S, H, k], the order in which the caller joins the heads.
    mixed = query.new_zeros(batch, places, heads, width).transpose(1, 2)
    rows = max(1, _PIECE // (heads * places * keys))
    for start in range(0, batch, rows):
        piece = slice(start, min(start + rows, batch))
        mask = bias if bias is None or len(bias) == 1 else bias[piece]
        seen, asking = keys, places
        if lengths is not None:
            own = lengths[piece]
            seen = max(own)
            asking = seen if places == keys else places
            mask = None if mask is None or min(own) == seen else mask[..., :seen]
        scores = query[piece, :, :asking] @ key[piece, :, :seen].transpose(-1, -2)
        if guest and lengths is not None:
            scores[:, :, 1:, 0] = float("-inf")
        mixed[piece, :, :asking] = _weights(scores, mask) @ value[piece, :, :seen]
    return mixed
