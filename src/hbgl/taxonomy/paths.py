"""Labels given as paths, and what to do with a name that stands under several of them."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from hbgl.errors import UsageError
from hbgl.taxonomy.draft import NO_PARENT, Draft
from hbgl.taxonomy.names import fold_name, quoted

__all__ = ["PathForest", "Repeated", "qualified_names"]

Repeated = Literal["join", "qualify"]

_MOST_QUALIFIERS = 8
"""Ancestors that a name may carry; without a limit a deep chain of one name grows quadratically."""


class PathForest:
    """The tree that paths spell; one node per path, whatever its name."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._nodes: dict[tuple[int, str], int] = {}
        self._lines = array("q")
        self._rooted = False
        self._unrooted: dict[str, int] = {}
        self._parents = array("i")
        self._names: list[str] = []
        self._words: dict[int, str] = {}

    def add_path(self, path: Sequence[str], line: int = 0) -> bool:
        """Add a path with all its beginnings; False if it was there already."""
        if isinstance(path, str):
            raise UsageError(f"a path is a sequence of labels, not the text {quoted(path)}")
        node, new = NO_PARENT, False
        for depth, name in enumerate(path):
            if depth > 0 or not self.begin(name, line):
                node, new = self.step(node, name, line)
        return new

    def begin(self, name: str, line: int = 0) -> bool:
        """Note how a path begins; True where that is the root, which is no label."""
        if name == self._draft.root:
            self._rooted = self._draft.root_seen = True
            return True
        self._unrooted.setdefault(name, line)
        return False

    def step(
        self, parent: int, name: str, line: int = 0, words: str | None = None
    ) -> tuple[int, bool]:
        """The node of a name below a node (-1 for the top), and whether it is new."""
        node = self._nodes.setdefault((parent, name), len(self._names))
        new = node == len(self._names)
        if new:
            self._names.append(name)
            self._parents.append(parent)
            self._lines.append(line)
        if words is not None:
            self._words[node] = words
        return node, new

    def finish(self, repeated: Repeated = "join") -> None:
        """Hand labels and edges to the draft."""
        if repeated not in ("join", "qualify"):
            raise UsageError(f'repeated is "join" or "qualify", not {quoted(str(repeated))}')
        if repeated == "qualify":
            self._qualify()
        self._check_one_root()
        seen: set[tuple[str | None, str]] = set()
        for name, parent, line in zip(self._names, self._parents, self._lines, strict=True):
            above = None if parent == NO_PARENT else self._names[parent]
            if (above, name) not in seen:
                seen.add((above, name))
                self._draft.edge(above, name, line)
        for node, words in self._words.items():
            self._draft.names[self._names[node]] = words

    def _check_one_root(self) -> None:
        if self._rooted:
            for name, line in self._unrooted.items():
                self._draft.fault(
                    f"two roots where one is promised: {quoted(name)} beside "
                    f"{quoted(self._draft.root)}",
                    line,
                )

    def _qualify(self) -> None:
        groups: dict[str, list[int]] = defaultdict(list)
        for node, name in enumerate(self._names):
            groups[fold_name(name)].append(node)
        plain = self._names.copy()
        taken = {fold for fold, nodes in groups.items() if len(nodes) == 1}
        for nodes in groups.values():
            if len(nodes) > 1:
                apart = self._told_apart(nodes, plain, taken)
                if apart is None:
                    self._draft.fault(
                        f"the labels called {quoted(plain[nodes[0]])} cannot be told apart by "
                        "their parents",
                        self._lines[nodes[1]],
                    )
                    continue
                taken.update(map(fold_name, apart))
                for node, longer in zip(nodes, apart, strict=True):
                    self._names[node] = longer

    def _told_apart(self, nodes: list[int], plain: list[str], taken: set[str]) -> list[str] | None:
        above: list[list[str]] = []
        for node in nodes:
            chain: list[str] = []
            while self._parents[node] != NO_PARENT and len(chain) < _MOST_QUALIFIERS:
                node = self._parents[node]
                chain.append(plain[node])
            above.append(chain)
        for count in range(1, _MOST_QUALIFIERS + 1):
            apart = [
                _qualified(plain[node], chain[:count])
                for node, chain in zip(nodes, above, strict=True)
            ]
            folds = {fold_name(name) for name in apart}
            if len(folds) == len(apart) and taken.isdisjoint(folds):
                return apart
        return None


def qualified_names(path: Sequence[str]) -> Iterator[str]:
    """The names that the last label of a path may carry: plain first, then told apart.

    >>> list(qualified_names(["Health", "Medical", "Depression"]))
    ['Depression', 'Depression (Medical)', 'Depression (Medical, Health)']
    """
    above = list(path[-2 : -2 - _MOST_QUALIFIERS : -1])
    for count in range(len(above) + 1):
        yield _qualified(path[-1], above[:count])


def _qualified(name: str, above: list[str]) -> str:
    return f"{name} ({', '.join(above)})" if above else name
