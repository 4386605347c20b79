"""Binary cross-entropy of few rows over all labels, without a matrix of targets.

For a row with state h, label vectors Y and positive labels P:
``sum_j BCE(sigmoid(h Y_j), [j in P]) = sum_j softplus(h Y_j) - h sum_{j in P} Y_j``.
The scores [R, L] are made a few rows at a time, and each piece gives its loss and its gradients at
once, so that nothing of size R x L is ever kept.
"""

from __future__ import annotations

import torch
from torch.autograd.function import FunctionCtx
from torch.nn import functional

__all__ = ["SCORES_AT_ONCE", "masked_loss"]

SCORES_AT_ONCE = 1 << 22
"""Scores of one piece: small enough to stay close to the processor."""
TARGETS_AT_ONCE = 1 << 15


def masked_loss(
    states: torch.Tensor,
    vectors: torch.Tensor,
    weights: torch.Tensor,
    target_rows: torch.Tensor,
    target_labels: torch.Tensor,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """The summed loss of all rows and columns, a float32 scalar.

    :param states: [R, d] encoder states h of the masked rows.
    :param vectors: [L, d] label vectors Y.
    :param weights: [R] how often each row counts.
    :param target_rows: [P] rows of the ones; the other places are zeros.
    :param target_labels: [P] columns of the ones.
    :param dtype: what the scores are computed in; None: float32.
    """
    loss: torch.Tensor = _MaskedLoss.apply(  # type: ignore[no-untyped-call]
        states, vectors, weights, target_rows, target_labels, dtype or torch.float32
    )
    return loss


class _MaskedLoss(torch.autograd.Function):
    """Loss and gradients in one pass; ``backward`` only scales them."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        states: torch.Tensor,
        vectors: torch.Tensor,
        weights: torch.Tensor,
        target_rows: torch.Tensor,
        target_labels: torch.Tensor,
        dtype: torch.dtype,
    ) -> torch.Tensor:
        with torch.autocast(states.device.type, enabled=False):
            exact, weights = states.float(), weights.float()[:, None]
            positive, vector_grad = torch.zeros_like(exact), torch.zeros_like(vectors)
            weighted = weights * exact
            for first in range(0, len(target_rows), TARGETS_AT_ONCE):
                row = target_rows[first : first + TARGETS_AT_ONCE]
                label = target_labels[first : first + TARGETS_AT_ONCE]
                positive.index_add_(0, row, vectors[label])
                vector_grad.index_add_(0, label, weighted[row], alpha=-1)
            loss = -(weighted * positive).sum()
            state_grad = -weights * positive
            low_states, low_vectors = states.to(dtype), vectors.to(dtype)
            rows = max(1, SCORES_AT_ONCE // len(vectors))
            for first in range(0, len(states), rows):
                piece = slice(first, first + rows)
                scores = low_states[piece] @ low_vectors.T  # [rows, L]
                sums = functional.softplus(scores).sum(dim=1, dtype=torch.float32)
                loss += sums @ weights[piece, 0]
                slopes = scores.sigmoid_().mul_(weights[piece])
                state_grad[piece] += slopes @ low_vectors
                vector_grad += slopes.T @ low_states[piece]
        ctx.save_for_backward(state_grad.to(states.dtype), vector_grad)
        return loss

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        state_grad, vector_grad = ctx.saved_tensors  # type: ignore[attr-defined]
        return state_grad * grads[0], vector_grad * grads[0], None, None, None, None
