"""The taxonomy: labels with ids, levels and parents, kept in flat arrays.

100,000 labels take tens of megabytes, and walks over them are loops, not recursion: a chain of
labels may be of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from hbgl.errors import TaxonomyError
from hbgl.taxonomy.adjacency import Adjacency, IntArray
from hbgl.taxonomy.draft import Draft, Order
from hbgl.taxonomy.names import PATH_SEPARATOR, ROOT, LabelNames, quoted
from hbgl.taxonomy.nearest import NearestNames
from hbgl.taxonomy.paths import PathForest, Repeated, qualified_names
from hbgl.taxonomy.validate import check_draft
from hbgl.taxonomy.words import check_names

__all__ = ["Taxonomy"]


class Taxonomy:
    """A forest, tree or directed acyclic graph of labels.

    Ids are 0..L-1 by level, then by first parent, then by first appearance in the source, so each
    level is one slice of ids. ``level(v) = 1 + max(level(parent))``; roots of the forest are 1.
    Equal are taxonomies with the same labels, edges and names.

    >>> taxonomy = Taxonomy.from_paths([("science", "physics"), ("sports",)])
    >>> taxonomy.labels
    ('science', 'sports', 'physics')
    >>> taxonomy.closure(taxonomy.ids(["physics"])).tolist()
    [0, 2]
    """

    def __init__(self, order: Order, names: Mapping[str, str] | None = None) -> None:
        """Take labels that are checked and in order; use `from_edges` or `from_paths` instead."""
        self.labels: tuple[str, ...] = order.labels
        self.levels: IntArray = _frozen(order.levels)
        self.edges: IntArray = _frozen(order.edges)
        self._index = {label: i for i, label in enumerate(order.labels)}
        self.names: LabelNames = LabelNames(self.labels, self._index, names or {})
        parents, children = self.edges[:, 0], self.edges[:, 1]
        self._up = Adjacency(children, parents, len(self))
        self._down = Adjacency(parents, children, len(self))
        self._level_starts: list[int] = np.searchsorted(
            self.levels, np.arange(1, self.depth + 2)
        ).tolist()

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[str, str]],
        *,
        labels: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
        root: str = ROOT,
    ) -> Taxonomy:
        """Build from (parent, child) pairs.

        Args:
            edges: Each pair once. A parent named as the root puts the child at the top.
            labels: Labels that exist even without an edge, and an order of first appearance.
            names: Label -> words, for some or all labels.
            root: The name that stands for the root.
        """
        draft = Draft(root=root)
        for label in labels:
            draft.label(label)
        declared = len(draft.labels)
        for parent, child in edges:
            draft.edge(parent, child)
        placed = set(draft.children)
        for label, number in list(draft.labels.items())[:declared]:
            if number not in placed:
                draft.edge(None, label)
        return cls.from_draft(draft, names=names)

    @classmethod
    def from_paths(
        cls,
        paths: Iterable[Sequence[str]],
        *,
        repeated: Repeated = "join",
        names: Mapping[str, str] | None = None,
        root: str = ROOT,
    ) -> Taxonomy:
        """Build from paths such as ``("science", "physics")``; a leading root is left out.

        Args:
            paths: Each path may come any number of times, and part of a path counts as well.
            repeated: A name under two paths is one label with several parents (``"join"``) or
                several labels named apart, as in ``"Depression (Medical)"`` (``"qualify"``).
            names: Label -> words, for some or all labels.
            root: The name that stands for the root.
        """
        draft = Draft(root=root)
        forest = PathForest(draft)
        for path in paths:
            forest.add_path(path)
        forest.finish(repeated)
        return cls.from_draft(draft, names=names)

    @classmethod
    def from_draft(
        cls,
        draft: Draft,
        *,
        names: Mapping[str, str] | None = None,
        root_promised: bool = False,
    ) -> Taxonomy:
        """Check what a reader found, and build; raises all faults at once."""
        check_draft(draft, root_promised=root_promised)
        taxonomy = cls(draft.order())
        own = {**draft.names, **(names or {})}
        return taxonomy.with_names(own) if own else taxonomy

    def with_names(self, names: Mapping[str, str]) -> Taxonomy:
        """The same taxonomy with other words for its labels; the default where names has none."""
        check_names(names, self._index)
        return Taxonomy(Order(self.labels, self.levels, self.edges), names)

    def __len__(self) -> int:
        """The number of labels, L."""
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        """Whether there is such a label."""
        return label in self._index

    def __iter__(self) -> Iterator[str]:
        """The labels, by id."""
        return iter(self.labels)

    def __eq__(self, other: object) -> bool:
        """Same labels in the same order, same edges, same names."""
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return (
            self.labels == other.labels
            and np.array_equal(self.edges, other.edges)
            and self.names.own == other.names.own
        )

    def __hash__(self) -> int:
        """Agrees with equality; names and edges are left to the comparison."""
        return hash(self.labels)

    def __repr__(self) -> str:
        """``Taxonomy(141 labels, depth 2, tree)``."""
        kind = "tree" if self.is_tree else "several parents"
        return f"Taxonomy({len(self)} labels, depth {self.depth}, {kind})"

    @property
    def depth(self) -> int:
        """The number of levels, D."""
        return int(self.levels[-1])

    @property
    def is_tree(self) -> bool:
        """No label has several parents. A forest counts: its trees hang below one root."""
        return len(self.edges) == len(self) - self._level_starts[1]

    @cached_property
    def leaves(self) -> IntArray:
        """Ids of the labels without children."""
        return _frozen(np.flatnonzero(np.diff(self._down.starts) == 0).astype(np.int32))

    def id(self, label: str) -> int:
        """The id of a label; an unknown one is refused with the nearest known names."""
        found = self._index.get(label)
        if found is None:
            raise TaxonomyError(f"unknown label {quoted(label)}{self._nearest.hint(label)}")
        return found

    def ids(self, labels: Iterable[str]) -> IntArray:
        """The ids of labels, in the order given."""
        return np.array([self.id(label) for label in labels], np.int32)

    def path_ids(self, path: Sequence[str]) -> IntArray:
        """The ids along a path from the top; a label named apart is found by its plain name.

        With ``"Depression (Medical)"`` in the taxonomy, ``("Medical", "Depression")`` leads there.
        """
        if path and path[0] == ROOT:
            path = path[1:]
        found: list[int] = []
        for depth in range(1, len(path) + 1):
            for name in qualified_names(path[:depth]):
                step = self._index.get(name, -1)
                if step >= 0 and self._continues(found, step):
                    found.append(step)
                    break
            else:
                below = self.children(found[-1]) if found else range(self._level_starts[1])
                hint = NearestNames([self.labels[i] for i in below]).hint(path[depth - 1])
                raise TaxonomyError(
                    f"there is no path {quoted(PATH_SEPARATOR.join(path[:depth]))}{hint}"
                )
        return np.array(found, np.int32)

    def nearest(self, label: str, count: int = 3) -> list[str]:
        """The known labels nearest to an unknown one, for messages."""
        return self._nearest.suggest(label, count)

    def level_slice(self, level: int) -> slice:
        """The ids of one level, 1..D."""
        if not 1 <= level <= self.depth:
            raise TaxonomyError(f"there is no level {level}: levels are 1 to {self.depth}")
        return slice(self._level_starts[level - 1], self._level_starts[level])

    def parents(self, i: int) -> IntArray:
        """Ids of the parents of a label, sorted."""
        self._check_ids((i,))
        return self._up.row(i)

    def children(self, i: int) -> IntArray:
        """Ids of the children of a label, sorted."""
        self._check_ids((i,))
        return self._down.row(i)

    def siblings(self, i: int) -> IntArray:
        """Ids of the other labels with a common parent, sorted; for a root, the other roots."""
        parents = self.parents(i)
        if len(parents):
            near = np.unique(np.concatenate([self.children(int(parent)) for parent in parents]))
        else:
            near = np.arange(self._level_starts[1], dtype=np.int32)
        return np.asarray(near[near != i], np.int32)

    def ancestors(self, i: int) -> IntArray:
        """Ids of all labels above a label, sorted."""
        self._check_ids((i,))
        return _sorted_ids(self._up.reached((i,)) - {i})

    def descendants(self, i: int) -> IntArray:
        """Ids of all labels below a label, sorted."""
        self._check_ids((i,))
        return _sorted_ids(self._down.reached((i,)) - {i})

    def closure(self, ids: Iterable[int]) -> IntArray:
        """The ids with all their ancestors, each once, sorted."""
        start = {int(i) for i in ids}
        self._check_ids(start)
        return _sorted_ids(self._up.reached(start))

    def paths(self, ids: Iterable[int], *, closed: bool = True) -> list[tuple[int, ...]]:
        """The paths, root first, that the closure of the ids forms; in the order of the ids.

        A path ends where no child of its last label is in the closure. Unless ``closed``, a label
        with a parent among the ids is reached through such parents only, not through all.

        >>> taxonomy = Taxonomy.from_paths([("a", "c"), ("b",)])
        >>> taxonomy.paths([1, 2])
        [(0, 2), (1,)]
        """
        known = set(self.closure(ids).tolist()) if closed else self._held_up(ids)
        starts, targets = self._down.lists
        found: list[tuple[int, ...]] = []
        trail: list[int] = []
        # (id, its depth on the path); pushed in reverse so that the smallest id comes first.
        waiting = [(i, 0) for i in sorted(known, reverse=True) if i < self._level_starts[1]]
        while waiting:
            node, depth = waiting.pop()
            del trail[depth:]
            trail.append(node)
            below = [child for child in targets[starts[node] : starts[node + 1]] if child in known]
            if not below:
                found.append(tuple(trail))
            waiting.extend((child, depth + 1) for child in reversed(below))
        return found

    def subtree(self, label: str) -> Taxonomy:
        """The label as the only root, with all labels below it; other parents are left out."""
        top = self.id(label)
        kept = {top, *self.descendants(top).tolist()}
        draft = Draft()
        for i in sorted(kept):
            draft.label(self.labels[i])
        for parent, child in self.edges.tolist():
            if parent in kept:
                draft.edge(self.labels[parent], self.labels[child])
        return Taxonomy(
            draft.order(),
            {name: self.names.own[name] for name in draft.labels if name in self.names.own},
        )

    @cached_property
    def _nearest(self) -> NearestNames:
        return NearestNames(self.labels)

    def _held_up(self, ids: Iterable[int]) -> set[int]:
        """The ids, and all ancestors of those that have no parent among them."""
        known = {int(i) for i in ids}
        self._check_ids(known)
        loose = [i for i in known if known.isdisjoint(self._up.row(i).tolist())]
        return known | self._up.reached(loose)

    def _continues(self, found: list[int], step: int) -> bool:
        if not found:
            return step < self._level_starts[1]
        return found[-1] in self.parents(step)

    def _check_ids(self, ids: Iterable[int]) -> None:
        for i in ids:
            if not 0 <= i < len(self.labels):
                raise TaxonomyError(f"there is no label with id {i}: ids are 0 to {len(self) - 1}")


def _sorted_ids(ids: set[int]) -> IntArray:
    return np.array(sorted(ids), np.int32)


def _frozen(values: IntArray) -> IntArray:
    values.flags.writeable = False
    return values
