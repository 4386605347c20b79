"""The loss of each label: binary cross-entropy, and two forms of it for rare labels.

With p the label's probability and t whether it is true:

    bce         -t log p - (1 - t) log(1 - p)
    asymmetric  -t log p - (1 - t) q^gamma log(1 - q),  q = max(p - margin, 0)
    balanced    -w t log p - (1 - t) log(1 - p),        w in proportion to (1 - beta) / (1 - beta^n)

Asymmetric (Ridnik et al., 2021, with gamma+ = 0): a negative that is easy already loses little, one
below the margin nothing, so that the many negatives of a rare label do not drown its positives.
The factor q^gamma is a weight: no gradient goes through it.

Balanced (Cui et al., 2019): n is the number of the label's training documents, (1 - beta^n) /
(1 - beta) their effective number. Weights of a level average to 1. Shapes: B documents, L labels,
C columns (L, some of them, or L + 1 with a [SEP] class).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from hbgl.errors import UsageError
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy

__all__ = ["LabelLoss", "TrueParents", "asymmetric_entropy", "balanced_weights"]


class LabelLoss(nn.Module):
    """The loss that the settings name, label by label; it has no parameters and saves nothing."""

    weights: torch.Tensor | None
    """[L] of positives, of the balanced loss."""

    def __init__(self, settings: ModelSettings, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.settings, self.taxonomy = settings, taxonomy
        self.register_buffer("weights", None, persistent=False)

    def count(self, documents: npt.ArrayLike) -> None:
        """Take the training documents of each label, [L]; only the balanced loss needs them."""
        if self.settings.loss == "balanced":
            weights = balanced_weights(documents, self.taxonomy, self.settings.balanced_beta)
            self.weights = torch.from_numpy(weights)

    def forward(
        self, logits: torch.Tensor, targets: torch.Tensor, columns: slice | None = None
    ) -> torch.Tensor:
        """Logits and targets [..., C] -> losses [..., C].

        :param columns: the labels that the columns are; None: all, perhaps with [SEP] after them.
        """
        targets = targets.to(logits.dtype)
        if self.settings.loss == "asymmetric":
            gamma, margin = self.settings.asymmetric_gamma, self.settings.asymmetric_margin
            return asymmetric_entropy(logits, targets, gamma, margin)
        weights = None
        if self.settings.loss == "balanced":
            weights = self._positive_weights(columns, logits.shape[-1])
        return functional.binary_cross_entropy_with_logits(
            logits, targets, reduction="none", pos_weight=weights
        )

    def _positive_weights(self, columns: slice | None, count: int) -> torch.Tensor:
        if self.weights is None:
            raise UsageError(
                "the balanced loss needs the number of training documents of each label; "
                "train with fit(), which counts them"
            )
        if columns is not None:
            return self.weights[columns]
        return functional.pad(self.weights, (0, count - len(self.weights)), value=1.0)


class TrueParents(nn.Module):
    """Which labels a document's true labels lead to; saves nothing."""

    upper: torch.Tensor
    """[E] ids of parents"""
    lower: torch.Tensor
    """[E] ids of their children"""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.roots = taxonomy.level_slice(1)
        edges = torch.from_numpy(taxonomy.edges.astype(np.int64))
        self.register_buffer("upper", edges[:, 0].contiguous(), persistent=False)
        self.register_buffer("lower", edges[:, 1].contiguous(), persistent=False)

    def forward(self, gold: torch.Tensor) -> torch.Tensor:
        """True labels [B, L] -> [B, L] boolean: labels of level 1, and those with a true parent."""
        places = self.lower.expand(len(gold), -1)
        offered = gold[:, self.upper].to(torch.int8)
        found = torch.zeros_like(gold, dtype=torch.int8).scatter_reduce(1, places, offered, "amax")
        found[:, self.roots] = 1
        return found > 0


def asymmetric_entropy(
    logits: torch.Tensor, targets: torch.Tensor, gamma: float, margin: float
) -> torch.Tensor:
    """The asymmetric loss of logits, of any shape.

    A negative of p = 0.55 with margin 0.05 and gamma 2: q = 0.5, -0.25 log 0.5 = 0.1733.

    >>> logit = torch.logit(torch.tensor([0.55]))
    >>> asymmetric_entropy(logit, torch.tensor([0.0]), gamma=2.0, margin=0.05)
    tensor([0.1733])
    """
    kept = torch.sigmoid(-logits)  # 1 - p
    if margin > 0:
        lost = -torch.log((kept + margin).clamp(max=1.0))
    else:  # without a margin 1 - p may round to 0
        lost = -functional.logsigmoid(-logits)
    weight = (1.0 - kept - margin).clamp(min=0.0).pow(gamma).detach()
    return -targets * functional.logsigmoid(logits) + (1.0 - targets) * weight * lost


def balanced_weights(
    documents: npt.ArrayLike, taxonomy: Taxonomy, beta: float
) -> npt.NDArray[np.float32]:
    """Weights of positives [L] from the training documents of each label.

    In proportion to ``(1 - beta) / (1 - beta^n)``, averaging to 1 over the labels of a level that
    have documents; a label without any has no positive to weigh and gets 1.
    """
    counts = np.asarray(documents, dtype=np.float64).reshape(-1)
    known = counts > 0
    weights = np.ones(len(taxonomy))
    if beta > 0:
        # 1 - beta^n without the cancellation of a beta near 1
        weights[known] = (1.0 - beta) / -np.expm1(counts[known] * math.log(beta))
    for level in range(1, taxonomy.depth + 1):
        columns = taxonomy.level_slice(level)
        here = known[columns]
        if here.any():
            weights[columns][here] /= weights[columns][here].mean()
    return weights.astype(np.float32)
