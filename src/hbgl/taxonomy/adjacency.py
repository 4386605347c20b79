"""Who is next to whom, as compressed sparse rows; the taxonomy keeps one for each direction."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

__all__ = ["Adjacency", "IntArray"]

IntArray = npt.NDArray[np.int32]


class Adjacency:
    """The neighbours of node i are ``targets[starts[i] : starts[i + 1]]``, sorted."""

    def __init__(self, sources: IntArray, targets: IntArray, count: int) -> None:
        """Take edges [E], sources to targets, between ``count`` nodes."""
        order = np.lexsort((targets, sources))
        self.starts = np.zeros(count + 1, np.int32)
        np.cumsum(np.bincount(sources, minlength=count), out=self.starts[1:])
        self.targets = np.asarray(targets[order], np.int32)
        self.targets.flags.writeable = False

    def row(self, node: int) -> IntArray:
        """The neighbours of a node."""
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def reached(self, nodes: Iterable[int]) -> set[int]:
        """The nodes and all that can be reached from them."""
        starts, targets = self.lists
        found = set(nodes)
        waiting = list(found)
        while waiting:
            node = waiting.pop()
            for near in targets[starts[node] : starts[node + 1]]:
                if near not in found:
                    found.add(near)
                    waiting.append(near)
        return found

    @cached_property
    def lists(self) -> tuple[list[int], list[int]]:
        """Starts and targets as plain lists: walking these is several times faster."""
        return self.starts.tolist(), self.targets.tolist()
