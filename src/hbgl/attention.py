"""Who sees whom: every mask of the method as a boolean matrix, True = may attend.

HBGL is mostly masks. Each has a named constructor here and a matrix written by hand in the tests.
The order of the label stream is ``[u_1 .. u_D, m_1 .. m_D]``: true (or predicted) levels first,
then the masked levels that are to be predicted.
"""

from __future__ import annotations

import numpy as np
import torch

from hbgl.taxonomy import Taxonomy

__all__ = [
    "global_root_mask",
    "global_self_mask",
    "label_step_mask",
    "label_training_mask",
    "long_sequence_mask",
    "text_mask",
]


def text_mask(lengths: torch.Tensor, width: int) -> torch.Tensor | None:
    """Which text positions are real: [B] lengths -> [B, width], or None where all of them are."""
    if bool((lengths == width).all()):
        return None
    return torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]


def label_training_mask(levels: int, device: torch.device | None = None) -> torch.Tensor:
    """Labels among labels in training, [2D, 2D].

    u_h sees u_1..u_h; m_h sees u_1..u_{h-1} and itself; nobody else sees m_h.
    """
    if levels < 1:
        raise ValueError(f"levels must be 1 or more, not {levels}")
    square = torch.ones(levels, levels, dtype=torch.bool, device=device)
    nothing = torch.zeros_like(square)
    itself = torch.eye(levels, dtype=torch.bool, device=device)
    upper = torch.cat([square.tril(0), nothing], dim=1)
    lower = torch.cat([square.tril(-1), itself], dim=1)
    return torch.cat([upper, lower], dim=0)


def label_step_mask(level: int, device: torch.device | None = None) -> torch.Tensor:
    """Labels among labels in one prediction step.

    Level 1 has one query, m_1, and no past: [1, 1]. Level h > 1 has two queries, u_{h-1} and m_h,
    over the keys u_1..u_{h-2} (cached), u_{h-1}, m_h: [2, h], where u_{h-1} does not see m_h.
    """
    if level < 1:
        raise ValueError(f"level must be 1 or more, not {level}")
    if level == 1:
        return torch.ones(1, 1, dtype=torch.bool, device=device)
    mask = torch.ones(2, level, dtype=torch.bool, device=device)
    mask[0, -1] = False
    return mask


def long_sequence_mask(lengths: torch.Tensor, width: int, levels: int) -> torch.Tensor:
    """The whole training sequence ``[text, u_1..u_D, m_1..m_D]``, [B, width + 2D, width + 2D].

    Text sees text only; labels see the text and labels as in :func:`label_training_mask`. This is
    what the two streams must equal; nothing but tests and benchmarks computes with it.
    """
    batch, total = len(lengths), width + 2 * levels
    mask = torch.zeros(batch, total, total, dtype=torch.bool, device=lengths.device)
    real = torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]
    mask[:, :, :width] = real[:, None, :]
    mask[:, width:, width:] = label_training_mask(levels, lengths.device)
    return mask


def global_self_mask(taxonomy: Taxonomy) -> np.ndarray:
    """The paper's global mask, [L, L]: i sees itself, its parents and its children."""
    mask = np.eye(len(taxonomy), dtype=bool)
    parents, children = taxonomy.edges.T
    mask[parents, children] = True
    mask[children, parents] = True
    return mask


def global_root_mask(taxonomy: Taxonomy) -> np.ndarray:
    """The authors' global mask over ``[CLS], labels, [SEP]``, [L + 2, L + 2].

    A label sees its parents and children but not itself; [CLS] stands for the root: it and the
    labels of level 1 see each other, and it sees itself; [SEP] sees only itself.
    """
    size = len(taxonomy)
    mask = np.zeros((size + 2, size + 2), dtype=bool)
    parents, children = taxonomy.edges.T + 1
    mask[parents, children] = True
    mask[children, parents] = True
    top = np.flatnonzero(taxonomy.levels == 1) + 1
    mask[0, top] = mask[top, 0] = True
    mask[0, 0] = mask[-1, -1] = True
    return mask
