"""A moving average of the weights, which is evaluated and kept in their place.

After step t (from 1) each trained parameter w moves its average a by

    a <- d_t a + (1 - d_t) w,   d_1 = 0,   d_t = min(decay, (1 + t) / (10 + t))

so that the first steps do not weigh on it for long. The average depends on the weights and the step
alone: processes that train the same weights have the same average without talking to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["WeightAverage"]


class WeightAverage:
    """The averages of a model's trained parameters, by name; float32, where the model is."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
        self.averages: dict[str, torch.Tensor] = {}
        """Empty before the first step."""

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the averages to the weights after step ``step``, from 1."""
        if not self.averages:
            self.averages = {name: one.detach().clone() for name, one in self.trained.items()}
            return
        share = 1.0 - decay_at(step, self.decay)
        # One kernel over all tensors: in a loop, small ones would cost more than they compute.
        torch._foreach_lerp_(list(self.averages.values()), list(self.trained.values()), share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the averages as its weights inside the block, and its own after it."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange weights and averages; nothing before the first step."""
        for name, average in self.averages.items():
            weight = self.trained[name]
            kept = weight.detach().clone()
            weight.copy_(average)
            average.copy_(kept)

    def restore(self, averages: Mapping[str, torch.Tensor]) -> None:
        """Take up the averages of a checkpoint.

        :raises ValueError: if they are of other parameters.
        """
        if {name: one.shape for name, one in averages.items()} != {
            name: one.shape for name, one in self.trained.items()
        }:
            raise ValueError("the averages are of parameters with other names or shapes")
        self.averages = {
            name: averages[name].to(one.device, one.dtype, copy=True)
            for name, one in self.trained.items()
        }


def decay_at(step: int, decay: float) -> float:
    """The decay of a step, from 1.

    >>> [round(decay_at(step, 0.9), 3) for step in (2, 8, 80, 90)]
    [0.25, 0.5, 0.9, 0.9]
    """
    return min(decay, (1 + step) / (10 + step))
