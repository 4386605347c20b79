"""Levels, order, parents, closure and paths, on taxonomies small enough to check by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hbgl.errors import TaxonomyError
from hbgl.taxonomy import Taxonomy, read_taxonomy


@pytest.fixture
def graph() -> Taxonomy:
    """Two roots; "optics" below physics and below "tools", which is itself below physics.

    science            sports
    |-- physics        `-- running
    |   |-- tools
    |   |   `-- optics
    |   `-- optics
    `-- biology
    """
    return Taxonomy.from_edges(
        [
            ("Root", "science"),
            ("Root", "sports"),
            ("science", "physics"),
            ("science", "biology"),
            ("physics", "tools"),
            ("physics", "optics"),
            ("tools", "optics"),
            ("sports", "running"),
        ]
    )


def test_levels_are_one_more_than_the_deepest_parent(graph: Taxonomy) -> None:
    """Level of optics: parents physics (2) and tools (3), so 1 + 3 = 4."""
    assert graph.labels == (
        *("science", "sports"),
        *("physics", "biology", "running"),
        *("tools", "optics"),
    )
    assert graph.levels.tolist() == [1, 1, 2, 2, 2, 3, 4]
    assert graph.levels.dtype == np.int32
    assert graph.depth == 4
    assert [graph.level_slice(level) for level in (1, 2, 3, 4)] == [
        slice(0, 2),
        slice(2, 5),
        slice(5, 6),
        slice(6, 7),
    ]


def test_order_is_level_then_first_parent_then_first_appearance() -> None:
    """B's children come first in the source, but A is the first label: a1, a2 before b1."""
    taxonomy = Taxonomy.from_edges(
        [("Root", "A"), ("Root", "B"), ("B", "b1"), ("A", "a1"), ("A", "a2")]
    )
    assert taxonomy.labels == ("A", "B", "a1", "a2", "b1")


def test_neighbours(graph: Taxonomy) -> None:
    optics, physics = graph.id("optics"), graph.id("physics")
    assert graph.parents(optics).tolist() == graph.ids(["physics", "tools"]).tolist()
    assert graph.children(physics).tolist() == graph.ids(["tools", "optics"]).tolist()
    assert graph.ancestors(optics).tolist() == [0, 2, 5]
    assert graph.descendants(0).tolist() == [2, 3, 5, 6]
    assert graph.siblings(physics).tolist() == [graph.id("biology")]
    assert graph.siblings(0).tolist() == [1]
    assert graph.siblings(optics).tolist() == [graph.id("tools")]
    assert graph.leaves.tolist() == graph.ids(["biology", "running", "optics"]).tolist()
    assert graph.parents(0).dtype == graph.ancestors(0).dtype == np.int32
    assert [0, 2] in graph.edges.tolist()
    assert graph.edges.shape == (7 - 1, 2)


def test_closure_and_paths(graph: Taxonomy) -> None:
    """Optics and running close to all but biology; optics is reached on two paths."""
    ids = graph.ids(["running", "optics"])
    assert graph.closure(ids).tolist() == [0, 1, 2, 4, 5, 6]
    assert graph.paths(ids) == [(0, 2, 5, 6), (0, 2, 6), (1, 4)]
    assert graph.paths([0]) == [(0,)]
    assert graph.closure([]).tolist() == []
    assert graph.paths([]) == []


def test_tree_forest_and_graph(graph: Taxonomy) -> None:
    assert not graph.is_tree
    assert Taxonomy.from_paths([("A", "B"), ("C",)]).is_tree
    assert repr(graph) == "Taxonomy(7 labels, depth 4, several parents)"


def test_subtree_keeps_what_is_below(graph: Taxonomy) -> None:
    below = graph.subtree("physics")
    assert below.labels == ("physics", "tools", "optics")
    assert below.levels.tolist() == [1, 2, 3]
    assert below.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.subtree("running").labels == ("running",)


def test_subtree_keeps_words() -> None:
    taxonomy = Taxonomy.from_paths([("A", "B")], names={"B": "bees"})
    assert taxonomy.subtree("B").names["B"] == "bees"


def test_containers(graph: Taxonomy) -> None:
    assert "optics" in graph
    assert "Root" not in graph
    assert list(graph) == list(graph.labels)
    assert len(graph) == 7
    assert graph.names["optics"] == "optics"
    assert dict(graph.names) == {label: label for label in graph}


def test_equality_looks_at_labels_edges_and_words() -> None:
    taxonomy = Taxonomy.from_paths([("A", "B"), ("C",)])
    assert taxonomy == Taxonomy.from_edges([("A", "B")], labels=["A", "C"])
    assert hash(taxonomy) == hash(Taxonomy.from_paths([("A", "B"), ("C",)]))
    assert taxonomy != Taxonomy.from_paths([("A",), ("C", "B")])
    assert taxonomy != Taxonomy.from_paths([("A", "B"), ("C",)], names={"A": "ays"})
    assert taxonomy == Taxonomy.from_paths([("A", "B"), ("C",)], names={"A": "A"})
    assert taxonomy != "A"


def test_unknown_label_names_the_nearest(graph: Taxonomy) -> None:
    with pytest.raises(TaxonomyError, match='unknown label "phisics"; did you mean "physics"'):
        graph.id("phisics")
    with pytest.raises(TaxonomyError, match=r'unknown label "1234"$'):
        graph.ids(["optics", "1234"])
    assert graph.nearest("PHYSICS", 1) == ["physics"]
    assert graph.nearest("") == []


Question = Callable[[Taxonomy], object]


@pytest.mark.parametrize(
    "question",
    [
        lambda taxonomy: taxonomy.parents(7),
        lambda taxonomy: taxonomy.children(-1),
        lambda taxonomy: taxonomy.ancestors(7),
        lambda taxonomy: taxonomy.descendants(-1),
        lambda taxonomy: taxonomy.siblings(99),
        lambda taxonomy: taxonomy.closure([0, 7]),
        lambda taxonomy: taxonomy.paths([-1]),
    ],
)
def test_ids_outside_are_refused(graph: Taxonomy, question: Question) -> None:
    with pytest.raises(TaxonomyError, match=r"there is no label with id .*: ids are 0 to 6"):
        question(graph)


@pytest.mark.parametrize("level", [0, 5, -1])
def test_levels_outside_are_refused(graph: Taxonomy, level: int) -> None:
    with pytest.raises(TaxonomyError, match="levels are 1 to 4"):
        graph.level_slice(level)


def test_arrays_cannot_be_changed(graph: Taxonomy) -> None:
    for values in (graph.levels, graph.edges, graph.leaves, graph.parents(6), graph.children(0)):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 3


def test_labels_without_an_edge_are_roots() -> None:
    taxonomy = Taxonomy.from_edges([("A", "B")], labels=["Z", "A"])
    assert taxonomy.labels == ("Z", "A", "B")
    assert taxonomy.levels.tolist() == [1, 1, 2]


def test_edge_from_the_root_beside_another_parent_adds_nothing() -> None:
    """B below Root and below A is level 2: the root is no label."""
    taxonomy = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "B")])
    assert taxonomy.levels.tolist() == [1, 2]
    assert taxonomy.is_tree


def test_joined_name_gets_both_parents() -> None:
    taxonomy = Taxonomy.from_paths([("Medical", "Depression"), ("Weather", "Depression")])
    assert taxonomy.labels == ("Medical", "Weather", "Depression")
    assert taxonomy.parents(2).tolist() == [0, 1]


def test_qualified_names_are_told_apart() -> None:
    """Depression twice, and Other below two parents of the same name: one more ancestor each."""
    taxonomy = Taxonomy.from_paths(
        [
            ("Medical", "Depression"),
            ("Weather", "Depression", "Other"),
            ("Medical", "Depression", "Other"),
            ("Low",),
            ("Medical", "Low"),
        ],
        repeated="qualify",
    )
    assert set(taxonomy.labels) == {
        *("Medical", "Weather", "Low", "Low (Medical)"),
        *("Depression (Medical)", "Depression (Weather)"),
        *("Other (Depression, Weather)", "Other (Depression, Medical)"),
    }
    assert taxonomy.is_tree
    found = taxonomy.path_ids(["Weather", "Depression", "Other"])
    assert [taxonomy.labels[i] for i in found] == [
        *("Weather", "Depression (Weather)", "Other (Depression, Weather)"),
    ]


def test_names_alike_are_told_apart_too() -> None:
    paths = [("X", "Turkey"), ("Y", "turkey")]
    taxonomy = Taxonomy.from_paths(paths, repeated="qualify")
    assert taxonomy.labels[2:] == ("Turkey (X)", "turkey (Y)")


def test_names_that_ancestors_cannot_tell_apart() -> None:
    """ "A (B)" is a label already, so the A below B has no name left."""
    with pytest.raises(TaxonomyError, match='the labels called "A" cannot be told apart'):
        Taxonomy.from_paths([("A", "C"), ("B", "A"), ("A (B)",)], repeated="qualify")


def test_path_ids(graph: Taxonomy) -> None:
    assert graph.path_ids(["science", "physics", "optics"]).tolist() == [0, 2, 6]
    assert graph.path_ids(["Root", "sports"]).tolist() == [1]
    with pytest.raises(TaxonomyError, match='no path "science > optics"'):
        graph.path_ids(["science", "optics"])
    with pytest.raises(TaxonomyError, match='no path "physics"'):
        graph.path_ids(["physics", "optics"])
    with pytest.raises(TaxonomyError, match='"science > phisics"; did you mean "physics"'):
        graph.path_ids(["science", "phisics"])


def test_chain_of_fifty_thousand_levels() -> None:
    names = [f"n{i}" for i in range(50_000)]
    taxonomy = Taxonomy.from_edges([("Root", "n0"), *itertools.pairwise(names)])
    assert taxonomy.depth == 50_000
    assert len(taxonomy.ancestors(49_999)) == 49_999
    assert len(taxonomy.descendants(0)) == 49_999
    assert taxonomy.paths([49_999]) == [tuple(range(50_000))]


SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize(
    ("corpus", "labels", "depth"),
    [("arxiv", 157, 3), ("clinc150", 160, 2), ("reuters21578", 70, 3)],
)
def test_public_taxonomies(corpus: str, labels: int, depth: int) -> None:
    file = SHARED / corpus / "taxonomy.tsv"
    if not file.exists():
        pytest.skip("the public corpora are not here")
    taxonomy = read_taxonomy(file)
    assert (len(taxonomy), taxonomy.depth) == (labels, depth)
