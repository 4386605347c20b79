"""X and y in the forms that users have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from hbgl.classifier.labels import closed_labels, column_ids, given_taxonomy, taxonomy_of_paths
from hbgl.classifier.targets import read_targets
from hbgl.classifier.texts import raise_faults, read_texts
from hbgl.errors import InputError, UsageError
from hbgl.taxonomy import Taxonomy, write_taxonomy
from tests.small_corpus import TAXONOMY

TWO = ["money bank", "oil"]
ROWS = [["cats", "oaks"], []]
CLOSED = [("animals", "plants", "cats", "trees", "oaks"), ()]


def texts_of(X: Any, **options: Any) -> list[str]:
    faults: list[str] = []
    found = read_texts(X, "X", faults, **options)
    raise_faults(faults)
    assert all(type(text) is str for text in found)
    return found


def labels_of(y: Any, taxonomy: Taxonomy = TAXONOMY, columns: Any = None) -> list[tuple[str, ...]]:
    faults: list[str] = []
    found = closed_labels(read_targets(y, "y", faults, columns), taxonomy, "y", faults)
    raise_faults(faults)
    return found


# ---------------------------------------------------------------------- X


@pytest.mark.parametrize(
    "X",
    [TWO, tuple(TWO), np.array(TWO), np.array(TWO, dtype=object), np.array(TWO)[:, None]],
    ids=["list", "tuple", "array", "objects", "one column"],
)
def test_texts(X: Any) -> None:
    assert texts_of(X) == TWO


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_texts_of_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    assert texts_of(frames.Series(TWO)) == TWO
    assert texts_of(frames.DataFrame({"body": TWO})) == TWO
    with pytest.raises(InputError, match=r'X has 2 columns where one belongs; take .* X\["..."\]'):
        texts_of(frames.DataFrame({"body": TWO, "title": TWO}))


def test_texts_of_a_frame_with_an_index() -> None:
    pandas = pytest.importorskip("pandas")
    assert texts_of(pandas.Series(TWO, index=[7, 3])) == TWO
    assert texts_of(pandas.DataFrame({"body": TWO}, index=["b", "a"])) == TWO
    with pytest.raises(InputError, match="X: row 1 is missing, not a text"):
        texts_of(pandas.Series(["a", None]))


@pytest.mark.parametrize(
    ("X", "named"),
    [
        ("money", r"one text where a list of texts belongs; write \[text\]"),
        (["a", 3, None, float("nan")], "row 1 is of the type int, .* row 2 is missing, .* row 3"),
        ([1] * 9, "row 4 is of the type int, not a text, and 4 more"),
        ({"a": 1}, "must be a list, an array or a column, not of the type dict"),
        (iter(["a"]), "must be a list, an array or a column"),
        (None, "must be a list, an array or a column, not missing"),
        (np.zeros((2, 2, 2)), "X has 3 dimensions"),
        (csr_matrix(np.eye(2)), "X is a sparse matrix of numbers"),
    ],
)
def test_what_are_no_texts(X: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        texts_of(X)


def test_empty_texts_are_answered_but_not_learned() -> None:
    assert texts_of(["", " "]) == ["", " "]
    with pytest.raises(InputError, match="X: row 0 is empty, row 2 is empty"):
        texts_of(["", "a", "\n"], for_training=True)


# ---------------------------------------------------------------------- y


@pytest.mark.parametrize(
    "y",
    [
        [["cats", "oaks"], []],
        [{"cats", "oaks"}, frozenset()],
        [[("animals", "cats"), ("plants", "trees", "oaks")], []],
        [(("animals", "cats"), ("plants", "trees", "oaks")), ()],
        [["animals > cats", "plants > trees > oaks"], []],
        [np.array(["cats", "oaks"]), np.array([])],
        [["cats", "trees", "oaks"], []],
    ],
)
def test_label_sets_are_closed(y: Any) -> None:
    """cats and oaks of small_corpus: with animals, plants and trees."""
    assert labels_of(y) == CLOSED


@pytest.mark.parametrize(
    "y",
    [
        ["puppies", "animals > cats"],
        [("animals", "dogs", "puppies"), ("animals", "cats")],
        np.array(["puppies", "cats"]),
        np.array([["animals", "dogs", "puppies"], ["animals", "cats", "cats"]]),
        np.array([["puppies"], ["cats"]]),
    ],
)
def test_one_label_or_path_for_each_text(y: Any) -> None:
    assert labels_of(y) == [("animals", "dogs", "puppies"), ("animals", "cats")]


@pytest.mark.parametrize("make", [np.array, csr_matrix, csr_array, lambda rows: rows])
@pytest.mark.parametrize("kind", [int, bool, float])
def test_matrices(make: Any, kind: type) -> None:
    """Columns are the labels of the taxonomy: cats is column 2, oaks is column 7."""
    rows = [[kind(column in (2, 7)) for column in range(8)], [kind(0)] * 8]
    assert labels_of(make(rows), columns=TAXONOMY.labels) == CLOSED


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_labels(library: str) -> None:
    frames = pytest.importorskip(library)
    by_name = frames.DataFrame({"plants > trees > oaks": [1, 0], "cats": [True, False]})
    assert labels_of(by_name) == CLOSED
    levels = frames.DataFrame({"first": ["animals", "plants"], "second": ["cats", None]})
    assert labels_of(levels) == [("animals", "cats"), ("plants",)]
    assert labels_of(frames.Series(["cats", "plants"])) == [("animals", "cats"), ("plants",)]
    assert labels_of(frames.DataFrame({"label": ["cats", "plants"]})) == [
        ("animals", "cats"),
        ("plants",),
    ]
    assert labels_of(frames.Series([["cats", "oaks"], []])) == CLOSED


def test_a_frame_without_names_is_a_matrix() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, 0, 1, 0, 0, 0, 0, 1], [0] * 8])
    assert labels_of(frame, columns=TAXONOMY.labels) == CLOSED


@pytest.mark.parametrize(
    ("y", "named"),
    [
        (None, "y is missing"),
        ([["cats"], ["elms"]], 'y: row 1: unknown label "elms"'),
        ([("cats", "oaks")], r"row 0: wrong path.* \(a tuple is one path, a list has several"),
        ([["cats"], None], r"y: row 1: no labels are given; write \[\] for none"),
        ([["cats"], float("nan")], r"y: row 1: no labels are given"),
        ([0, 1], "y: row 0: labels are strings or lists of strings, not int"),
        ([["cats", 3]], "y: row 0: wrong type"),
        ([[""]], "y: row 0: empty label"),
        (np.full((2, 8), 2), "y is a matrix, and holds something else than 0 and 1"),
        (np.full((2, 8), 0.5), "something else than 0 and 1"),
        (csr_matrix(np.full((2, 8), 2)), "something else than 0 and 1"),
        (np.zeros((2, 5)), "y has 5 columns, but there are 8 labels"),
        ("cats", "y must be a list"),
        ({"a": 1}, "y must be a list"),
    ],
)
def test_what_are_no_labels(y: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        labels_of(y, columns=TAXONOMY.labels)


def test_columns_that_contradict_themselves() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="two columns of the same name"):
        labels_of(pandas.DataFrame([[0, 1]], columns=["cats", "cats"]))
    faults: list[str] = []
    column_ids(["cats", "animals > cats"], TAXONOMY, faults)
    column_ids(["elms"], TAXONOMY, faults)
    assert faults[0] == "two columns of y are the same label"
    assert faults[1].startswith('columns of y: row 0: unknown label "elms"')


# ---------------------------------------------------------------------- the taxonomy


def taxonomy_from(y: Any) -> Taxonomy:
    faults: list[str] = []
    found = taxonomy_of_paths([read_targets(y, "y", faults)], faults)
    raise_faults(faults)
    assert found is not None
    return found


def test_the_taxonomy_that_paths_form() -> None:
    """cats is below animals because one path says so; plants, in no path, is a root."""
    found = taxonomy_from([["cats"], ["animals > cats", "plants"]])
    assert found.labels == ("animals", "plants", "cats")
    assert found.parents(2).tolist() == [0]


def test_labels_without_paths_are_roots() -> None:
    assert taxonomy_from(["b", "a"]).depth == 1


def test_columns_without_a_row_belong_to_the_taxonomy() -> None:
    pandas = pytest.importorskip("pandas")
    found = taxonomy_from(pandas.DataFrame({"a > b": [1], "a > c": [0]}))
    assert found.labels == ("a", "b", "c")


def test_no_labels_no_taxonomy() -> None:
    with pytest.raises(InputError, match="no labels at all, and no taxonomy is given"):
        taxonomy_from([[], []])
    with pytest.raises(InputError, match="the paths in y form no taxonomy"):
        taxonomy_from([("a", "b"), ("b", "a")])


def test_taxonomies_that_are_given(tmp_path: Any) -> None:
    """As such, as a file, as edges."""
    faults: list[str] = []
    write_taxonomy(TAXONOMY, tmp_path / "taxonomy.tsv")
    edges = [("Root", "animals"), ("animals", "cats")]
    assert given_taxonomy(TAXONOMY, faults) is TAXONOMY
    assert given_taxonomy(tmp_path / "taxonomy.tsv", faults) == TAXONOMY
    assert given_taxonomy(str(tmp_path / "taxonomy.tsv"), faults) == TAXONOMY
    assert given_taxonomy(edges, faults) == Taxonomy.from_edges([("Root", "animals"), edges[1]])
    assert given_taxonomy(None, faults) is None
    assert faults == []
    for wrong in ("nothing.tsv", 3, [("a",)], [("a", 1)], [("a", "b"), ("b", "a")], [3]):
        before = len(faults)
        assert given_taxonomy(wrong, faults) is None
        assert len(faults) == before + 1
        assert faults[-1].startswith("taxonomy")


def test_faults_come_together_and_are_value_errors() -> None:
    raise_faults([])
    with pytest.raises(InputError, match=r"^one$"):
        raise_faults(["one"])
    with pytest.raises(ValueError, match=r"^2 faults:\n  one\n  two$") as caught:
        raise_faults(["one", "two"])
    assert isinstance(caught.value, UsageError)
    assert caught.value.exit_code == 2
