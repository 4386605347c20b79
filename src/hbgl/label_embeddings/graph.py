"""The labels as one sentence: positions, and who sees whom as a list of edges.

With the paper's mask (``self``) the sentence is the L labels. With the authors' (``root``) it is
``[CLS], labels, [SEP]``. The matrices are in :mod:`hbgl.attention`; here are the same rules as
O(L) edges, which is all that a large taxonomy can afford.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hbgl.errors import UsageError
from hbgl.settings import GlobalMask
from hbgl.taxonomy import Taxonomy

__all__ = ["LabelGraph", "label_graph"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelGraph:
    """A sentence of S places, of which L are labels, and its E edges."""

    size: int
    """S: L, or L + 2 with [CLS] and [SEP]."""
    first: int
    """The place of label 0: 0, or 1 after [CLS]."""
    positions: IntArray
    """[S] position ids: a label's level; [CLS] 0 and [SEP] depth + 1."""
    targets: IntArray
    """[E] who sees, ascending."""
    sources: IntArray
    """[E] whom; the relation is symmetric."""


def label_graph(taxonomy: Taxonomy, attention: GlobalMask, max_positions: int) -> LabelGraph:
    """The sentence of a taxonomy.

    :raises UsageError: if the taxonomy is deeper than the backbone has positions.
    """
    size, depth = len(taxonomy), taxonomy.depth
    last = depth + (attention == "root")
    if last >= max_positions:
        raise UsageError(
            f"the global stage gives each level a position of its own, and {depth} levels do not "
            f"fit the backbone's {max_positions} positions; use another backbone or leave the "
            "global stage out (0 steps)"
        )
    levels = taxonomy.levels.astype(np.int64)
    parents, children = taxonomy.edges.astype(np.int64).reshape(-1, 2).T
    if attention == "self":
        itself = np.arange(size)
        targets = np.concatenate([itself, parents, children])
        sources = np.concatenate([itself, children, parents])
        return _sorted(size, 0, levels, targets, sources)
    top = np.flatnonzero(levels == 1) + 1
    start, end = np.zeros_like(top), np.array([size + 1])
    targets = np.concatenate([parents + 1, children + 1, start, top, [0], end])
    sources = np.concatenate([children + 1, parents + 1, top, start, [0], end])
    positions = np.concatenate([[0], levels, [depth + 1]])
    return _sorted(size + 2, 1, positions, targets, sources)


def _sorted(
    size: int, first: int, positions: IntArray, targets: IntArray, sources: IntArray
) -> LabelGraph:
    order = np.lexsort((sources, targets))
    return LabelGraph(size, first, positions, targets[order], sources[order])
