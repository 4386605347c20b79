"""Dropout from shared random numbers is dropout."""

from __future__ import annotations

import torch

from hbgl.dropout import dropout


def test_share_and_mean_are_those_of_dropout() -> None:
    torch.manual_seed(0)
    values = torch.ones(1000, 1001)
    dropped = dropout(values, 0.1, training=True)
    zero = (dropped == 0).float().mean().item()
    assert abs(zero - 0.1) < 0.001
    assert abs(dropped.mean().item() - 1.0) < 0.002
    assert len(set(dropped.flatten().tolist())) == 2


def test_elements_are_independent_of_their_neighbours() -> None:
    """Four neighbours share one draw, not their decisions: P(both dropped) = 0.25 at p = 0.5."""
    torch.manual_seed(1)
    dropped = dropout(torch.ones(400_000), 0.5, training=True).view(-1, 4) == 0
    for first in range(4):
        for second in range(first):
            both = (dropped[:, first] & dropped[:, second]).float().mean().item()
            assert abs(both - 0.25) < 0.006


def test_off_in_evaluation_and_repeatable_by_seed() -> None:
    values = torch.randn(7, 5, requires_grad=True)
    assert dropout(values, 0.3, training=False) is values
    assert dropout(values, 0.0, training=True) is values
    torch.manual_seed(2)
    first = dropout(values, 0.3, training=True)
    torch.manual_seed(2)
    assert torch.equal(first, dropout(values, 0.3, training=True))
    torch.autograd.backward(first.sum())
    assert values.grad is not None
    assert torch.equal(values.grad == 0, first == 0)
