from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

import hbgl
from hbgl.metrics import LabelCounts, Scores, label_keys, score_table
from hbgl.taxonomy import Taxonomy

Matrix = npt.NDArray[np.bool_]


def counted(gold: Any, predicted: Any) -> LabelCounts:
    counts = LabelCounts(gold.shape[1])
    counts.update(gold, predicted)
    return counts


@st.composite
def matrix_pairs(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    shape = (draw(st.integers(1, 12)), draw(st.integers(2, 8)))
    return draw(arrays(bool, shape)), draw(arrays(bool, shape))


def assert_equals_sklearn(scores: Scores, gold: Matrix, predicted: Matrix) -> None:
    for average in ("micro", "macro", None):
        precision, recall, f1, support = precision_recall_fscore_support(
            gold, predicted, average=average, zero_division=0
        )
        if average == "micro":
            assert scores.micro_precision == pytest.approx(precision, abs=1e-12)
            assert scores.micro_recall == pytest.approx(recall, abs=1e-12)
            assert scores.micro_f1 == pytest.approx(f1, abs=1e-12)
        elif average == "macro":
            assert scores.macro_f1 == pytest.approx(f1, abs=1e-12)
        else:
            np.testing.assert_allclose(scores.labels.precision, precision, atol=1e-12)
            np.testing.assert_allclose(scores.labels.recall, recall, atol=1e-12)
            np.testing.assert_allclose(scores.labels.f1, f1, atol=1e-12)
            np.testing.assert_array_equal(scores.labels.support, support)
            supported = f1[support > 0]
            expected = supported.mean() if len(supported) else 0.0
            assert scores.macro_f1_supported == pytest.approx(expected, abs=1e-12)
    assert scores.exact_match == pytest.approx(accuracy_score(gold, predicted))
    assert scores.documents == len(gold)


@settings(max_examples=30, deadline=None)
@given(matrix_pairs())
def test_scores_equal_those_of_scikit_learn(pair: tuple[Matrix, Matrix]) -> None:
    gold, predicted = pair
    assert_equals_sklearn(counted(gold, predicted).scores(), gold, predicted)
    assert_equals_sklearn(
        counted(csr_matrix(gold), csr_matrix(predicted)).scores(), gold, predicted
    )


def test_a_larger_random_corpus_equals_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    gold = generator.random((3000, 50)) < 0.05
    predicted = gold ^ (generator.random(gold.shape) < 0.01)
    whole = counted(gold, predicted)
    assert_equals_sklearn(whole.scores(), gold, predicted)
    monkeypatch.setattr(label_keys, "_CELLS", 333)
    monkeypatch.setattr(label_keys, "_ENTRIES", 17)
    for pieces in (counted(gold, csr_matrix(predicted)), counted(csr_matrix(gold), predicted)):
        np.testing.assert_array_equal(pieces.vector(), whole.vector())


def test_the_worked_example_by_level() -> None:
    """a - c, b: gold {a c}, {b}, {a}; predicted {a c}, {a}, {a c}.

    Level 1 (a, b): TP 2 0, P 3 0, G 2 1: Micro-F1 = 2*2/(3+3) = 2/3, Macro-F1 = (4/5 + 0)/2.
    Level 2 (c): TP 1, P 2, G 1: F1 = 2/3. All: Micro-F1 = 2*3/(5+4) = 2/3.
    """
    gold = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0]])
    predicted = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 1]])
    scores = counted(gold, predicted).scores(np.array([1, 1, 2]))
    assert scores.micro_f1 == pytest.approx(2 / 3)
    assert scores.macro_f1 == pytest.approx((4 / 5 + 0 + 2 / 3) / 3)
    assert scores.exact_match == pytest.approx(1 / 3)
    one, two = scores.levels
    assert (one.level, one.labels, two.level, two.labels) == (1, 2, 2, 1)
    assert one.micro_f1 == pytest.approx(2 / 3)
    assert one.macro_f1 == pytest.approx(2 / 5)
    assert two.macro_f1 == pytest.approx(2 / 3)
    assert two.micro_precision == pytest.approx(1 / 2)
    assert two.micro_recall == pytest.approx(1.0)


def test_labels_that_occur_nowhere_count_in_macro_f1_only() -> None:
    """Label b without gold and prediction: Macro-F1 1/2, over supported labels 1."""
    scores = counted(np.array([[1, 0]]), np.array([[1, 0]])).scores()
    assert (scores.macro_f1, scores.macro_f1_supported, scores.micro_f1) == (0.5, 1.0, 1.0)


@pytest.mark.parametrize("documents", [0, 3])
def test_nothing_to_score_is_zero_without_warnings(documents: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = np.zeros((documents, 2), dtype=bool)
        scores = counted(empty, empty).scores(np.array([1, 2]))
    assert (scores.micro_f1, scores.macro_f1, scores.macro_f1_supported) == (0, 0, 0)
    assert scores.exact_match == (1.0 if documents else 0.0)
    assert scores.documents == documents
    assert counted(np.zeros((2, 0)), np.zeros((2, 0))).scores().macro_f1 == 0.0


def test_sparse_matrices_with_duplicates_and_stored_zeros() -> None:
    """(0,1) twice is one label; a stored False is none."""
    twice = csr_matrix((np.array([True, True, False]), np.array([1, 1, 0]), np.array([0, 3])))
    assert not twice.has_canonical_format
    counts = counted(twice, np.array([[False, True]]))
    assert counts.gold.tolist() == [0, 1]
    assert counts.exact == 1


def test_batches_and_processes_add_up() -> None:
    generator = np.random.default_rng(1)
    gold, predicted = generator.random((2, 40, 7)) < 0.3
    whole = counted(gold, predicted)
    batches = LabelCounts(7)
    for rows in (slice(0, 13), slice(13, 14), slice(14, 40)):
        batches.update(gold[rows], predicted[rows])
    halves = counted(gold[:20], predicted[:20]) + counted(gold[20:], predicted[20:])
    for other in (batches, halves, LabelCounts.from_vector(whole.vector().astype(np.float64))):
        np.testing.assert_array_equal(other.vector(), whole.vector())
    assert len(whole.vector()) == 3 * 7 + 2


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be \[B, 3\]"):
        LabelCounts(3).update(np.zeros((2, 3)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"must be \[B, 3\]"):
        LabelCounts(3).update(np.zeros((2, 4)), np.zeros((2, 4)))


def test_a_million_documents_by_a_thousand_labels() -> None:
    """4 million entries each; what update() takes on top stays below 256 MiB."""
    generator = np.random.default_rng(2)
    columns = generator.integers(0, 1000, 4_000_000, dtype=np.int32)
    offsets = np.arange(0, 4_000_001, 4, dtype=np.int32)
    ones = np.ones(len(columns), dtype=bool)
    shape = (1_000_000, 1000)
    gold = csr_matrix((ones, columns, offsets), shape=shape)
    predicted = csr_matrix((ones, np.roll(columns, 1), offsets), shape=shape)
    tracemalloc.start()
    try:
        counts = counted(gold, predicted)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counts.documents == 1_000_000
    assert peak < 256 << 20
    first = coo_matrix(gold[:1]).col
    assert counted(gold[:1], gold[:1]).gold.sum() == len(np.unique(first))


def example() -> tuple[Scores, Taxonomy]:
    taxonomy = Taxonomy.from_paths([("sports", "tennis"), ("sports", "golf"), ("arts",)])
    gold = np.zeros((3, 4), dtype=bool)
    for row, labels in enumerate((["sports", "tennis"], ["sports", "golf"], ["arts"])):
        gold[row, taxonomy.ids(labels)] = True
    predicted = gold.copy()
    predicted[1, taxonomy.ids(["golf"])] = False
    return counted(gold, predicted).scores(taxonomy.levels), taxonomy


def test_the_table_for_people() -> None:
    """One of five gold labels missed: recall 80, Micro-F1 2*4/(4+5) = 88.89."""
    scores, taxonomy = example()
    assert score_table(scores, taxonomy, weakest=2) == [
        "         labels  Micro-F1  Macro-F1  precision  recall",
        "all           4     88.89     75.00     100.00   80.00",
        "level 1       2    100.00    100.00     100.00  100.00",
        "level 2       2     66.67     50.00     100.00   50.00",
        "",
        "3 documents, 66.67% with exactly the gold labels; Macro-F1 75.00 over all 4 labels, "
        "75.00 over the 4 with support",
        "",
        "weakest labels  documents      F1  precision  recall",
        "golf                    1    0.00       0.00    0.00",
        "sports                  2  100.00     100.00  100.00",
    ]
    assert len(score_table(scores, taxonomy)) == 6


def test_json_for_machines() -> None:
    scores, taxonomy = example()
    found = json.loads(json.dumps(scores.to_json(taxonomy.labels), allow_nan=False))
    assert found["micro_f1"] == pytest.approx(8 / 9)
    assert found["macro_f1"] == 0.75
    assert found["documents"] == 3
    assert [level["level"] for level in found["levels"]] == [1, 2]
    assert list(found["labels"]) == list(taxonomy.labels)
    assert found["labels"]["golf"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}
    assert "labels" not in scores.to_json()


def test_importing_metrics_imports_numpy_alone() -> None:
    code = (
        "import sys, hbgl.metrics;"
        "print([m for m in ('torch', 'scipy', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    source = str(next(iter(hbgl.__path__)).rpartition("/")[0])
    printed = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, check=True
    )
    assert printed.stdout == b"[]\n"
