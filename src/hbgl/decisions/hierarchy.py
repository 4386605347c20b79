"""Parents and children of a taxonomy as index tensors, one set per level.

Everything goes along the edges, so a label may have thousands of children and several parents.
Shapes: B documents, L labels, C labels of the level, E edges into the level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from hbgl.taxonomy import Taxonomy

__all__ = ["LevelEdges", "level_edges"]


@dataclass(frozen=True, slots=True)
class LevelEdges:
    """The edges into one level."""

    columns: slice
    """the level's labels"""
    parents: torch.Tensor
    """[E] ids"""
    children: torch.Tensor
    """[E] places in the level, 0..C-1"""
    single: bool
    """each label of the level has exactly one parent, in the order of the labels"""
    closing: torch.Tensor
    """[E] boolean: the parent's last children are on this level"""
    all_parents: torch.Tensor
    """[F] ids, of every edge whose parent has its last children on this level"""
    all_children: torch.Tensor
    """[F] ids, the other ends: children on this level and on those above"""

    def best_parent(self, values: torch.Tensor) -> torch.Tensor:
        """The largest value among each label's parents: [B, L] -> [B, C]."""
        of_parents = values[:, self.parents]
        if self.single:
            return of_parents
        count = self.columns.stop - self.columns.start
        # -1 and not 0: a boolean or a probability of 0 must be able to win.
        best = of_parents.new_full((len(values), count), -1)
        places = self.children.expand(len(values), -1)
        return best.scatter_reduce(1, places, of_parents, "amax")


def level_edges(taxonomy: Taxonomy, device: torch.device) -> list[LevelEdges]:
    """The edges into each level, roots first (no edges lead there)."""
    order = np.argsort(taxonomy.edges[:, 1], kind="stable")
    parents, children = taxonomy.edges[order].astype(np.int64).T
    last = np.zeros(len(taxonomy), dtype=np.int64)
    np.maximum.at(last, parents, taxonomy.levels[children])

    def indices(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(device)

    found = []
    for level in range(1, taxonomy.depth + 1):
        columns = taxonomy.level_slice(level)
        mine = taxonomy.levels[children] == level
        ends = last[parents] == level
        places = children[mine] - columns.start
        found.append(
            LevelEdges(
                columns,
                indices(parents[mine]),
                indices(places),
                bool(np.array_equal(places, np.arange(columns.stop - columns.start))),
                indices(ends[mine]),
                indices(parents[ends]),
                indices(children[ends]),
            )
        )
    return found
