"""Which labels are masked at a step, and what the masked ones are to predict.

Masked leaves with the same parents see the same and start from the same [MASK] vector, so the
encoder gives them one and the same state. They form a *group*: one row is computed for all masked
leaves of a group and counts as often as there are of them. Exact, and far less work.
Symbols: L labels, B masks of a step, R rows (one per masked inner label and group and mask).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy

__all__ = ["LeafGroups", "MaskedRows", "draw_masks", "global_targets", "leaf_groups", "mask_ratio"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def mask_ratio(settings: GlobalStage, step: int) -> float:
    """The share of masked labels at a step, linear: start at step 0, end at the last step."""
    if settings.steps < 2:
        return settings.mask_ratio_start
    done = min(step / (settings.steps - 1), 1.0)
    return settings.mask_ratio_start + done * (settings.mask_ratio_end - settings.mask_ratio_start)


def draw_masks(labels: int, settings: GlobalStage, seed: int, step: int) -> BoolArray:
    """The masks of a step, bool [B, L]: a pure function of settings, seed and step.

    Every mask hides the same number of labels, the ratio's share, at least one.
    """
    state = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    generator = torch.Generator().manual_seed(int(state[0] >> np.uint64(1)))
    count = min(labels, max(1, round(mask_ratio(settings, step) * labels)))
    order = torch.rand(settings.masks_per_step, labels, generator=generator).argsort(dim=1)
    masks = np.zeros((settings.masks_per_step, labels), dtype=bool)
    np.put_along_axis(masks, order[:, :count].numpy(), True, axis=1)
    return masks


@dataclass(frozen=True, slots=True)
class LeafGroups:
    """The leaves by their set of parents."""

    of_label: IntArray
    """[L] the group of a leaf; inner labels have one each, for themselves."""
    is_leaf: BoolArray
    """[L]"""
    parents: sparse.csr_array
    """[L, L + 1] leaf by parent; column L is the virtual root above the roots of the forest."""


def leaf_groups(taxonomy: Taxonomy) -> LeafGroups:
    """The leaves of a taxonomy by their set of parents.

    A leaf that is a root of the forest has the virtual root as its parent: two such leaves are
    siblings, as two leaves under any other common parent are. Without that a flat label set could
    not be told apart when masked.
    """
    size = len(taxonomy)
    is_leaf = np.zeros(size, dtype=bool)
    is_leaf[taxonomy.leaves] = True
    of_label = np.arange(size, dtype=np.int64)
    known: dict[bytes, int] = {}
    rows, columns = [], []
    for leaf in map(int, taxonomy.leaves):
        parents = np.asarray(taxonomy.parents(leaf), dtype=np.int64)
        if not len(parents):
            parents = np.array([size])
        rows.append(np.full(len(parents), leaf))
        columns.append(parents)
        of_label[leaf] = known.setdefault(parents.tobytes(), leaf)
    place = (np.concatenate(rows), np.concatenate(columns))
    incidence = sparse.csr_array(
        (np.ones(len(place[0]), dtype=np.int32), place), shape=(size, size + 1)
    )
    return LeafGroups(of_label, is_leaf, incidence)


@dataclass(frozen=True, slots=True)
class MaskedRows:
    """The rows of the loss, over all masks given: [R] each; and their targets, [P] pairs."""

    mask: IntArray
    label: IntArray
    """The label that stands for the row's group."""
    weight: IntArray
    """How many masked labels the row stands for."""
    target_row: IntArray
    """Ascending."""
    target_label: IntArray

    @classmethod
    def of(cls, groups: LeafGroups, masks: BoolArray, *, together: bool = True) -> MaskedRows:
        """Rows of masks [B, L], by mask, then by label.

        :param together: one row for all masked leaves of a group; else one per masked label.
        """
        size = masks.shape[1]
        mask, label = np.nonzero(masks)
        if together:
            keys = mask * size + groups.of_label[label]
            _, first, weight = np.unique(keys, return_index=True, return_counts=True)
            order = np.argsort(first)
            mask, label, weight = mask[first[order]], label[first[order]], weight[order]
        else:
            weight = np.ones(len(label), dtype=np.int64)
        bounds = np.searchsorted(mask, np.arange(len(masks) + 1))
        pairs = [
            _targets(groups, label[low:high], one, low)
            for one, low, high in zip(masks, bounds[:-1], bounds[1:], strict=True)
        ]
        row, target = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return cls(mask, label, weight, row, target)


def _targets(
    groups: LeafGroups, labels: IntArray, masked: BoolArray, offset: int
) -> tuple[IntArray, IntArray]:
    """The pairs (row, label) that are 1: rows are numbered from ``offset``."""
    leaves = np.flatnonzero(masked & groups.is_leaf)
    # A leaf shares a parent with itself, so its own column is among them.
    shared = (groups.parents[labels] @ groups.parents[leaves].T).tocoo()
    inner = np.flatnonzero(~groups.is_leaf[labels])
    rows = np.concatenate([shared.coords[0].astype(np.int64), inner])
    targets = np.concatenate([leaves[shared.coords[1]], labels[inner]])
    order = np.lexsort((targets, rows))
    return rows[order] + offset, targets[order]


def global_targets(
    taxonomy: Taxonomy, masked: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The targets of one mask, written out.

    Row i (a masked label) is 1 at i and, where i is a leaf, at every other masked leaf that shares
    a parent with it, and 0 elsewhere. Leaves that are roots of the forest share the virtual root.

    :param masked: bool [L].
    :returns: the masked labels [M]; and the places of the ones: rows [P], numbered 0..M-1, and
        label ids [P], sorted by row, then label.
    """
    rows = MaskedRows.of(leaf_groups(taxonomy), masked.cpu().numpy()[None, :], together=False)
    found = (rows.label, rows.target_row, rows.target_label)
    labels, target_rows, target_labels = (torch.from_numpy(part) for part in found)
    return labels, target_rows, target_labels
