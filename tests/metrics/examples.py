"""Taxonomies and label sets for the tests of scores: two worked by hand, and any number drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hbgl.metrics import Evaluation, Evaluator
from hbgl.taxonomy import Taxonomy

TREE = Taxonomy.from_paths(
    [("sports", "tennis"), ("sports", "golf"), ("arts", "music", "jazz")],
)
TREE_GOLD = ["sports tennis", "arts music jazz", "sports tennis arts music"]
TREE_PREDICTED = ["sports golf", "arts music", "sports tennis music jazz"]

# c has the parents a and b.
GRAPH = Taxonomy.from_edges(
    [("a", "c"), ("b", "c"), ("c", "d"), ("b", "e")],
    labels=["a", "b"],
)
GRAPH_GOLD = ["a b c d", "b e"]
GRAPH_PREDICTED = ["a c d", "b c"]


def matrix(taxonomy: Taxonomy, documents: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Documents as names of labels with spaces between -> [B, L]."""
    rows = [taxonomy.ids(names.split()) for names in documents]
    found = np.zeros((len(rows), len(taxonomy)), dtype=bool)
    for row, ids in zip(found, rows, strict=True):
        row[ids] = True
    return found


def evaluation(
    taxonomy: Taxonomy, gold: Any, predicted: Any, scores: Any = None, **options: Any
) -> Evaluation:
    evaluator = Evaluator(taxonomy, **options)
    evaluator.update(gold, predicted, scores)
    return evaluator.result()


def named(taxonomy: Taxonomy, gold: Sequence[str], predicted: Sequence[str]) -> Evaluation:
    return evaluation(taxonomy, matrix(taxonomy, gold), matrix(taxonomy, predicted))


@dataclass(frozen=True)
class Case:
    taxonomy: Taxonomy
    gold: npt.NDArray[np.bool_]
    predicted: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float32]

    def evaluate(self, **options: Any) -> Evaluation:
        return evaluation(self.taxonomy, self.gold, self.predicted, self.scores, **options)

    def sets(self) -> list[tuple[set[int], set[int]]]:
        """Gold and predicted ids of each document."""
        return [
            (set(np.flatnonzero(gold).tolist()), set(np.flatnonzero(predicted).tolist()))
            for gold, predicted in zip(self.gold, self.predicted, strict=True)
        ]


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Trees, forests and graphs of up to 9 labels."""
    names = [f"label {number}" for number in range(draw(st.integers(1, 9)))]
    most = draw(st.sampled_from([1, 3]))
    edges: list[tuple[str, str]] = []
    for place, name in enumerate(names):
        above = draw(st.sets(st.integers(0, place - 1), max_size=most)) if place else set()
        edges.extend((names[parent], name) for parent in above)
        if not above:
            edges.append(("Root", name))
    return Taxonomy.from_edges(edges)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any label sets, closed or not, empty ones too; probabilities with many ties."""
    taxonomy = draw(taxonomies())
    shape = (draw(st.integers(1, 5)), len(taxonomy))
    tenths = draw(arrays(np.int8, shape, elements=st.integers(0, 10)))
    return Case(
        taxonomy,
        draw(arrays(bool, shape)),
        draw(arrays(bool, shape)),
        (tenths / 10).astype(np.float32),
    )
