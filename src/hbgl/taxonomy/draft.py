"""What a source says about a taxonomy, before it is known to be right.

Every reader fills a `Draft`; `hbgl.taxonomy.validate` finds its faults, `Draft.order` gives each
label its place. Nodes are numbered by first appearance, edges are kept in flat arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hbgl.errors import Fault
from hbgl.taxonomy.adjacency import IntArray
from hbgl.taxonomy.names import ROOT, quoted

__all__ = ["NO_PARENT", "Draft", "Order"]

NO_PARENT = -1
"""Stands for the root in `Draft.parents`: the root is not a label."""


@dataclass(frozen=True)
class Order:
    """The labels in their final order, with levels [L] and edges [E, 2] by final id."""

    labels: tuple[str, ...]
    levels: IntArray
    edges: IntArray


class Draft:
    """Labels and edges as they were read, with the line of each, and the faults so far."""

    def __init__(self, file: str | None = None, *, root: str = ROOT) -> None:
        self.file = file
        self.root = root
        self.root_seen = False
        """The source names the root, and so promises that every label hangs below it."""
        self.labels: dict[str, int] = {}
        self.first_lines = array("q")
        self.parents = array("i")
        self.children = array("i")
        self.lines = array("q")
        self.names: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.locate: Callable[[str], int] | None = None
        """Finds the line of a name in sources whose parser does not say it; 0 if unknown."""

    def fault(self, message: str, line: int = 0) -> None:
        """Note a fault; line 0 means that the place is not known."""
        self.faults.append(Fault(message, self.file, line or None))

    def label(self, name: str, line: int = 0) -> int:
        """The number of a label, new at its first appearance."""
        number = self.labels.setdefault(name, len(self.labels))
        if number == len(self.first_lines):
            self.first_lines.append(line)
        return number

    def edge(self, parent: str | None, child: str, line: int = 0) -> None:
        """Note that child hangs below parent; below the root where parent is None."""
        if not child.strip() or (parent is not None and not parent.strip()):
            self.fault("empty name", line)
            return
        if child == self.root:
            self.root_seen = True
            self.fault(f"the root {quoted(child)} stands below {quoted(parent or '')}", line)
            return
        number = NO_PARENT
        if parent == self.root:
            self.root_seen = True
        elif parent is not None:
            number = self.label(parent, line)
        self.parents.append(number)
        self.children.append(self.label(child, line))
        self.lines.append(line)

    def edge_arrays(self) -> tuple[IntArray, IntArray]:
        """Parents [E] and children [E] by draft number; the parent is -1 below the root."""
        # Copies: a view would forbid the arrays to grow.
        return np.array(self.parents, np.int32), np.array(self.children, np.int32)

    def levels(self) -> list[int]:
        """Levels by draft number, 1 + the highest level of the parents; 0 on and below a cycle."""
        starts, targets, waiting = self._downward()
        levels = [0] * len(self.labels)
        ready = [node for node, count in enumerate(waiting) if count == 0]
        reached = [1] * len(self.labels)
        while ready:
            node = ready.pop()
            levels[node] = reached[node]
            for child in targets[starts[node] : starts[node + 1]]:
                reached[child] = max(reached[child], levels[node] + 1)
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        return levels

    def order(self) -> Order:
        """Labels by level, then by their first parent, then by first appearance.

        Siblings so stay together and a file with one line per inner node keeps the order.
        The draft must be free of faults.
        """
        levels = self.levels()
        parents, children = self.edge_arrays()
        inner = parents != NO_PARENT
        parents, children = parents[inner], children[inner]
        by_level: list[list[int]] = [[] for _ in range(max(levels))]
        for node, level in enumerate(levels):
            by_level[level - 1].append(node)
        starts, targets, _ = self._downward()
        first_parent = [NO_PARENT] * len(levels)
        final = np.empty(len(levels), np.int32)
        ordered: list[int] = []
        for nodes in by_level:
            nodes.sort(key=lambda node: (first_parent[node], node))
            for node in nodes:
                final[node] = place = len(ordered)
                ordered.append(node)
                for child in targets[starts[node] : starts[node + 1]]:
                    # Places only grow, so the first one noted is the smallest.
                    if first_parent[child] == NO_PARENT:
                        first_parent[child] = place
        names = list(self.labels)
        edges = np.stack([final[parents], final[children]], axis=1)
        return Order(
            labels=tuple(names[node] for node in ordered),
            levels=np.array([levels[node] for node in ordered], np.int32),
            edges=edges[np.lexsort((edges[:, 1], edges[:, 0]))],
        )

    def _downward(self) -> tuple[list[int], list[int], list[int]]:
        """The children of each label as one flat list with starts, and each label's in-degree."""
        parents, children = self.edge_arrays()
        inner = parents != NO_PARENT
        parents, children = parents[inner], children[inner]
        count = len(self.labels)
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(parents, minlength=count), out=starts[1:])
        targets = children[np.argsort(parents, kind="stable")]
        waiting = np.bincount(children, minlength=count)
        return starts.tolist(), targets.tolist(), waiting.tolist()
