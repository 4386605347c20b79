"""fit, predict, predict_proba, score: the estimator over the trained model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score

from hbgl import HBGLClassifier
from hbgl.backbones import load_backbone
from hbgl.classifier.training_data import read_training_data, split_dev
from hbgl.corpora import open_corpus
from hbgl.errors import InputError, UsageError
from hbgl.records import Record, write_records
from hbgl.taxonomy import Taxonomy, write_taxonomy
from hbgl.training_run import train_classifier
from tests.classifier.estimators import FAST, LABELS, MATRIX, TEXTS, backbone, estimator, fitted
from tests.small_corpus import TAXONOMY, closed, eight_records


def data_of(model: HBGLClassifier, X: Any = TEXTS, y: Any = LABELS, *dev: Any) -> Any:
    return read_training_data(model.get_params(deep=False), X, y, *(dev or (None, None)))


# ---------------------------------------------------------------------- training


def test_it_learns_eight_texts() -> None:
    """Every text of small_corpus exactly, by whole paths; one of them has no labels."""
    records = eight_records() * 2
    texts = [record.text for record in records]
    model = estimator(epochs=60, batch_size=8, learning_rate=1e-2, dev_size=0)
    model.fit(texts, [list(record.labels) for record in records])
    assert model.dev_scores_ is None
    assert model.score(texts, [record.labels[-1:] for record in records]) > 0.9
    (paths,) = model.predict_paths(["wheat corn"])
    assert paths == [("animals", "dogs", "puppies")]


def test_fit_is_the_training_of_a_corpus_folder(tmp_path: Path) -> None:
    """The same records, from memory and from files: the same probabilities, bit for bit."""
    model = estimator()
    data = data_of(model)
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_taxonomy(TAXONOMY, folder / "taxonomy.tsv")
    for split, records in data.splits.items():
        write_records(records, folder / f"{split}.jsonl")
    by_folder = train_classifier(open_corpus(folder), data.settings, load=load_backbone)
    model.fit(TEXTS, LABELS)
    found = by_folder.predict_proba(TEXTS)
    assert np.array_equal(model.predict_proba(TEXTS), found)
    assert model.model_.metrics["documents"] == by_folder.metrics["documents"] == 22
    assert by_folder.metrics["corpus"] == "corpus"
    assert "corpus" not in model.model_.metrics


def test_fitting_again_gives_the_same_and_another_seed_another() -> None:
    first = fitted().predict_proba(TEXTS)
    assert np.array_equal(estimator().fit(TEXTS, LABELS).predict_proba(TEXTS), first)
    other = estimator(seed=1).fit(TEXTS, LABELS)
    assert not np.allclose(other.predict_proba(TEXTS), first)


@pytest.mark.parametrize("y", [MATRIX, [set(row) for row in LABELS], [tuple(LABELS[0])] * 24])
def test_forms_of_y(y: Any) -> None:
    """A matrix and sets say the same as lists; a tuple is one path."""
    if isinstance(y, list) and isinstance(y[0], tuple):
        with pytest.raises(InputError, match="y: row 0: wrong path"):
            data_of(estimator(), y=y)
        return
    assert data_of(estimator(), y=y).splits == data_of(estimator()).splits


def test_dev_is_split_off_or_given() -> None:
    """10 % of 24 texts are 2; a dev of one's own leaves all 24 to train."""
    assert [len(rows) for rows in data_of(estimator()).splits.values()] == [22, 2]
    assert set(data_of(estimator(dev_size=0)).splits) == {"train"}
    assert len(data_of(estimator(dev_size=5)).splits["dev"]) == 5
    assert len(data_of(estimator(dev_size=np.float64(0.5))).splits["dev"]) == 12
    own = data_of(estimator(), TEXTS, LABELS, TEXTS[:3], MATRIX[:3]).splits
    assert (len(own["train"]), len(own["dev"])) == (24, 3)
    assert own["dev"][0] == Record(TEXTS[0], closed(LABELS[0]))
    one = data_of(estimator(), ["money"], [["cats"]])
    assert len(one.splits["train"]) == 1
    with pytest.raises(InputError, match="dev_size is 24, but there are 24 texts"):
        split_dev(data_of(estimator(dev_size=0)).splits["train"], 24, 0)


def test_the_same_text_is_not_in_train_and_dev() -> None:
    records = [Record("one and the same", ("animals",)), Record("One and the same!", ())] * 8
    train, dev = split_dev(records, 0.5, 0)
    assert {len(train), len(dev)} == {16, 0}


def test_all_faults_at_once() -> None:
    """Parameters, texts and labels in one error, before anything is computed."""
    model = HBGLClassifier(TAXONOMY, epochs=-1, output="x", threshold=2)
    with pytest.raises(InputError) as caught:
        model.fit([1, ""], [["cats"], ["elms"]], X_dev=["a"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "6 faults:"
    named = ("epochs", "output", "X: row 0", "X_dev and y_dev belong", "threshold", "elms")
    for part in named:
        assert any(part in line for line in lines), part
    assert not hasattr(model, "model_")


@pytest.mark.parametrize(
    ("X", "y", "named"),
    [
        (["a"], [["cats"], ["cats"]], "1 texts, but labels for 2"),
        ([], [], "X has no texts"),
        (["a"], None, "y is missing"),
        (["a"], np.zeros((1, 3)), "y has 3 columns, but there are 8 labels"),
    ],
)
def test_data_that_cannot_be_trained_on(X: Any, y: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        estimator().fit(X, y)


def test_progress_goes_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "hbgl.classifier"):
        estimator().fit(TEXTS, LABELS)
    said = "\n".join(caplog.messages)
    assert "22 training documents, 2 dev documents, 8 labels on 3 levels" in said
    assert "dev Micro-F1" in said


# ---------------------------------------------------------------------- answers


def test_an_unfitted_estimator_says_so() -> None:
    for call in ("predict", "predict_proba", "predict_paths", "label_matrix"):
        with pytest.raises(NotFittedError):
            getattr(estimator(), call)(TEXTS)
    with pytest.raises(NotFittedError):
        estimator().score(TEXTS, LABELS)


def test_answers_are_those_of_the_model() -> None:
    """Matrix, sparse matrix, lists and paths of the same answers."""
    model = fitted()
    expected = model.model_.predict(TEXTS)
    matrix = model.predict(TEXTS)
    assert matrix.shape == (24, 8)
    assert matrix.dtype == np.int64
    assert 0 < matrix.sum() < matrix.size
    named = [[TAXONOMY.labels[i] for i in np.flatnonzero(row)] for row in matrix]
    assert named == [list(one.labels) for one in expected]
    lists = estimator_with(output="labels").predict(TEXTS)
    assert (lists.shape, list(lists)) == ((24,), named)
    assert np.array_equal(estimator_with(output="sparse").predict(TEXTS).toarray(), matrix)
    paths = estimator_with(output="paths").predict(TEXTS)
    assert list(paths) == [list(one.paths) for one in expected]
    assert list(model.predict_paths(TEXTS)) == list(paths)
    assert np.array_equal(model.predict_proba(TEXTS), model.model_.predict_proba(TEXTS))


def estimator_with(**parameters: Any) -> HBGLClassifier:
    """The fitted estimator with other parameters; the model is shared."""
    model = estimator(**parameters)
    model._take(fitted().model_, None)
    return model


def test_no_texts_no_answers() -> None:
    assert fitted().predict([]).shape == fitted().predict_proba([]).shape == (0, 8)
    assert estimator_with(output="paths").predict([]).shape == (0,)


def test_the_matrix_is_what_metrics_of_scikit_learn_take() -> None:
    """f1_score of scikit-learn on the two matrices is ``score``, micro and macro."""
    model = fitted()
    truth, found = model.label_matrix(LABELS), model.predict(TEXTS)
    assert np.array_equal(truth, MATRIX)
    micro = f1_score(truth, found, average="micro")
    assert model.score(TEXTS, LABELS) == pytest.approx(micro)
    macro = estimator_with(scoring="macro_f1").score(TEXTS, LABELS)
    assert macro == pytest.approx(f1_score(truth, found, average="macro", zero_division=0))
    assert model.evaluate(TEXTS, LABELS).documents == 24


def test_columns_are_those_of_the_matrix_that_was_learned() -> None:
    """Two leaves as columns, in their own order: answers have the same two, in that order."""
    pandas = pytest.importorskip("pandas")
    names = ["plants > trees > oaks", "cats"]
    y = pandas.DataFrame(MATRIX[:, [7, 2]], columns=names)
    model = estimator().fit(TEXTS, y)
    everything = estimator_with()
    everything._take(model.model_, None)
    assert model.classes_.tolist() == names
    assert np.array_equal(model.predict(TEXTS), everything.predict(TEXTS)[:, [7, 2]])
    assert np.array_equal(model.predict_proba(TEXTS), everything.predict_proba(TEXTS)[:, [7, 2]])
    assert np.array_equal(model.label_matrix(y), y.to_numpy())
    assert np.array_equal(model.label_matrix(y[names[::-1]]), y.to_numpy())
    assert model.score(TEXTS, y.to_numpy()) == model.score(TEXTS, y)


def test_rules_and_thresholds_hold_without_fitting_again() -> None:
    """threshold 1: nothing; 0: all; leaf: something for every text, one path each with a limit."""
    model = estimator_with(threshold=1.0)
    assert not model.predict(TEXTS).any()
    assert model.set_params(threshold=0.0).predict(TEXTS).all()
    assert model.set_params(threshold=[0.0, 1.0, 1.0]).predict(TEXTS)[:, :2].all()
    assert not model.predict(TEXTS)[:, 2:].any()
    model.set_params(threshold={"animals": 1.0})
    assert not model.predict(TEXTS)[:, 0].any()
    model.set_params(threshold=1.0, rule="leaf", most_paths=1)
    found = model.predict_paths(TEXTS)
    leaves = {TAXONOMY.labels[i] for i in TAXONOMY.leaves}
    assert all(len(paths) == 1 and paths[0][-1] in leaves for paths in found)
    model.set_params(threshold=None, rule=None, most_paths=None)
    assert np.array_equal(model.predict(TEXTS), fitted().predict(TEXTS))


def test_the_rule_given_to_fit_is_the_models_own() -> None:
    model = estimator(rule="leaf", calibrated=False, most_paths=1).fit(TEXTS, LABELS)
    own = model.model_.decision
    assert (own.rule, own.most_paths, own.calibration.levels) == ("leaf", 1, ())
    several = model.set_params(rule="paper", threshold=0.0, most_paths=0).predict_paths(TEXTS)
    assert all(len(paths) > 1 for paths in several)
    assert estimator(most_paths=0).fit(TEXTS, LABELS).model_.decision.most_paths is None


def test_wrong_parameters_are_named_at_prediction() -> None:
    for changed, named in (
        ({"rule": "best"}, "rule must be one of"),
        ({"threshold": 7}, "threshold must be in"),
        ({"most_paths": -1}, "most_paths must be"),
        ({"output": "sets"}, "output 'sets' is none of"),
    ):
        with pytest.raises(InputError, match=named):
            estimator_with(**changed).predict(TEXTS)
    with pytest.raises(InputError, match="scoring 'levels' is no score"):
        estimator_with(scoring="levels").score(TEXTS, LABELS)
    with pytest.raises(InputError, match="X has 24 texts, but y has labels for 1"):
        fitted().score(TEXTS, LABELS[:1])
    with pytest.raises(UsageError, match=r"write \[text\]"):
        fitted().predict("money")


def test_scores_of_test_are_kept_when_asked() -> None:
    model = estimator_with()
    model.model_.metrics.pop("test", None)
    model.evaluate(TEXTS, LABELS)
    assert "test" not in model.model_.metrics
    model.evaluate(TEXTS, LABELS, keep_as="test")
    assert model.model_.metrics.pop("test")["documents"] == 24


def test_dev_scores_are_those_of_the_dev_texts() -> None:
    dev = data_of(estimator()).splits["dev"]
    scores = fitted().evaluate([one.text for one in dev], [list(one.labels) for one in dev])
    assert fitted().dev_scores_ == scores.to_json()


def test_a_taxonomy_is_inferred_and_kept() -> None:
    ids = [TAXONOMY.paths(TAXONOMY.ids(row)) for row in LABELS]
    y = [[tuple(TAXONOMY.labels[i] for i in path) for path in paths] for paths in ids]
    model = estimator(None).fit(TEXTS, y)
    assert isinstance(model.taxonomy_, Taxonomy)
    assert set(model.taxonomy_.labels) == {label for row in LABELS for label in row}
    assert model.taxonomy is None
    assert model.classes_.tolist() == list(model.taxonomy_.labels)


# ---------------------------------------------------------------------- tables


def test_pandas_out_has_names_and_the_index() -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.Series(TEXTS[:3], index=[30, 10, 20])
    found = fitted().predict(X, as_frame=True)
    assert (list(found.columns), list(found.index)) == (list(TAXONOMY.labels), [30, 10, 20])
    assert np.array_equal(found.to_numpy(), fitted().predict(TEXTS[:3]))
    shares = fitted().predict_proba(TEXTS[:3], as_frame="pandas")
    assert np.array_equal(shares.to_numpy(), fitted().predict_proba(TEXTS[:3]))
    assert list(shares.index) == [0, 1, 2]


def test_polars_in_and_out() -> None:
    polars = pytest.importorskip("polars")
    found = fitted().predict_proba(polars.Series(TEXTS[:3]), as_frame="polars")
    assert found.columns == list(TAXONOMY.labels)
    assert np.array_equal(found.to_numpy(), fitted().predict_proba(TEXTS[:3]))


def test_tables_that_cannot_be() -> None:
    with pytest.raises(InputError, match="as_frame needs output='matrix', not 'labels'"):
        estimator_with(output="labels").predict(TEXTS, as_frame=True)
    with pytest.raises(InputError, match="as_frame must be True, False, 'pandas' or 'polars'"):
        fitted().predict_proba(TEXTS, as_frame="arrow")


def test_a_library_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(InputError, match="as_frame needs pandas; install it: pip install pandas"):
        fitted().predict_proba(TEXTS, as_frame=True)


def test_the_backbone_may_be_a_path() -> None:
    model = HBGLClassifier(TAXONOMY, backbone=Path(backbone()), settings=FAST)
    assert data_of(model).settings.backbone == backbone()
