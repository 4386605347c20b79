"""What a level of the label hierarchy hands down to those below it: its vector u_h.

Chosen labels, as in the paper: ``u_h = sum of Y_j over them``, [SEP] where there are none.
Expected: with p_j the model's own probability of label j,

    u_h = sum_j p_j Y_j + (prod_j (1 - p_j)) [SEP]

which is the mean of the paper's u_h over labels that are drawn independently with their
probabilities: the factor of [SEP] is the probability that none is drawn, so that an improbable
level fades into [SEP] instead of jumping there. For probabilities of 0 and 1 both are the same.

The probabilities are plain sigmoids: calibration and rule decide which labels are answered, and
move no score. Shapes: B documents, L labels, C labels of the level, d width.
"""

from __future__ import annotations

import torch

from hbgl.settings.choices import LevelInput

__all__ = ["labels_handed_down", "level_vector"]


def labels_handed_down(
    kind: LevelInput, floor: float, chosen: torch.Tensor, scores: torch.Tensor
) -> torch.Tensor:
    """What :func:`level_vector` makes a level's vector of, [B, L]: ``chosen``, or probabilities.

    :param floor: probabilities that are not above it count as 0.
    :param scores: [B, L] before the sigmoid.
    """
    if kind == "chosen":
        return chosen
    shares = torch.sigmoid(scores.float())
    return torch.where(shares > floor, shares, 0.0)


def level_vector(labels: torch.Tensor, vectors: torch.Tensor, sep: torch.Tensor) -> torch.Tensor:
    """A level's u, [B, d]: labels [B, C] as booleans or probabilities, vectors [C, d].

    >>> vectors, sep = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([10.0, 10.0])
    >>> level_vector(torch.tensor([[True, True], [False, False]]), vectors, sep)
    tensor([[ 1.,  1.],
            [10., 10.]])
    >>> level_vector(torch.tensor([[0.5, 0.2]]), vectors, sep)  # none of both: 0.5 * 0.8 = 0.4
    tensor([[4.5000, 4.2000]])
    """
    with torch.autocast(vectors.device.type, enabled=False):
        summed = labels.to(vectors.dtype) @ vectors
        if labels.dtype == torch.bool:
            return torch.where(labels.any(dim=1, keepdim=True), summed, sep)
        return summed + (1.0 - labels).prod(dim=1, keepdim=True) * sep
