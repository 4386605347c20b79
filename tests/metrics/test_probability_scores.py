"""Scores of probabilities: worked by hand, against plain loops, against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, ndcg_score

from hbgl.metrics.calibration import width_bins
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.probability_cells import cell_bounds, cell_count, cells
from hbgl.metrics.ranking import raised
from hbgl.metrics.result import Abstention, Calibration, Coherence, RankingScores, Reliability
from hbgl.taxonomy import Taxonomy
from tests.metrics.examples import GRAPH, TREE, Case, cases, evaluation, matrix

FLAT = Taxonomy.from_paths([("a",), ("b",), ("c",), ("d",)])


def ranking(taxonomy: Taxonomy, gold: Any, scores: Any, **options: Any) -> RankingScores:
    found = evaluation(taxonomy, gold, np.zeros_like(gold), scores, **options).ranking
    assert found is not None
    return found


def calibration(
    taxonomy: Taxonomy, gold: Any, predicted: Any, scores: Any, **o: Any
) -> Calibration:
    found = evaluation(taxonomy, gold, predicted, scores, **o).calibration
    assert found is not None
    return found


def abstention(taxonomy: Taxonomy, gold: Any, predicted: Any, scores: Any, **o: Any) -> Abstention:
    found = evaluation(taxonomy, gold, predicted, scores, **o).abstention
    assert found is not None
    return found


# --- ranking --------------------------------------------------------------------------------------


def test_precision_at_k_and_ndcg() -> None:
    """Gold {a, c}; order b, a, c, d: precision 0/1, 1/2, 2/3.

    nDCG@3 = (1/log2(3) + 1/log2(4)) / (1/log2(2) + 1/log2(3)) = 0.6934.
    """
    scores = np.array([[0.8, 0.9, 0.5, 0.1]])
    found = ranking(FLAT, np.array([[1, 0, 1, 0]]), scores, k=(1, 2, 3))
    assert found.precision_at == pytest.approx({1: 0, 2: 1 / 2, 3: 2 / 3})
    assert found.ndcg_at[3] == pytest.approx(0.6934, abs=1e-4)


def test_labels_of_one_probability_share_their_places() -> None:
    """All four at 0.5: any of them is first in a quarter of the orders."""
    found = ranking(FLAT, np.array([[1, 0, 0, 0]]), np.full((1, 4), 0.5), k=(1, 2, 9))
    assert found.precision_at == pytest.approx({1: 1 / 4, 2: 1 / 4, 9: 1 / 9})


@given(cases())
@settings(max_examples=30, deadline=None)
def test_ndcg_is_that_of_scikit_learn(case: Case) -> None:
    if len(case.taxonomy) == 1:  # scikit-learn refuses a single column
        return
    found = ranking(case.taxonomy, case.gold, case.scores, k=(1, 3, 5))
    for k, share in found.ndcg_at.items():
        expected = ndcg_score(case.gold.astype(int), case.scores, k=k)
        assert share == pytest.approx(expected, abs=1e-9)


def test_hf1_auc_of_a_tree() -> None:
    """Gold {arts music jazz}; falling: sports 0.9, arts 0.8, music 0.5, golf 0.4, jazz 0.3.

    Points: (0, 1), before arts (0, 0), arts (1/3, 1/2), music (2/3, 2/3), before jazz (2/3, 2/4),
    jazz (1, 3/5). Area 1/3 ((0 + 1/2) + (1/2 + 2/3) + (1/2 + 3/5)) / 2.
    """
    order = {"sports": 0.9, "arts": 0.8, "music": 0.5, "golf": 0.4, "jazz": 0.3, "tennis": 0.1}
    scores = np.array([[order[label] for label in TREE.labels]])
    found = ranking(TREE, matrix(TREE, ["arts music jazz"]), scores)
    assert found.hf1_auc == pytest.approx((1 / 2 + 7 / 6 + 11 / 10) / 6)


def test_hf1_auc_of_a_graph() -> None:
    """Gold {a b c}; d 0.9 brings a, b, c at once: from (0, 1) to (1, 3/4): area 7/8.

    In the second document b 0.9 and c 0.8, which brings a: (0, 1), (1/3, 1), (1, 1): area 1.
    """
    gold = matrix(GRAPH, ["a b c", "a b c"])
    names = {"d": [0.9, 0.0], "b": [0.0, 0.9], "c": [0.0, 0.8]}
    scores = np.array([names.get(label, [0.0, 0.0]) for label in GRAPH.labels]).T
    assert ranking(GRAPH, gold[:1], scores[:1]).hf1_auc == pytest.approx(7 / 8)
    assert ranking(GRAPH, gold, scores).hf1_auc == pytest.approx(15 / 16)


def swept_area(taxonomy: Taxonomy, gold: set[int], scores: npt.NDArray[np.float32]) -> float:
    """The threshold falls over the distinct probabilities."""
    target = set(taxonomy.closure(sorted(gold)).tolist())
    points, before, hits = [(0.0, 1.0)], (0.0, 1.0), 0
    for threshold in np.unique(scores)[::-1]:
        reached = set(taxonomy.closure(np.flatnonzero(scores >= threshold).tolist()).tolist())
        found = len(reached & target)
        here = found / len(target), found / len(reached)
        if found > hits:
            points += [before, here]
            hits = found
        before = here
    recalls, precisions = zip(*points, strict=True)
    steps = np.diff(recalls) * (np.array(precisions[1:]) + np.array(precisions[:-1])) / 2
    return float(steps.sum())


@given(cases())
@settings(max_examples=50, deadline=None)
def test_hf1_auc_is_the_area_that_a_falling_threshold_sweeps(case: Case) -> None:
    areas = [
        swept_area(case.taxonomy, gold, row)
        for (gold, _), row in zip(case.sets(), case.scores, strict=True)
        if gold
    ]
    found = ranking(case.taxonomy, case.gold, case.scores)
    assert found.hf1_auc == pytest.approx(np.mean(areas) if areas else 0.0)


@given(cases())
@settings(max_examples=30, deadline=None)
def test_raised_probabilities_are_the_highest_below(case: Case) -> None:
    before = case.scores.copy()
    found = raised(case.scores, LabelGraph(case.taxonomy))
    for label in range(len(case.taxonomy)):
        below = [label, *case.taxonomy.descendants(label).tolist()]
        np.testing.assert_array_equal(found[:, label], case.scores[:, below].max(axis=1))
    np.testing.assert_array_equal(case.scores, before)


# --- calibration ----------------------------------------------------------------------------------


def test_calibration_errors() -> None:
    """Roots a, b; two documents, halves as bins: pairs 0.2 0.4 (one gold), 0.6 0.8 (both gold).

    ECE = 2/4 |0.3 - 1/2| + 2/4 |0.7 - 1|; Brier = (0.8^2 + 0.4^2 + 0.4^2 + 0.2^2) / 4. Chosen 0.4
    (wrong) and 0.8: 1/2 |0.4 - 0| + 1/2 |0.8 - 1|.
    """
    taxonomy = Taxonomy.from_paths([("a",), ("b",)])
    scores = np.array([[0.2, 0.6], [0.4, 0.8]])
    gold, predicted = np.array([[1, 1], [0, 1]]), np.array([[0, 0], [1, 1]])
    found = calibration(taxonomy, gold, predicted, scores, bins=2).overall
    assert found.pairs == 4
    assert found.chosen == 2
    assert found.ece == found.ece_equal_mass == pytest.approx((0.2 + 0.3) / 2)
    assert found.ece_chosen == pytest.approx((0.4 + 0.2) / 2)
    assert found.brier == pytest.approx((0.64 + 0.16 + 0.16 + 0.04) / 4)
    assert [(row.lower, row.upper, row.count) for row in found.bins] == [(0, 0.5, 2), (0.5, 1, 2)]
    assert [row.probability for row in found.bins] == pytest.approx([0.3, 0.7])
    assert [row.positives for row in found.bins] == [0.5, 1.0]
    assert [row.positives for row in found.bins_chosen] == [0.0, 1.0]


def test_calibration_by_level() -> None:
    """Level 1 says 0.5 and is always right, level 2 says 0.5 and never is, level 3 half of it."""
    gold = matrix(TREE, ["sports arts jazz", "sports arts"])
    found = calibration(TREE, gold, gold, np.full(gold.shape, 0.5))
    assert [(level.level, level.pairs) for level in found.levels] == [(1, 4), (2, 6), (3, 2)]
    assert [level.ece for level in found.levels] == pytest.approx([0.5, 0.5, 0.0])
    assert [level.chosen for level in found.levels] == [4, 0, 1]
    assert found.overall.ece == pytest.approx(abs(0.5 - 5 / 12))


@given(cases(), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_reliability_is_that_of_scikit_learn(case: Case, bins: int) -> None:
    flat, p = case.gold.ravel(), case.scores.astype(np.float64).ravel()
    found = calibration(case.taxonomy, case.gold, case.predicted, case.scores, bins=bins).overall
    # Both classes are named, so that scikit-learn takes one of them alone.
    assert found.brier == pytest.approx(brier_score_loss(flat, p, labels=[False, True]))
    shares, means = calibration_curve(np.append(flat, [0, 1]), np.append(p, [0, 1]), n_bins=bins)
    padded = found_with_ends(found, bins)
    np.testing.assert_allclose([row[0] for row in padded], shares, atol=1e-9)
    np.testing.assert_allclose([row[1] for row in padded], means, atol=1e-9)


def found_with_ends(found: Reliability, bins: int) -> list[tuple[float, float]]:
    """Positives and probability of each bin after a 0 that is none and a 1 that is one."""
    sums = np.zeros((bins, 3))
    for row in found.bins:
        place = round(row.lower * bins)
        sums[place] += np.array([1, row.positives, row.probability]) * row.count
    sums[0] += [1, 0, 0]
    sums[-1] += [1, 1, 1]
    return [(positives / n, total / n) for n, positives, total in sums.tolist() if n]


@given(
    arrays(np.float32, st.integers(1, 60), elements=st.floats(0, 1, width=32), unique=True),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_equal_mass_bins(p: npt.NDArray[np.float32], bins: int, random: Any) -> None:
    """Cells in order, each in the bin where the middle of its pairs falls."""
    gold = np.array([[random.random() < 0.4] for _ in p])
    taxonomy = Taxonomy.from_paths([("a",)])
    found = calibration(taxonomy, gold, gold, p[:, None], bins=bins).overall
    order = np.argsort(p)
    groups: dict[int, list[int]] = {}
    for index in order.tolist():
        groups.setdefault(int(cells(p, 14)[index]), []).append(index)
    expected: dict[int, list[int]] = {}
    before = 0
    for members in groups.values():
        expected.setdefault(int((before + len(members) / 2) * bins / len(p)), []).extend(members)
        before += len(members)
    assert [row.count for row in found.bins_equal_mass] == [len(g) for g in expected.values()]
    ece = sum(abs(p[g].astype(float).sum() - gold[g].sum()) for g in expected.values()) / len(p)
    assert found.ece_equal_mass == pytest.approx(ece, abs=1e-9)
    for row, members in zip(found.bins_equal_mass, expected.values(), strict=True):
        assert row.lower <= p[members].min() <= p[members].max() <= row.upper
    if len(groups) == len(p) and len(p) % bins == 0:
        assert {row.count for row in found.bins_equal_mass} == {len(p) // bins}


@given(st.lists(st.floats(0, 1, width=32), min_size=1), st.sampled_from([14, 20, 23]))
@settings(deadline=None)
def test_cells_keep_the_order_and_hold_their_probabilities(p: list[float], shift: int) -> None:
    probabilities = np.sort(np.array(p, dtype=np.float32))
    place = cells(probabilities, shift)
    assert np.all(np.diff(place) >= 0)
    lower, upper = cell_bounds(shift)
    assert len(lower) == len(upper) == cell_count(shift)
    assert np.all((lower[place] <= probabilities) & (probabilities <= upper[place]))
    # A cell is as wide as the one around 2^-32 at least, and never wider than it is far from 0, 1.
    distance = np.minimum(probabilities, 1 - probabilities)
    widths = (upper - lower)[place]
    assert np.all(widths <= np.maximum(distance * 2.0 ** (shift - 22), 2.0**-31))


def test_very_deep_taxonomies_get_coarser_cells() -> None:
    """A chain of 3,000 levels: no gigabytes, the errors as they are."""
    chain = Taxonomy.from_paths([[f"label {i}" for i in range(3000)]])
    gold = np.zeros((1, 3000), dtype=bool)
    gold[0, :2] = True
    found = calibration(chain, gold, gold, np.where(gold, 0.75, 0.25))
    assert len(found.levels) == 3000
    assert found.overall.ece == found.overall.ece_equal_mass == pytest.approx(0.25)


@pytest.mark.parametrize("bins", [1, 3, 10, 15, 20])
def test_bin_edges_belong_to_the_bin_below(bins: int) -> None:
    p = np.linspace(0, 1, 2 * bins + 1).astype(np.float32).astype(np.float64)
    expected = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], p)
    np.testing.assert_array_equal(width_bins(p, bins), expected)


# --- abstention -----------------------------------------------------------------------------------


def test_accuracy_and_coverage() -> None:
    """Smallest probabilities 0.9, 0.8, 0.6 and 0 (nothing predicted); right: yes, no, yes, no.

    Risks 0, 1/2, 1/3, 1/2: AURC 1/3. At 70% coverage three documents are answered.
    """
    gold = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 0]])
    predicted = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    scores = np.array([[0.9, 0, 0, 0], [0, 0, 0.8, 0], [0.99, 0.6, 0, 0], [0.3, 0, 0.4, 0]])
    found = abstention(FLAT, gold, predicted, scores, coverages=(0.25, 0.5, 0.7, 1.0))
    assert found.aurc == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert [point.accuracy for point in found.at] == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])
    assert [point.hf1 for point in found.at] == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])
    assert [point.confidence for point in found.at] == pytest.approx([0.9, 0.8, 0.6, 0], abs=2e-3)
    assert [point.coverage for point in found.curve] == [i / 100 for i in range(1, 101)]
    assert found.curve[-1].accuracy == 0.5
    first = abstention(FLAT, gold, predicted, scores, confidence="first-level", coverages=(0.5,))
    assert first.confidence == "first-level"  # 0.99, 0.9, 0.8, 0.4: right, right, wrong, wrong
    assert first.at[0].accuracy == 1.0
    assert first.aurc == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_the_curve_is_that_of_the_sorted_documents(documents: list[tuple[int, bool]]) -> None:
    """Ties count with the mean over their orders: within one, errors are spread evenly."""
    taxonomy = Taxonomy.from_paths([("a",), ("b",)])
    tenths, right = np.array([tenth for tenth, _ in documents]), np.array([r for _, r in documents])
    gold = np.column_stack([right, ~right])
    predicted = np.column_stack([np.ones_like(right), np.zeros_like(right)])
    scores = np.column_stack([tenths / 10, np.zeros(len(tenths))])
    found = abstention(taxonomy, gold, predicted, scores, coverages=(0.3, 0.5, 1.0))
    order = np.argsort(-tenths, kind="stable")
    spread = np.array([right[tenths == tenth].mean() for tenth in tenths[order]])
    counts = np.arange(1, len(order) + 1)
    accuracy = np.cumsum(spread) / counts
    assert found.aurc == pytest.approx(1 - accuracy.mean(), abs=1e-9)
    for point in (*found.at, *found.curve):
        place = int(np.ceil(point.coverage * len(order) - 1e-6)) - 1
        assert point.accuracy == pytest.approx(accuracy[place])


# --- coherence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("of_c", "inversions"), [(0.5, 0.0), (0.7, 0.0), (0.8, 1 / 3)])
def test_a_probability_is_compared_with_the_best_parent(of_c: float, inversions: float) -> None:
    """c below a 0.3 and b 0.7; d and e are lower."""
    values = {"a": 0.3, "b": 0.7, "c": of_c, "d": 0.1, "e": 0.2}
    scores = np.array([[values[label] for label in GRAPH.labels]])
    gold = matrix(GRAPH, ["a"])
    found: Coherence = evaluation(GRAPH, gold, gold, scores).coherence
    assert found.inversions == pytest.approx(inversions)
