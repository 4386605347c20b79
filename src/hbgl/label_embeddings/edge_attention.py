"""Multi-head attention along a list of edges: softmax per target, no padding, no score matrix.

``out_i = sum_{e: target(e) = i} alpha_e v_{source(e)}`` with
``alpha_e = softmax over the edges of i of (q_i k_{source(e)} / sqrt(k) + bias_e)``, per head.
Only the weights alpha [E, H] are kept for the backward pass; what is gathered per edge is gathered
again, a piece of the edges at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch.autograd.function import FunctionCtx

__all__ = ["edge_attention"]

GATHERED_AT_ONCE = 1 << 21
"""Numbers gathered per piece of edges (pieces of 8 MB stay in the processor's reach)."""


def edge_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    target: torch.Tensor,
    source: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    """Attention of M targets over N sources.

    :param query: [M, d]; every target must have an edge.
    :param key: [N, d].
    :param value: [N, d].
    :param target: [E] ascending, in 0..M-1.
    :param source: [E] in 0..N-1.
    :param bias: [E, H] added to the scores; carries no gradient. H is the number of heads.
    :returns: [M, d] in the dtype of ``query``; sums are in float32.
    """
    mixed: torch.Tensor = _EdgeAttention.apply(  # type: ignore[no-untyped-call]
        query, key, value, target, source, bias
    )
    return mixed


class _EdgeAttention(torch.autograd.Function):
    """Forward and backward by hand, both piece by piece over the edges."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        target: torch.Tensor,
        source: torch.Tensor,
        bias: torch.Tensor,
    ) -> torch.Tensor:
        heads, width = bias.shape[1], query.shape[1]
        scores = bias.float().clone()  # [E, H]
        scale = 1 / math.sqrt(width // heads)
        for piece in _pieces(target, width):
            products = query[target[piece]] * key[source[piece]]
            scores[piece] += scale * _per_head(products, heads).sum(dim=2, dtype=torch.float32)
        weights = _softmax_per_target(scores, target, len(query))
        mixed = query.new_zeros(query.shape, dtype=torch.float32)
        for piece in _pieces(target, width):
            values = _per_head(value[source[piece]], heads) * weights[piece, :, None]
            mixed.index_add_(0, target[piece], values.flatten(1))
        ctx.save_for_backward(query, key, value, target, source, weights)
        return mixed.to(query.dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, target, source, weights = ctx.saved_tensors  # type: ignore[attr-defined]
        grad = grads[0]
        heads, width = weights.shape[1], query.shape[1]
        scale = 1 / math.sqrt(width // heads)
        query_grad, key_grad, value_grad = (
            torch.zeros_like(part, dtype=torch.float32) for part in (query, key, value)
        )
        slopes = torch.empty_like(weights)  # [E, H] of the loss by alpha, then by the scores
        for piece in _pieces(target, width):
            coming, seen = grad[target[piece]], source[piece]
            products = _per_head(coming * value[seen], heads)
            slopes[piece] = products.sum(dim=2, dtype=torch.float32)
            values = _per_head(coming, heads) * weights[piece, :, None]
            value_grad.index_add_(0, seen, values.flatten(1))
        mean = weights.new_zeros(len(query), heads).index_add_(0, target, weights * slopes)
        slopes = weights * (slopes - mean[target]) * scale
        for piece in _pieces(target, width):
            seeing, seen, slope = target[piece], source[piece], slopes[piece, :, None]
            query_grad.index_add_(0, seeing, (_per_head(key[seen], heads) * slope).flatten(1))
            key_grad.index_add_(0, seen, (_per_head(query[seeing], heads) * slope).flatten(1))
        return (
            query_grad.to(query.dtype),
            key_grad.to(key.dtype),
            value_grad.to(value.dtype),
            None,
            None,
            None,
        )


def _softmax_per_target(scores: torch.Tensor, target: torch.Tensor, targets: int) -> torch.Tensor:
    """[E, H] scores -> weights that sum to 1 over the edges of each target."""
    index = target[:, None].expand_as(scores)
    highest = scores.new_full((targets, scores.shape[1]), -math.inf)
    highest.scatter_reduce_(0, index, scores, "amax")
    powers = (scores - highest[target]).exp_()
    total = torch.zeros_like(highest).index_add_(0, target, powers)
    return powers.div_(total[target])


def _per_head(vectors: torch.Tensor, heads: int) -> torch.Tensor:
    """[E, d] -> [E, H, k]."""
    return vectors.view(len(vectors), heads, -1)


def _pieces(edges: torch.Tensor, width: int) -> Iterator[slice]:
    step = max(1, GATHERED_AT_ONCE // width)
    return (slice(first, first + step) for first in range(0, len(edges), step))
