"""The kinds of errors, by hand and against the sets themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from hbgl.decisions import Decoded
from hbgl.report.confusions import MISSED_KINDS, WRONG_KINDS, Confusions, ErrorCounts
from hbgl.taxonomy import Taxonomy
from tests.report.answers import FLAT, GRAPH, TREE


def counted(
    taxonomy: Taxonomy, *documents: tuple[str, str], probabilities: dict[str, float] | None = None
) -> Confusions:
    """Of documents given as gold and predicted labels in words."""
    gold, chosen = np.zeros((2, len(documents), len(taxonomy)), dtype=bool)
    for row, sides in enumerate(documents):
        for matrix, words in zip((gold, chosen), sides, strict=True):
            matrix[row, taxonomy.ids(words.split())] = True
    likely = torch.full(chosen.shape, 0.5)
    for label, value in (probabilities or {}).items():
        likely[:, taxonomy.id(label)] = value
    counts = ErrorCounts(taxonomy)
    counts.update(
        np.arange(len(documents)),
        csr_matrix(gold),
        Decoded(likely, torch.from_numpy(chosen), likely),
    )
    return counts.result()


def kinds(found: dict[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in found.items() if count}


@pytest.mark.parametrize(
    ("gold", "predicted", "wrong", "missed"),
    [
        ("a a2", "a a1", {"sibling": 1}, {"sibling": 1}),
        ("a", "a a1", {"too deep": 1}, {}),
        ("a a1", "a", {}, {"too shallow": 1}),
        ("a a1", "a a1 a2", {"one too many": 1}, {}),
        ("a a1 a2", "a a1", {}, {"one too few": 1}),
        ("a", "b", {"another branch": 1}, {"another branch": 1}),
        # b1 is wrong from above: its nearest missed label is in the branch of a.
        (
            "a a1",
            "b b1",
            {"another branch": 2},
            {"another branch": 1, "below a missed label": 1},
        ),
        # a11 stands without its parent; a2 is missed in the same branch.
        ("a a2", "a a11", {"same branch": 1}, {"too shallow": 1}),
        ("a a1", "", {}, {"too shallow": 1, "below a missed label": 1}),
        ("", "a", {"too deep": 1}, {}),
        # b is beside the right a, and b1 below it: nothing was missed.
        ("a", "a b b1", {"one too many": 2}, {}),
        ("a a1 a11", "a a1 a12", {"sibling": 1}, {"sibling": 1}),
    ],
)
def test_kinds_in_a_tree(
    gold: str, predicted: str, wrong: dict[str, int], missed: dict[str, int]
) -> None:
    """a > a1 > a11, a12; a > a2; b > b1, b2; c. The labels below a wrong one count as well."""
    found = counted(TREE, (gold, predicted))
    assert kinds(found.wrong) == wrong
    assert kinds(found.missed) == missed


def test_a_label_with_several_parents() -> None:
    """x is below a and b, y below b alone: x and y are siblings through b."""
    found = counted(GRAPH, ("b y", "b x"), ("a b x", "a b"), ("a b", "a b x"))
    assert kinds(found.wrong) == {"sibling": 1, "too deep": 1}
    assert kinds(found.missed) == {"sibling": 1, "too shallow": 1}


def test_one_level_has_no_siblings_but_other_branches() -> None:
    found = counted(FLAT, ("a", "b"))
    assert kinds(found.wrong) == {"another branch": 1}
    assert [(pair.predicted, pair.gold) for pair in found.pairs] == [(1, 0)]


def test_pairs_and_labels_alone() -> None:
    """Twice a2 for a1, once the answer ends at a, once at nothing; c is one too many twice."""
    found = counted(
        TREE, ("a a1", "a a2"), ("a a1", "a a2 c"), ("a a1", "a"), ("b", ""), ("a", "a c")
    )
    pairs = [
        (TREE.labels[pair.predicted or 0], TREE.labels[pair.gold or 0], pair.kind, pair.count)
        for pair in found.pairs
    ]
    assert pairs == [("a2", "a1", "sibling", 2), ("a", "a1", "too shallow", 1)]
    alone = [(pair.predicted, pair.gold, pair.kind, pair.count) for pair in found.alone]
    assert alone == [
        (TREE.id("c"), None, "one too many", 2),
        (None, TREE.id("b"), "too shallow", 1),
    ]


def test_of_two_missed_siblings_the_likelier_is_the_partner() -> None:
    taxonomy = Taxonomy.from_paths([("a", "x"), ("a", "y"), ("a", "z")])
    found = counted(taxonomy, ("a x y", "a z"), probabilities={"y": 0.6})
    assert [pair.gold for pair in found.pairs] == [taxonomy.id("y")]


@pytest.mark.parametrize("taxonomy", [TREE, GRAPH, FLAT], ids=["tree", "graph", "flat"])
def test_every_error_has_one_kind(taxonomy: Taxonomy) -> None:
    """Wrong labels are the false positives, missed ones the false negatives; right ones none."""
    random = np.random.default_rng(1)
    gold, chosen = random.random((2, 200, len(taxonomy))) < 0.3
    likely = torch.from_numpy(random.random(gold.shape).astype(np.float32))
    counts = ErrorCounts(taxonomy)
    counts.update(
        np.arange(200), csr_matrix(gold), Decoded(likely, torch.from_numpy(chosen), likely)
    )
    found = counts.result(most=10**6)
    assert sum(found.wrong.values()) == int((chosen & ~gold).sum())
    assert sum(found.missed.values()) == int((gold & ~chosen).sum())
    assert (list(found.wrong), list(found.missed)) == (list(WRONG_KINDS), list(MISSED_KINDS))
    both = [*found.pairs, *found.alone]
    beside = sum(pair.count for pair in both if pair.kind in ("too shallow", "one too few"))
    assert sum(pair.count for pair in both) == sum(found.wrong.values()) + beside
    assert not any(counted(taxonomy, ("a b", "a b")).wrong.values())
