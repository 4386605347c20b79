"""The rules on worked examples, a tree and a DAG, and what must hold of each on any taxonomy."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hbgl.decisions import RULES, Calibration, Decider, Decision, Decoded, LevelMap
from hbgl.errors import TaxonomyError, UsageError
from hbgl.settings import Rule
from hbgl.taxonomy import Taxonomy
from tests.small_corpus import TAXONOMY, deciding

DAG = Taxonomy.from_edges(
    [("Root", "a"), ("Root", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("c", "e"), ("b", "e")]
)
"""a: c d, b: c e, c: e. Levels: a b | c d | e."""


def walk(decider: Decider, **probabilities: float) -> Decoded:
    """One document; labels that are not named have the probability 0.01."""
    given_ = torch.full((1, len(decider.taxonomy)), 0.01)
    for label, value in probabilities.items():
        given_[0, decider.taxonomy.id(label)] = value
    return decided(decider, torch.logit(given_))


def decided(decider: Decider, scores: torch.Tensor) -> Decoded:
    taxonomy = decider.taxonomy
    steps = decider.begin(len(scores))
    for level in range(1, taxonomy.depth + 1):
        steps.take(level, scores[:, taxonomy.level_slice(level)])
    return steps.decoded()


def labels(taxonomy: Taxonomy, decoded: Decoded) -> set[str]:
    return {taxonomy.labels[i] for i in np.flatnonzero(decoded.chosen[0].numpy())}


# ---------------------------------------------------------------------- worked by hand

TREE_SCORES = {"animals": 0.9, "dogs": 0.4, "puppies": 0.8, "herbs": 0.6, "plants": 0.3}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # puppies without dogs, herbs without plants
        ("paper", {"animals", "puppies", "herbs"}),
        ("closed", {"animals", "dogs", "puppies", "plants", "herbs"}),
        ("coherent", {"animals"}),
        ("backoff", {"animals"}),
        # animals has no sure child: dogs, its likeliest; then puppies is sure below dogs
        ("leaf", {"animals", "dogs", "puppies"}),
    ],
)
def test_each_rule_on_a_tree(rule: Rule, expected: set[str]) -> None:
    """animals .9 > dogs .4 > puppies .8; plants .3 > herbs .6; all thresholds 0.5."""
    assert labels(TAXONOMY, walk(deciding(rule=rule), **TREE_SCORES)) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # c has one chosen parent of its two, which is enough; e stands below c
        ("coherent", {"a", "c", "e"}),
        ("backoff", {"a", "c", "e"}),
        ("closed", {"a", "b", "c", "e"}),
        ("paper", {"a", "c", "e"}),
        ("leaf", {"a", "c", "e"}),
    ],
)
def test_each_rule_on_a_dag(rule: Rule, expected: set[str]) -> None:
    """a .9, b .2, c .7 (below both), e .6 (below b and c)."""
    found = walk(deciding(taxonomy=DAG, rule=rule), a=0.9, b=0.2, c=0.7, e=0.6)
    assert labels(DAG, found) == expected


def test_backoff_stops_where_the_whole_path_is_no_longer_sure() -> None:
    """Thresholds .4 on level 1 and .5 below: animals .45 is sure enough, dogs .9 is not more sure
    than animals: .45 is not above .5. Coherent asks for dogs alone."""
    thresholds = [0.4, 0.5, 0.5]
    for rule, expected in (("backoff", {"animals"}), ("coherent", {"animals", "dogs"})):
        decision = Decision.of_paper(8).changed(
            TAXONOMY,
            rule=rule,  # type: ignore[arg-type]
            threshold=thresholds,
        )
        decider = Decider(TAXONOMY, decision, torch.device("cpu"))
        assert labels(TAXONOMY, walk(decider, animals=0.45, dogs=0.9)) == expected


def test_no_probability_is_above_that_of_the_best_parent() -> None:
    """Tree: dogs .9 under animals .6 is .6, and so is puppies .8. DAG: c .7 under a .2, b .5."""
    found = walk(deciding(rule="coherent"), animals=0.6, dogs=0.9, puppies=0.8).probabilities[0]
    assert found[[0, 3, 6]].tolist() == pytest.approx([0.6, 0.6, 0.6])
    found = walk(deciding(taxonomy=DAG, rule="leaf"), a=0.2, b=0.5, c=0.7).probabilities[0]
    assert found[DAG.id("c")] == pytest.approx(0.5)
    found = walk(deciding(rule="paper"), animals=0.6, dogs=0.9).probabilities[0]
    assert found[3] == pytest.approx(0.9)


def test_leaf_always_answers() -> None:
    """Nothing is sure: plants is the likeliest root, trees its likeliest child, oaks the only."""
    found = walk(deciding(rule="leaf"), animals=0.1, plants=0.2, trees=0.05)
    assert labels(TAXONOMY, found) == {"plants", "trees", "oaks"}


def test_leaf_in_a_dag_waits_for_the_last_level_of_the_children() -> None:
    """b has the children c on level 2 and e on level 3; neither is sure, so e is taken."""
    found = walk(deciding(taxonomy=DAG, rule="leaf"), b=0.9, c=0.4, e=0.3)
    assert labels(DAG, found) == {"b", "e"}


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (1, {"animals", "cats"}),
        (2, {"animals", "cats", "dogs"}),
        (3, {"animals", "cats", "dogs", "plants"}),
    ],
)
def test_at_most_so_many_paths(most: int, expected: set[str]) -> None:
    """animals > cats .9, animals > dogs .8, plants .7 alone."""
    decider = deciding(rule="coherent", most_paths=most)
    found = walk(decider, animals=0.95, cats=0.9, dogs=0.8, plants=0.7)
    assert labels(TAXONOMY, found) == expected


def test_a_path_of_a_dag_is_cut_from_the_others() -> None:
    """a > c .6 and b > c .55 share c: the first is kept, b goes."""
    found = walk(deciding(taxonomy=DAG, rule="coherent", most_paths=1), a=0.6, b=0.55, c=0.9)
    assert labels(DAG, found) == {"a", "c"}
    assert DAG.paths(np.flatnonzero(found.chosen[0].numpy()), closed=False) == [(0, 2)]


def test_calibration_comes_before_the_thresholds() -> None:
    """Twice as flat: logit(.9) / 2 is a probability of .75, not above .8."""
    calibration = Calibration((LevelMap("temperature", slope=0.5), LevelMap(), LevelMap()))
    found = walk(deciding(0.8, calibration=calibration), animals=0.9, cats=0.9)
    assert labels(TAXONOMY, found) == {"cats"}
    assert found.probabilities[0, 0] == pytest.approx(0.75)
    assert found.scores[0, 0] == pytest.approx(math.log(9))


# ---------------------------------------------------------------------- on any taxonomy


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Up to 14 labels; each hangs below the root or up to three earlier labels."""
    count = draw(st.integers(1, 14))
    edges = []
    for child in range(count):
        parents = draw(st.sets(st.integers(0, child - 1), max_size=3)) if child else set()
        edges += [(f"n{parent}", f"n{child}") for parent in parents] or [("Root", f"n{child}")]
    return Taxonomy.from_edges(edges)


SCORES = st.integers(0, 2**32 - 1)


def scores_of(taxonomy: Taxonomy, seed: int) -> torch.Tensor:
    return 2 * torch.randn(5, len(taxonomy), generator=torch.Generator().manual_seed(seed))


@settings(max_examples=150, deadline=None)
@given(taxonomies(), SCORES, st.sampled_from(["closed", "coherent", "backoff", "leaf"]))
def test_whole_paths(taxonomy: Taxonomy, seed: int, rule: Rule) -> None:
    """Every chosen label has a chosen parent; in a tree, and by closed always, all ancestors."""
    chosen = decided(deciding(taxonomy=taxonomy, rule=rule), scores_of(taxonomy, seed)).chosen
    for row in chosen.numpy():
        ids = set(np.flatnonzero(row).tolist())
        for label in ids:
            parents = set(taxonomy.parents(label).tolist())
            assert not parents or parents & ids
        if taxonomy.is_tree or rule == "closed":
            assert set(taxonomy.closure(ids).tolist()) == ids


@settings(max_examples=100, deadline=None)
@given(taxonomies(), SCORES)
def test_leaf_ends_in_leaves_and_is_never_empty(taxonomy: Taxonomy, seed: int) -> None:
    chosen = decided(deciding(taxonomy=taxonomy, rule="leaf"), scores_of(taxonomy, seed)).chosen
    for row in chosen.numpy():
        ids = set(np.flatnonzero(row).tolist())
        assert ids
        for label in ids:
            children = set(taxonomy.children(label).tolist())
            assert not children or children & ids


@settings(max_examples=150, deadline=None)
@given(taxonomies(), SCORES, st.sampled_from(get_args(Rule)), st.data())
def test_a_higher_threshold_adds_no_label_at_its_level(
    taxonomy: Taxonomy, seed: int, rule: Rule, data: st.DataObject
) -> None:
    """``closed`` apart, which decides afterwards: there, no label of the level that is sure."""
    level = data.draw(st.integers(1, taxonomy.depth))
    low = data.draw(st.floats(0.05, 0.9))
    high = data.draw(st.floats(low, 0.95))
    asked: Rule = "paper" if rule == "closed" else rule
    columns, scores = taxonomy.level_slice(level), scores_of(taxonomy, seed)
    found = []
    for value in (low, high):
        thresholds = torch.full((len(taxonomy),), 0.5)
        thresholds[columns] = value
        decoded = decided(deciding(thresholds, taxonomy, rule=asked), scores)
        found.append(decoded.chosen[:, columns])
    assert not (found[1] & ~found[0]).any()


@settings(max_examples=150, deadline=None)
@given(taxonomies(), SCORES, st.sampled_from(["paper", "coherent", "backoff"]), st.data())
def test_a_higher_threshold_of_one_label_adds_no_label_at_its_level(
    taxonomy: Taxonomy, seed: int, rule: Rule, data: st.DataObject
) -> None:
    """Whatever the thresholds of the others are; ``leaf`` apart, see the next test."""
    label = data.draw(st.integers(0, len(taxonomy) - 1))
    columns = taxonomy.level_slice(int(taxonomy.levels[label]))
    thresholds = torch.rand(len(taxonomy), generator=torch.Generator().manual_seed(seed))
    found = []
    for value in sorted(data.draw(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2))):
        thresholds[label] = value
        decoded = decided(
            deciding(thresholds.clone(), taxonomy, rule=rule), scores_of(taxonomy, seed)
        )
        found.append(decoded.chosen[:, columns])
    assert not (found[1] & ~found[0]).any()


def test_leaf_replaces_the_only_sure_child_by_the_likeliest() -> None:
    """cats .6 below its .7, dogs .5 over its .4; with dogs at .55 no child is sure: cats."""
    for threshold, expected in ((0.4, "dogs"), (0.55, "cats")):
        thresholds = torch.full((len(TAXONOMY),), 0.5)
        thresholds[TAXONOMY.id("cats")], thresholds[TAXONOMY.id("dogs")] = 0.7, threshold
        found = walk(deciding(thresholds, rule="leaf"), animals=0.9, cats=0.6, dogs=0.5)
        assert labels(TAXONOMY, found) - {"animals", "puppies"} == {expected}


@settings(max_examples=60, deadline=None)
@given(taxonomies(), SCORES, st.sampled_from(["coherent", "backoff", "leaf"]))
def test_coherent_probabilities(taxonomy: Taxonomy, seed: int, rule: Rule) -> None:
    found = decided(deciding(taxonomy=taxonomy, rule=rule), scores_of(taxonomy, seed))
    for label in range(len(taxonomy)):
        parents = taxonomy.parents(label)
        if len(parents):
            best = found.probabilities[:, parents.tolist()].amax(dim=1)
            assert bool((found.probabilities[:, label] <= best).all())


@settings(max_examples=60, deadline=None)
@given(taxonomies(), SCORES, st.integers(1, 3))
def test_the_limit_of_paths_holds_in_a_tree(taxonomy: Taxonomy, seed: int, most: int) -> None:
    if not taxonomy.is_tree:
        return
    decider = deciding(0.2, taxonomy, rule="coherent", most_paths=most)
    for row in decided(decider, scores_of(taxonomy, seed)).chosen.numpy():
        assert len(taxonomy.paths(np.flatnonzero(row))) <= most


# ---------------------------------------------------------------------- the decision itself


def test_every_rule_is_described() -> None:
    assert set(RULES) == set(get_args(Rule))


def test_thresholds_by_level_and_by_label() -> None:
    decision = Decision.of_paper(8).changed(TAXONOMY, threshold=[0.1, 0.2, 0.3])
    decision = decision.changed(TAXONOMY, threshold={"oaks": 0.9})
    assert decision.thresholds.tolist() == pytest.approx([0.1] * 2 + [0.2] * 4 + [0.3, 0.9])
    written = decision.to_json(TAXONOMY)
    assert written["levels"] == [0.1, 0.2, 0.3]
    assert written["labels"] == {"oaks": 0.9}
    again = Decision.from_json(written, Calibration(), TAXONOMY)
    assert np.array_equal(again.thresholds, decision.thresholds)


def test_wrong_decisions_are_refused() -> None:
    paper = Decision.of_paper(8)
    with pytest.raises(UsageError, match="2 thresholds by level, but the taxonomy has 3"):
        paper.changed(TAXONOMY, threshold=[0.1, 0.2])
    with pytest.raises(TaxonomyError, match="elms"):
        paper.changed(TAXONOMY, threshold={"elms": 0.5})
    with pytest.raises(UsageError, match="no rule 'dice'"):
        paper.changed(TAXONOMY, rule="dice")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"0\.\.1"):
        paper.changed(TAXONOMY, threshold=1.5)
    with pytest.raises(UsageError, match="0 paths"):
        Decision(paper.thresholds, most_paths=0)
