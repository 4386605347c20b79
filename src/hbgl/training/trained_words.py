"""Word embeddings in training: only the rows of words that the training documents use.

A word that no training document has never gets a gradient, and Adam's update of it is zero. Dense
gradients, their norm, both moments and the update would go through all V rows at every step all the
same; over short texts that is a large part of a step. So while a run trains, the embeddings hold a
parameter of the U rows in use, and ids are looked up by their row; whenever the model is looked at
(dev, checkpoints, the end) it has all V rows again. The others stay as they were, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["TrainedWords"]


class TrainedWords:
    """Inside a ``with`` block the embeddings hold only the rows in use; :meth:`whole` suspends it.

    Make what trains them (optimiser, processes' wrapper, averages) inside the block.
    """

    def __init__(self, embeddings: nn.Embedding, ids: np.ndarray, special: Sequence[int]) -> None:
        """``ids`` of all training documents; ``special``: what else training looks up."""
        self.embeddings, self.all, self.padding = (
            embeddings,
            embeddings.weight,
            embeddings.padding_idx,
        )
        is_used = np.zeros(len(self.all), dtype=bool)
        is_used[ids] = is_used[list(special)] = True
        device = self.all.device
        self.used = torch.from_numpy(np.flatnonzero(is_used)).to(device)
        """[U] ids, ascending."""
        self.rows = nn.Parameter(self.all.detach()[self.used], self.all.requires_grad)
        """[U, d]"""
        # A word that is not in use has no row: to look it up is an error.
        self.places = torch.full((len(self.all),), -1, device=device)
        self.places[self.used] = torch.arange(len(self.used), device=device)

    def __enter__(self) -> TrainedWords:
        padding = -1 if self.padding is None else int(self.places[self.padding])
        self.embeddings.weight = self.rows
        self.embeddings.padding_idx = padding if padding >= 0 else None
        self.hook = self.embeddings.register_forward_pre_hook(self._rows_of)
        return self

    @torch.no_grad()
    def __exit__(self, *_: object) -> None:
        self.hook.remove()
        self.all[self.used] = self.rows
        self.embeddings.weight, self.embeddings.padding_idx = self.all, self.padding

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All rows are there, as trained so far; what the block makes of them is trained on."""
        self.__exit__()
        try:
            yield
        finally:
            with torch.no_grad():
                self.rows.copy_(self.all[self.used])
            self.__enter__()

    def _rows_of(self, _: nn.Module, given: tuple[Any, ...]) -> torch.Tensor:
        return self.places[given[0]]
