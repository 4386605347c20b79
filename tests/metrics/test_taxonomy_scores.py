"""Scores that know the taxonomy: worked by hand, against plain sets, against scikit-learn."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import hamming_loss, precision_recall_fscore_support

from hbgl.metrics import Evaluation
from hbgl.metrics.result import PrecisionRecall
from hbgl.taxonomy import Taxonomy
from tests.metrics.examples import (
    GRAPH,
    GRAPH_GOLD,
    GRAPH_PREDICTED,
    TREE,
    TREE_GOLD,
    TREE_PREDICTED,
    Case,
    cases,
    evaluation,
    named,
)


def approx(*values: float) -> Any:
    return pytest.approx(values, abs=1e-12)


def triple(scores: PrecisionRecall) -> tuple[float, float, float]:
    return scores.precision, scores.recall, scores.f1


def test_hierarchical_scores_of_a_tree() -> None:
    """Closed: {s g} of {s t}; {a m} of {a m j}; {s t a m j} of {s t a m}.

    Hits 1 + 2 + 4 of 2 + 2 + 5 predicted and 2 + 3 + 4 gold. F1 of the documents 1/2, 4/5, 8/9; of
    the labels 1 (sports, arts, music), 2/3 (tennis), 0 (golf, jazz); golf is not in gold. Levels:
    4 of 4 and 4; 3 of 4 and 4; 0 of 1 and 1.
    """
    found = named(TREE, TREE_GOLD, TREE_PREDICTED).hierarchical
    assert triple(found.micro) == approx(7 / 9, 7 / 9, 7 / 9)
    assert triple(found.per_document) == approx(
        (1 / 2 + 1 + 4 / 5) / 3, (1 / 2 + 2 / 3 + 1) / 3, (1 / 2 + 4 / 5 + 8 / 9) / 3
    )
    assert found.macro.f1 == pytest.approx((3 + 2 / 3) / 6)
    assert found.macro_supported.f1 == pytest.approx((3 + 2 / 3) / 5)
    assert [(level.level, level.labels) for level in found.levels] == [(1, 2), (2, 3), (3, 1)]
    assert [level.micro.f1 for level in found.levels] == [1.0, 0.75, 0.0]
    assert [level.macro.f1 for level in found.levels] == pytest.approx([1, (1 + 2 / 3) / 3, 0])
    assert found.levels[1].macro_supported.f1 == pytest.approx((1 + 2 / 3) / 2)


def test_hierarchical_scores_of_a_graph() -> None:
    """{a c d} gets b through c: all 4 of 4. {b c} gets a: 1 of 3 predicted and 2 gold."""
    found = named(GRAPH, GRAPH_GOLD, GRAPH_PREDICTED).hierarchical
    assert triple(found.micro) == approx(5 / 7, 5 / 6, 10 / 13)
    assert found.per_document.f1 == pytest.approx((1 + 2 / 5) / 2)


def test_constrained_scores_of_a_tree() -> None:
    """Right are sports; arts, music; sports, tennis - not music without arts, nor golf.

    5 right of 8 predicted and 9 gold. F1: sports 1, arts 2/3, tennis 2/3, golf 0, music 2/4, jazz
    0. Level 1: 3 right of 3 predicted and 4 gold; level 2: 2 of 4 and 4.
    """
    found = named(TREE, TREE_GOLD, TREE_PREDICTED).constrained
    assert found.micro_f1 == pytest.approx(10 / 17)
    assert found.micro_precision == pytest.approx(5 / 8)
    assert found.micro_recall == pytest.approx(5 / 9)
    assert found.macro_f1 == pytest.approx((1 + 2 / 3 + 2 / 3 + 1 / 2) / 6)
    assert found.macro_f1_supported == pytest.approx((1 + 2 / 3 + 2 / 3 + 1 / 2) / 5)
    assert [level.micro_f1 for level in found.levels] == pytest.approx([6 / 7, 1 / 2, 0])


def test_constrained_scores_of_a_graph() -> None:
    """One chain suffices: a > c > d is right without b. 3 + 1 right of 3 + 2 and 4 + 2."""
    found = named(GRAPH, GRAPH_GOLD, GRAPH_PREDICTED).constrained
    assert found.micro_f1 == pytest.approx(8 / 11)


def test_path_scores_of_a_tree() -> None:
    """Gold s > t; a > m > j; s > t and a > m. Predicted s > g; a > m; s > t. One is right.

    Music and jazz without arts are in no path: x = 2/9. Paths can end at the leaves t, g, j and do
    at m: F1 2/3, 0, 0, 0; g ends no gold path.
    """
    found = named(TREE, TREE_GOLD, TREE_PREDICTED).paths
    assert (found.right, found.predicted, found.gold) == (1, 3, 4)
    weight = 1 - 2 * (1 / (1 + math.exp(-2 / 9)) - 1 / 2)
    assert found.stray == pytest.approx(2 / 9)
    assert found.weight == pytest.approx(weight)
    assert found.unweighted.micro_f1 == pytest.approx(2 / 7)
    assert found.micro_f1 == pytest.approx(weight * 2 / 7)
    assert found.macro_f1 == pytest.approx(weight * (2 / 3) / 4)
    assert found.macro_f1_supported == pytest.approx(weight * (2 / 3) / 3)
    assert found.unweighted.micro_precision == pytest.approx(1 / 3)
    assert found.unweighted.micro_recall == pytest.approx(1 / 4)


def test_path_scores_of_a_graph() -> None:
    """Gold a > c > d, b > c > d; b > e. Predicted a > c > d; b > c. No label is in no path."""
    found = named(GRAPH, GRAPH_GOLD, GRAPH_PREDICTED).paths
    assert (found.right, found.predicted, found.gold) == (1, 2, 3)
    assert found.weight == 1.0
    assert found.micro_f1 == pytest.approx(2 / 5)
    assert found.macro_f1 == pytest.approx((2 / 3) / 3)  # d; e and c are 0


@pytest.mark.parametrize(
    ("predicted", "right"),
    [("arts music jazz", 1), ("arts music", 0), ("arts music jazz sports", 1), ("music jazz", 0)],
)
def test_a_path_that_stops_early_is_wrong(predicted: str, right: int) -> None:
    assert named(TREE, ["arts music jazz"], [predicted]).paths.right == right
    assert named(TREE, [predicted], ["arts music jazz"]).paths.right == right


def test_labels_in_no_path_lower_the_weight_even_without_gold() -> None:
    """Two stray labels and no gold label: x = 2, a = 1 - 2 (sigmoid(2) - 1/2)."""
    found = named(TREE, [""], ["tennis music"]).paths
    assert found.weight == pytest.approx(1 - 2 * (1 / (1 + math.exp(-2)) - 1 / 2))
    assert named(TREE, [""], [""]).paths.weight == 1.0


def test_lowest_common_ancestors_in_a_tree() -> None:
    """{s t}, {s g}: 1 of 2, 2; {m j}, {m}: 1 of 2, 1; {t m}, {t m j}: 2 of 2, 3."""
    found = named(TREE, TREE_GOLD, TREE_PREDICTED).lca
    assert triple(found.micro) == approx(4 / 6, 4 / 6, 4 / 6)
    assert found.per_document.f1 == pytest.approx((1 / 2 + 2 / 3 + 4 / 5) / 3)


def test_lowest_common_ancestors_in_a_graph() -> None:
    """{d}, {d}: 1 of 1, 1. e and c meet at b, and a is not added: {b e}, {b c}: 1 of 2, 2."""
    found = named(GRAPH, GRAPH_GOLD, GRAPH_PREDICTED).lca
    assert triple(found.micro) == approx(2 / 3, 2 / 3, 2 / 3)


def test_only_the_lowest_of_common_ancestors_counts() -> None:
    """y and z meet at p. Top is above p, so the way from y over q to top is not taken."""
    taxonomy = Taxonomy.from_edges(
        [("top", "p"), ("top", "q"), ("p", "y"), ("q", "y"), ("p", "z")], labels=["top"]
    )
    assert triple(named(taxonomy, ["y"], ["z"]).lca.micro) == (0.5, 0.5, 0.5)  # {p y}, {p z}


@pytest.mark.parametrize(
    ("gold", "predicted", "f1"),
    [
        ("sports tennis", "arts music", 0.0),  # they meet at the root: {s t}, {a m}
        ("sports tennis", "sports golf arts", 2 / 5),  # so does arts: {s t}, {s g a}
        ("sports tennis", "", 0.0),
        ("", "", 0.0),
        ("tennis", "sports tennis", 1.0),  # ancestors alone make no difference
        ("arts music jazz", "sports", 0.0),
    ],
)
def test_labels_without_common_ancestors(gold: str, predicted: str, f1: float) -> None:
    found = named(TREE, [gold], [predicted]).lca
    assert found.micro.f1 == found.per_document.f1 == pytest.approx(f1)


def test_orphans() -> None:
    """Of three documents the last one has music without arts: one of 8 labels. Jazz has music."""
    found = named(TREE, TREE_GOLD, TREE_PREDICTED).coherence
    assert found.documents_with_orphans == pytest.approx(1 / 3)
    assert found.orphans == pytest.approx(1 / 8)
    assert found.inversions is None
    assert named(GRAPH, GRAPH_GOLD, GRAPH_PREDICTED).coherence.orphans == 0  # c has one parent


def test_hamming_loss_of_a_tree() -> None:
    """2 + 1 + 2 of 3 * 6 decisions are wrong: golf, tennis; jazz; arts, jazz."""
    assert named(TREE, TREE_GOLD, TREE_PREDICTED).hamming_loss == pytest.approx(5 / 18)


# --- any taxonomy and any sets, against plain sets ------------------------------------------------


def without_scores(case: Case) -> Evaluation:
    return evaluation(case.taxonomy, case.gold, case.predicted)


def closed(taxonomy: Taxonomy, ids: set[int]) -> set[int]:
    return set(taxonomy.closure(sorted(ids)).tolist())


def chains(taxonomy: Taxonomy, ids: set[int], end: int) -> set[tuple[int, ...]]:
    """All chains within the ids from level 1 down to one of them."""
    if end not in ids:
        return set()
    parents = taxonomy.parents(end).tolist()
    if not parents:
        return {(end,)}
    return {(*chain, end) for parent in parents for chain in chains(taxonomy, ids, parent)}


def complete_paths(taxonomy: Taxonomy, ids: set[int]) -> set[tuple[int, ...]]:
    ends = {label for label in ids if not ids & set(taxonomy.children(label).tolist())}
    return {chain for end in ends for chain in chains(taxonomy, ids, end)}


def f1(hits: float, predicted: float, gold: float) -> float:
    return 2 * hits / (predicted + gold) if predicted + gold else 0.0


@given(cases())
@settings(max_examples=20, deadline=None)
def test_hierarchical_scores_are_those_of_scikit_learn_on_closed_sets(case: Case) -> None:
    evaluated = without_scores(case)
    found = evaluated.hierarchical
    gold, predicted = np.zeros_like(case.gold), np.zeros_like(case.gold)
    for row, sets in enumerate(case.sets()):
        for matrix, ids in zip((gold, predicted), sets, strict=True):
            matrix[row, sorted(closed(case.taxonomy, ids))] = True
    parts = {"micro": found.micro, "samples": found.per_document, "macro": found.macro}
    if len(case.taxonomy) == 1:  # scikit-learn takes one column for two classes
        return
    for average, scores in parts.items():
        expected = precision_recall_fscore_support(
            gold, predicted, average=average, zero_division=0
        )
        assert triple(scores) == approx(*expected[:3])
    for level in found.levels:
        labels = np.flatnonzero(case.taxonomy.levels == level.level)
        for average, scores in (("micro", level.micro), ("macro", level.macro)):
            expected = precision_recall_fscore_support(
                gold, predicted, labels=labels, average=average, zero_division=0
            )
            assert triple(scores) == approx(*expected[:3])
    assert evaluated.hamming_loss == pytest.approx(hamming_loss(case.gold, case.predicted))


@given(cases())
@settings(max_examples=60, deadline=None)
def test_constrained_and_path_scores_follow_their_definitions(case: Case) -> None:
    taxonomy = case.taxonomy
    right: Counter[int] = Counter()
    path_counts: list[Counter[int]] = [Counter(), Counter(), Counter()]  # right, predicted, gold
    stray = 0
    for gold, predicted in case.sets():
        right.update(i for i in gold & predicted if chains(taxonomy, gold & predicted, i))
        paths = complete_paths(taxonomy, predicted), complete_paths(taxonomy, gold)
        for counter, ended in zip(path_counts, (paths[0] & paths[1], *paths), strict=True):
            counter.update(path[-1] for path in ended)
        stray += len(predicted - {label for path in paths[0] for label in path})
    found = without_scores(case)
    labels = range(len(taxonomy))
    sizes = case.predicted.sum(axis=0).tolist(), case.gold.sum(axis=0).tolist()
    assert found.constrained.micro_f1 == pytest.approx(f1(right.total(), *map(sum, sizes)))
    assert found.constrained.macro_f1 == pytest.approx(
        np.mean([f1(right[i], sizes[0][i], sizes[1][i]) for i in labels])
    )
    x = stray / sum(sizes[1]) if sum(sizes[1]) else stray
    weight = 1 - 2 * (1 / (1 + math.exp(-x)) - 1 / 2)
    assert found.paths.weight == pytest.approx(weight)
    totals = [counter.total() for counter in path_counts]
    assert [found.paths.right, found.paths.predicted, found.paths.gold] == totals
    assert found.paths.micro_f1 == pytest.approx(weight * f1(*totals))
    ends = set(taxonomy.leaves.tolist()) | set(path_counts[1]) | set(path_counts[2])
    by_end = [f1(*(counter[end] for counter in path_counts)) for end in ends]
    assert found.paths.macro_f1 == pytest.approx(weight * np.mean(by_end))


def lca_sets(taxonomy: Taxonomy, gold: set[int], predicted: set[int]) -> tuple[set[int], set[int]]:
    """Both sets, augmented as the definition says; -1 is the root above all labels."""

    def up(label: int) -> set[int]:
        return closed(taxonomy, {label}) | {-1}

    def specific(ids: set[int]) -> set[int]:
        return {one for one in ids if not any(one != other and one in up(other) for other in ids)}

    y, z = specific(gold), specific(predicted)
    meeting: set[int] = set()
    for these, those in ((y, z), (z, y)):
        for one in these:
            common = up(one) & ({-1} | {label for other in those for label in up(other)})
            above = {label for other in common - {-1} for label in up(other) - {other}}
            meeting |= common - above
    augmented = [
        {label for one in ids for label in up(one) if label != -1 and meeting & up(label)}
        for ids in (y, z)
    ]
    return augmented[0], augmented[1]


@given(cases())
@settings(max_examples=100, deadline=None)
def test_lowest_common_ancestors_follow_their_definition(case: Case) -> None:
    totals, shares = np.zeros(3), []
    for gold, predicted in case.sets():
        y, z = lca_sets(case.taxonomy, gold, predicted)
        sizes = len(y & z), len(z), len(y)
        totals += sizes
        shares.append(f1(*sizes))
    found = without_scores(case).lca
    assert found.micro.f1 == pytest.approx(f1(*totals))
    assert found.per_document.f1 == pytest.approx(np.mean(shares))


@given(cases())
@settings(max_examples=60, deadline=None)
def test_orphans_and_inversions_follow_their_definitions(case: Case) -> None:
    taxonomy = case.taxonomy
    below = [label for label in range(len(taxonomy)) if len(taxonomy.parents(label))]
    orphans = [
        sum(
            1 for i in predicted if i in below and not predicted & set(taxonomy.parents(i).tolist())
        )
        for _, predicted in case.sets()
    ]
    inverted = [
        bool(row[label] > row[taxonomy.parents(label)].max())
        for row in case.scores
        for label in below
    ]
    found = case.evaluate().coherence
    assert found.documents_with_orphans == pytest.approx(np.mean([count > 0 for count in orphans]))
    assert found.orphans == pytest.approx(sum(orphans) / max(1, case.predicted.sum()))
    assert found.inversions == pytest.approx(np.mean(inverted) if inverted else 0.0)


@given(cases())
@settings(max_examples=40, deadline=None)
def test_relations_between_the_scores(case: Case) -> None:
    """C-F1 is at most F1, level 1 has no chains above it, and gold itself is perfect."""
    found = without_scores(case)
    assert found.constrained.micro_f1 <= found.micro_f1 + 1e-12
    assert found.constrained.levels[0] == found.scores.levels[0]
    assert 0 < found.paths.weight <= 1
    perfect = evaluation(case.taxonomy, case.gold, case.gold)
    some_gold = float(case.gold.any())
    assert perfect.hierarchical.micro.f1 == perfect.lca.micro.f1 == some_gold
    assert perfect.paths.right == perfect.paths.gold == perfect.paths.predicted
