"""Walks along a taxonomy for many documents at once, over keys ``document * L + label``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hbgl.metrics.label_keys import FloatArray, IntArray, are_among, distinct_keys
from hbgl.taxonomy.adjacency import Adjacency

if TYPE_CHECKING:
    from hbgl.taxonomy import Taxonomy

__all__ = ["LabelGraph"]


class LabelGraph:
    """Parents of labels; each function takes and gives sorted keys, each key once."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        """Take the edges and levels of a taxonomy."""
        self.width: int = len(taxonomy)
        self.levels: IntArray = taxonomy.levels.astype(np.int64)
        self.level_slices: list[slice] = [
            taxonomy.level_slice(level) for level in range(1, taxonomy.depth + 1)
        ]
        self.is_leaf: npt.NDArray[np.bool_] = np.zeros(self.width, dtype=bool)
        self.is_leaf[taxonomy.leaves] = True
        parents, children = taxonomy.edges[:, 0], taxonomy.edges[:, 1]
        up = Adjacency(children, parents, self.width)
        self.starts: IntArray = up.starts.astype(np.int64)
        self.targets: IntArray = up.targets.astype(np.int64)

    def labels(self, keys: IntArray) -> IntArray:
        """The label of each key."""
        return keys % self.width

    def are_roots(self, keys: IntArray) -> npt.NDArray[np.bool_]:
        """Which keys are of labels of level 1."""
        roots: npt.NDArray[np.bool_] = self.levels[self.labels(keys)] == 1
        return roots

    def parents(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Each key's parents: positions in ``keys`` [E], sorted, and keys of the parents [E]."""
        labels = self.labels(keys)
        first = self.starts[labels]
        counts = self.starts[labels + 1] - first
        positions = np.repeat(np.arange(len(keys)), counts)
        # Of key i's parents, number j stands at first[i] + j.
        number = np.arange(len(positions)) - np.repeat(np.cumsum(counts) - counts, counts)
        above = self.targets[np.repeat(first, counts) + number]
        return positions, np.repeat(keys - labels, counts) + above

    def closure(self, keys: IntArray) -> IntArray:
        """The keys with those of all ancestors."""
        found = fresh = keys
        while len(fresh):
            above = distinct_keys(self.parents(fresh)[1])
            fresh = above[~are_among(above, found)]
            if len(fresh):
                found = np.concatenate([found, fresh])
                found.sort(kind="stable")
        return found

    def most_specific(self, keys: IntArray) -> IntArray:
        """The keys that are no ancestor of another one of the same document."""
        above = self.closure(distinct_keys(self.parents(keys)[1]))
        return keys[~are_among(keys, above)]

    def edges(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """The edges between the keys: positions of the child and of the parent, by child."""
        children, above = self.parents(keys)
        inside = are_among(above, keys)
        return children[inside], np.searchsorted(keys, above[inside])

    def chains(
        self,
        keys: IntArray,
        starts: npt.NDArray[np.bool_] | None = None,
        edges: tuple[IntArray, IntArray] | None = None,
    ) -> FloatArray:
        """How many chains of keys, each the child of the one before, end at each key.

        Args:
            keys: Only these are walked along.
            starts: Where a chain may start; at labels of level 1 if None.
            edges: What ``edges(keys)`` gave, if it was asked for before.
        """
        starts = self.are_roots(keys) if starts is None else starts
        children, parents = self.edges(keys) if edges is None else edges
        counts = starts.astype(np.float64)
        levels = self.levels[self.labels(keys[children])]
        order = np.argsort(levels, kind="stable")  # so the children of a level stay sorted
        steps = np.flatnonzero(np.diff(levels[order])) + 1
        for step in np.split(order, steps) if len(order) else []:
            child = children[step]
            first = np.flatnonzero(np.concatenate([[True], child[1:] != child[:-1]]))
            counts[child[first]] += np.add.reduceat(counts[parents[step]], first)
        return counts
