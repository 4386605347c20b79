"""The evaluator as a whole: batches, JSON, the table, faults, memory."""

from __future__ import annotations

import doctest
import importlib
import itertools
import json
import pkgutil
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import hbgl.metrics
from hbgl.metrics import Evaluator, LabelCounts, evaluator, label_keys, score_table
from hbgl.taxonomy import Taxonomy
from tests.metrics.examples import GRAPH, TREE, TREE_GOLD, TREE_PREDICTED, Case, cases, evaluation
from tests.metrics.examples import matrix as named_matrix


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(hbgl.metrics.__path__)]
)
def test_the_documented_examples_hold(name: str) -> None:
    module = importlib.import_module(f"hbgl.metrics.{name}")
    found = doctest.testmod(module)
    assert found.failed == 0
    assert found.attempted > 0 or name in {"label_keys", "label_graph", "result", "table"}


def close(found: Any, expected: Any) -> None:
    """The same JSON, numbers to rounding errors."""
    assert type(found) is type(expected)
    if isinstance(found, dict):
        assert list(found) == list(expected)
        for key, value in found.items():
            close(value, expected[key])
    elif isinstance(found, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    else:
        assert found == pytest.approx(expected, abs=1e-9)


@given(cases(), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_batches_of_any_size_in_any_order_score_the_same(case: Case, random: Any) -> None:
    order = list(range(len(case.gold)))
    random.shuffle(order)
    batches = Evaluator(case.taxonomy)
    for row in order:
        part = [row]
        batches.update(csr_matrix(case.gold[part]), case.predicted[part], case.scores[part])
    close(batches.result().to_json(), case.evaluate().to_json())


def test_pieces_of_one_batch_score_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    scores = generator.random((300, len(GRAPH)))
    gold, predicted = generator.random(scores.shape) < scores, scores > 0.6
    whole = evaluation(GRAPH, gold, predicted, scores).to_json(GRAPH.labels)
    monkeypatch.setattr(evaluator, "_CELLS", 7 * len(GRAPH))
    monkeypatch.setattr(label_keys, "_ENTRIES", 11)
    close(evaluation(GRAPH, gold, predicted, scores).to_json(GRAPH.labels), whole)
    sparse = evaluation(GRAPH, csr_matrix(gold), csr_matrix(predicted), scores)
    close(sparse.to_json(GRAPH.labels), whole)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_the_flat_scores_are_those_of_label_counts(case: Case) -> None:
    counts = LabelCounts(len(case.taxonomy))
    counts.update(case.gold, case.predicted)
    scores = counts.scores(case.taxonomy.levels)
    found = case.evaluate()
    close(found.scores.to_json(case.taxonomy.labels), scores.to_json(case.taxonomy.labels))
    assert (found.micro_f1, found.macro_f1) == (scores.micro_f1, scores.macro_f1)
    assert found.documents == len(case.gold)


def test_json_for_machines() -> None:
    gold, predicted = named_matrix(TREE, TREE_GOLD), named_matrix(TREE, TREE_PREDICTED)
    scores = np.where(predicted, 0.75, 0.25)
    with_scores = evaluation(TREE, gold, predicted, scores, k=(1, 2))
    found = json.loads(json.dumps(with_scores.to_json(TREE.labels), allow_nan=False))
    assert found["micro_f1"] == with_scores.scores.micro_f1
    assert list(found)[-1] == "labels"
    assert list(found["labels"]) == list(TREE.labels)
    assert found["hierarchical"]["micro"]["f1"] == pytest.approx(7 / 9)
    assert found["ranking"]["precision_at"].keys() == {"1", "2"}
    assert [level["level"] for level in found["calibration"]["levels"]] == [1, 2, 3]
    assert found["calibration"]["overall"]["bins"][0]["upper"] > 0.25
    assert len(found["abstention"]["curve"]) == 100
    without = evaluation(TREE, gold, predicted).to_json()
    assert without["ranking"] is without["abstention"] is without["calibration"] is None
    assert without["coherence"]["inversions"] is None
    assert "labels" not in without
    assert without.keys() == with_scores.to_json().keys()


def test_the_table_for_people() -> None:
    gold, predicted = named_matrix(TREE, TREE_GOLD), named_matrix(TREE, TREE_PREDICTED)
    plain = evaluation(TREE, gold, predicted)
    lines = score_table(plain, TREE, weakest=1)
    flat = score_table(plain.scores, TREE)
    assert lines[: len(flat)] == flat
    assert lines[len(flat) :] == [
        "",
        "in the taxonomy                 Micro-F1  Macro-F1  precision  recall",
        "hierarchical (ancestors added)     77.78     61.11      77.78   77.78",
        "  mean of the documents            72.96                76.67   72.22",
        "  level 1                         100.00    100.00     100.00  100.00",
        "  level 2                          75.00     55.56      75.00   75.00",
        "  level 3                           0.00      0.00       0.00    0.00",
        "lowest common ancestors            66.67                66.67   66.67",
        "C-F1 (right down from the top)     58.82     47.22      62.50   55.56",
        "P-F1 (whole paths)                 25.41     14.82      33.33   25.00",
        "",
        "33.33% of the documents have a label without its parent, 12.50% of the labels are such; "
        "Hamming loss 27.78; P-F1 is weighted by 0.8893",
        "",
        "weakest labels  documents    F1  precision  recall",
        "jazz                    1  0.00       0.00    0.00",
    ]
    scored = evaluation(TREE, gold, predicted, np.where(predicted, 0.75, 0.25), coverages=(0.5, 1))
    lines = score_table(scored, TREE)
    # At 3: (1 + 1/4) + (2 + 1/4) + 3 * 3/4 of 3 * 3; at 5: (1 + 3/4) + (2 + 3/4) + (3 + 1/2).
    start = lines.index("by rank       @1     @3     @5")
    assert lines[start + 1] == "precision  75.00  63.89  53.33"
    # 6 of the 8 pairs at 0.75 are gold and 3 of the 10 at 0.25: 10/18 * 0.05. Brier 3.625 / 18. Of
    # 3 * 4 pairs below level 1, music over arts is inverted.
    assert lines[start + 5] == (
        "calibration error 2.78 over all labels, 0.00 over the predicted ones; Brier score 0.2014; "
        "8.33% of the probabilities exceed those of all parents"
    )
    assert lines[-3:] == [
        "surest documents    50%   100%",
        "exactly right      0.00   0.00",
        "hierarchical F1   72.96  72.96",
    ]


@pytest.mark.parametrize("documents", [0, 2])
def test_nothing_to_score_is_zero(documents: int) -> None:
    """No documents, or none with labels: no warnings, no division by zero, plain JSON."""
    empty = np.zeros((documents, len(GRAPH)), dtype=bool)
    found = evaluation(GRAPH, empty, empty, np.zeros(empty.shape))
    assert found.ranking is not None
    assert found.hierarchical.per_document.f1 == found.lca.micro.f1 == found.ranking.hf1_auc == 0
    assert found.paths.weight == 1.0
    json.dumps(found.to_json(GRAPH.labels), allow_nan=False)
    assert score_table(found, GRAPH)
    assert Evaluator(GRAPH).result().ranking is None


def test_faulty_batches_are_refused() -> None:
    gold = np.zeros((2, len(TREE)))
    for other in (np.zeros((3, len(TREE))), np.zeros((2, 4))):
        with pytest.raises(ValueError, match=r"must be \[B, 6\]"):
            Evaluator(TREE).update(gold, other)
    with pytest.raises(ValueError, match=r"scores \(2, 4\) must be \(2, 6\)"):
        Evaluator(TREE).update(gold, gold, np.zeros((2, 4)))
    for value in (-0.5, 1.5, np.nan):
        with pytest.raises(ValueError, match="are no probabilities"):
            Evaluator(TREE).update(gold, gold, np.full(gold.shape, value))
    started = Evaluator(TREE)
    started.update(gold, gold, gold)
    with pytest.raises(ValueError, match="every batch of documents or with none"):
        started.update(gold, gold)


def test_faulty_options_are_refused_all_at_once() -> None:
    options: dict[str, Any] = {"k": (0,), "bins": 0, "confidence": "gut", "coverages": (0.0,)}
    with pytest.raises(ValueError, match=r"k \(0,\).*bins 0.*'gut'.*coverages \(0\.0,\)"):
        Evaluator(TREE, **options)


def test_many_chains_in_a_graph_are_counted_without_being_walked() -> None:
    """A ladder of 40 steps of two labels each: 2^40 paths, all right."""
    steps = [(f"l{i}", f"r{i}") for i in range(40)]
    edges = [
        (above, below)
        for upper, lower in itertools.pairwise(steps)
        for above in upper
        for below in lower
    ]
    ladder = Taxonomy.from_edges(edges, labels=steps[0])
    every = np.ones((1, len(ladder)), dtype=bool)
    assert evaluation(ladder, every, every).paths.right == 2.0**40


def test_memory_does_not_grow_with_the_documents() -> None:
    """20,000 documents by 500 labels in batches; what is kept is what 2,000 leave."""
    taxonomy = Taxonomy.from_paths(
        [
            (f"a{i}", f"b{i}.{j}", f"c{i}.{j}.{k}")
            for i in range(5)
            for j in range(9)
            for k in range(10)
        ]
    )
    generator = np.random.default_rng(3)
    scores = generator.random((1000, len(taxonomy)), dtype=np.float32) ** 8
    gold, predicted = csr_matrix(scores > 0.95), csr_matrix(scores > 0.9)
    counted = Evaluator(taxonomy)
    tracemalloc.start()
    try:
        kept = []
        for batch in range(20):
            counted.update(gold, predicted, scores)
            if batch in (1, 19):
                kept.append(tracemalloc.get_traced_memory()[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counted.result().documents == 20_000
    assert kept[1] - kept[0] < 1 << 16
    assert peak < 128 << 20
