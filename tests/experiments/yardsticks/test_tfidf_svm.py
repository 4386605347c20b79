"""A linear SVM per label on TF-IDF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from hbgl.corpora import CorpusFolder
from hbgl.errors import UsageError
from hbgl.experiments.yardsticks import FittedYardstick, fit_yardstick
from tests.experiments.yardsticks.corpora import DEV, GRAPH, TRAIN, closed_sets, corpus_folder


def fit(corpus: CorpusFolder, lines: list[str] | None = None, **options: Any) -> FittedYardstick:
    heard = [] if lines is None else lines
    return fit_yardstick("tfidf-svm", corpus, seed=0, options=options, said=heard.append)


def answers(fitted: FittedYardstick, texts: list[str]) -> list[set[str]]:
    chosen, labels = fitted.choose(texts), fitted.taxonomy.labels
    assert chosen.dtype == bool
    assert chosen.shape == (len(texts), len(labels))
    return [{labels[i] for i in row.indices} for row in chosen]


def test_unequal_depths_several_paths_and_none(tmp_path: Path) -> None:
    """Every kind of document is learnt; herbs, of which train has none, is never chosen."""
    corpus = corpus_folder(tmp_path / "c")
    lines: list[str] = []
    fitted = fit(corpus, lines, c=[0.001, 10.0])
    texts = [text for text, _ in DEV]
    assert answers(fitted, texts) == closed_sets(corpus, [labels for _, labels in DEV])
    assert fitted.probabilities(texts) is None
    assert not fitted.choose([text for text, _ in TRAIN])[:, corpus.taxonomy.id("herbs")].nnz
    report = json.loads(json.dumps(fitted.report))
    assert report["chosen"] == {"c": 10.0}
    assert [one["c"] for one in report["tried"]] == [0.001, 10.0]
    assert report["tried"][1]["micro_f1"] == 1.0
    assert report["options"]["min_df"] == 2
    assert len(lines) == 3


def test_equals_scikit_learns_one_vs_rest(tmp_path: Path) -> None:
    """The labels that occur, through OneVsRestClassifier."""
    corpus = corpus_folder(tmp_path / "c")
    taxonomy = corpus.taxonomy
    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    features = vectorizer.fit_transform([text for text, _ in TRAIN])
    gold = np.zeros((len(TRAIN), len(taxonomy)), dtype=int)
    for row, (_, labels) in enumerate(TRAIN):
        gold[row, taxonomy.closure(taxonomy.ids(labels).tolist())] = 1
    occur = gold.any(axis=0)
    theirs = OneVsRestClassifier(LinearSVC(C=1.0, random_state=0)).fit(features, gold[:, occur])
    texts = [*(text for text, _ in DEV), "sun corn", "money rain", "law", "the"]
    expected = np.zeros((len(texts), len(taxonomy)), dtype=bool)
    expected[:, occur] = theirs.predict(vectorizer.transform(texts))
    ours = fit(corpus, c=1.0)._chosen(texts).toarray()
    assert np.array_equal(ours, expected)
    assert ours.any()


def test_a_label_of_every_document_is_always_chosen(tmp_path: Path) -> None:
    """With its ancestors through every parent; ball stands in no document."""
    rows = [("bank money", ["bets"]), ("bank card", ["bets"])]
    corpus = corpus_folder(tmp_path / "c", GRAPH, rows, None)
    assert answers(fit(corpus, c=1), ["film"]) == [{"money", "sport", "bets"}]


def test_the_same_seed_gives_the_same_machines(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c")
    one, other = (fit(corpus, c=1.0) for _ in range(2))
    assert isinstance(one, type(other))
    assert np.array_equal(vars(one)["_scores"].weights, vars(other)["_scores"].weights)


def test_many_documents_are_answered_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hbgl.experiments.yardsticks.tfidf_svm._ROWS", 3)
    corpus = corpus_folder(tmp_path / "c")
    texts = [text for text, _ in DEV]
    expected = closed_sets(corpus, [labels for _, labels in DEV])
    assert answers(fit(corpus, c=10), texts) == expected


def test_words_that_occur_once_are_no_features(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c", train=[("bank", ["cats"]), ("snow", ["trees"])])
    with pytest.raises(UsageError, match="no word occurs in 2 training documents; set min_df to 1"):
        fit(corpus, c=1)
    assert answers(fit(corpus, c=1, min_df=1), ["snow"]) == [{"plants", "trees"}]


def test_labels_whose_solver_did_not_end_are_counted(tmp_path: Path) -> None:
    fitted = fit(corpus_folder(tmp_path / "c"), c=1e6, max_iterations=1)
    assert fitted.report["unconverged_labels"] > 0
