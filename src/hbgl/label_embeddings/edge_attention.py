"""Multi-head attention along a list of edges: softmax per target, no padding, no score matrix.

``out_i = sum_{e: target(e) = i} alpha_e v_{source(e)}`` with
``alpha_e = softmax over the edges of i of (q_i k_{source(e)} / sqrt(k) + bias_e)``, per head.
Only the weights alpha [E, H] are kept for the backward pass. All else is two operations: inner
products per edge, gathered a piece of the edges at a time, and weighted sums per node, for which
torch's embedding bag needs no gathered copy at all.
"""

from __future__ import annotations

import math

import torch
from torch.autograd.function import FunctionCtx
from torch.nn import functional

__all__ = ["edge_attention", "softmax_per_target", "weighted_sums"]

GATHERED_AT_ONCE = 1 << 20
"""Numbers gathered per piece of edges (pieces of 4 MB stay close to the processor)."""


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
    """Forward and backward by hand, so that nothing of size E x d is kept."""

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
        scale = 1 / math.sqrt(query.shape[1] // bias.shape[1])
        scores = _products(query, target, key, source, bias.shape[1]) * scale + bias
        weights = softmax_per_target(scores, target, len(query))
        ctx.save_for_backward(query, key, value, target, source, weights)
        return weighted_sums(value, source, weights, target, len(query)).to(query.dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, target, source, weights = ctx.saved_tensors  # type: ignore[attr-defined]
        scale = 1 / math.sqrt(query.shape[1] // weights.shape[1])
        # Slopes of the loss, first by the weights, then by the scores: [E, H].
        slopes = _products(grads[0], target, value, source, weights.shape[1])
        mean = weights.new_zeros(len(query), weights.shape[1])
        mean.index_add_(0, target, weights * slopes)
        slopes = weights * (slopes - mean[target]) * scale
        query_grad = weighted_sums(key, source, slopes, target, len(query))
        order = source.argsort()
        seeing, seen = target[order], source[order]
        key_grad = weighted_sums(query, seeing, slopes[order], seen, len(key))
        value_grad = weighted_sums(grads[0], seeing, weights[order], seen, len(value))
        found = (query_grad.to(query.dtype), key_grad.to(key.dtype), value_grad.to(value.dtype))
        return (*found, None, None, None)


def _products(
    left: torch.Tensor,
    left_index: torch.Tensor,
    right: torch.Tensor,
    right_index: torch.Tensor,
    heads: int,
) -> torch.Tensor:
    """Inner products per edge and head of two [., d]: float32 [E, H]."""
    step = max(1, GATHERED_AT_ONCE // left.shape[1])
    pieces = []
    for first in range(0, len(left_index), step):
        piece = slice(first, first + step)
        products = left.index_select(0, left_index[piece])
        products = products.float() * right.index_select(0, right_index[piece])
        pieces.append(products.view(len(products), heads, -1).sum(dim=2))
    return torch.cat(pieces)


def weighted_sums(
    vectors: torch.Tensor,
    index: torch.Tensor,
    weights: torch.Tensor,
    receiver: torch.Tensor,
    receivers: int,
) -> torch.Tensor:
    """Weighted sums per receiver and head: ``sum_e weights[e, h] vectors[index[e], h]``.

    Differentiable; the rows are never gathered, so nothing of size E x d is kept.


    :param vectors: [N, d].
    :param index: [E] in 0..N-1.
    :param weights: [E, H].
    :param receiver: [E] ascending, in 0..receivers-1.
    :returns: float32 [receivers, d]; zeros where nothing is received.
    """
    count, heads = weights.shape
    head = torch.arange(heads, device=index.device)[:, None]
    starts = torch.searchsorted(receiver, torch.arange(receivers, device=index.device))
    # One bag per head and receiver, of rows of the table [N * H, k].
    sums = functional.embedding_bag(
        (index * heads + head).flatten(),
        vectors.float().reshape(len(vectors) * heads, -1),
        (starts + count * head).flatten(),
        mode="sum",
        per_sample_weights=weights.T.flatten(),
    )
    return sums.view(heads, receivers, -1).transpose(0, 1).reshape(receivers, -1)


def softmax_per_target(scores: torch.Tensor, target: torch.Tensor, targets: int) -> torch.Tensor:
    """[E, H] scores -> weights that sum to 1 over the edges of each target; differentiable."""
    index = target[:, None].expand_as(scores)
    highest = scores.new_full((targets, scores.shape[1]), -math.inf)
    # A shift by the highest score changes no weight, so no gradient has to go through it.
    highest.scatter_reduce_(0, index, scores.detach(), "amax")
    powers = (scores - highest[target]).exp_()
    total = torch.zeros_like(highest).index_add_(0, target, powers)
    return powers / total[target]
