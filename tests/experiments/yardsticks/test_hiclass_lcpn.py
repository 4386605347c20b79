"""HiClass's local classifiers on sentence embeddings."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from hbgl.corpora import CorpusFolder
from hbgl.errors import BackboneError, MissingExtraError
from hbgl.experiments.yardsticks import FittedYardstick, fit_yardstick
from hbgl.experiments.yardsticks.documents import read_documents
from hbgl.experiments.yardsticks.hiclass_lcpn import LocalClassifiers
from hbgl.experiments.yardsticks.label_paths import path_rows
from hbgl.experiments.yardsticks.sentence_vectors import SentenceEncoder
from hbgl.taxonomy import Taxonomy
from tests.experiments.yardsticks.corpora import (
    DEV,
    GRAPH,
    TRAIN,
    Rows,
    closed_sets,
    corpus_folder,
)
from tests.tiny import tiny_backbone, tiny_folder

TEXTS = [text for text, _ in DEV]
ONE_PATH: Rows = [row for row in TRAIN if len(row[1]) < 2]


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbone") / "tiny"
    tiny_folder(folder, hidden=64)
    return folder


def fit(corpus: CorpusFolder, backbone: Path, **options: Any) -> FittedYardstick:
    options = {"backbone": str(backbone), "c": 1e4, "tolerance": 0.0, **options}
    return fit_yardstick("hiclass-lcpn", corpus, seed=0, options=options, said=lambda line: None)


def names(corpus: CorpusFolder, chosen: csr_matrix) -> list[set[str]]:
    return [{corpus.taxonomy.labels[i] for i in row.indices} for row in chosen]


def test_paths_are_rows_of_equal_length() -> None:
    """a > (b, c), d: {a, b, d} is two rows, {a} ends at level 1, {} at the root."""
    taxonomy = Taxonomy.from_paths([("a", "b"), ("a", "c"), ("d",)])
    assert taxonomy.labels == ("a", "d", "b", "c")
    gold = csr_matrix(np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool))
    rows = path_rows(gold, taxonomy)
    assert rows.documents.tolist() == [0, 0, 1, 2]
    assert rows.paths.tolist() == [["0", "2"], ["1", "."], ["0", "."], [".", "."]]
    assert rows.most == 2


def test_in_a_graph_there_is_a_path_through_every_parent(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c", GRAPH, [("a", ["bets"])])
    rows = path_rows(read_documents(corpus, "train").gold, corpus.taxonomy)
    assert rows.paths.tolist() == [["0", "2"], ["1", "2"]]


class TwoPaths:
    """Stands for what HiClass fits: shares that a hand can multiply.

    Root: label 0 with 0.6, label 1 with 0.3, the end with 0.1. Below 0: label 2 with 0.8, the end
    with 0.2. Below 1: label 2 again, with 1.
    """

    root_, separator_ = "root", "/"

    class Node:
        def __init__(self, **shares: float) -> None:
            self.classes_ = np.array(list(shares))
            self.shares = list(shares.values())

        def predict_proba(self, vectors: np.ndarray) -> np.ndarray:
            return np.tile(self.shares, (len(vectors), 1))

    def __init__(self) -> None:
        below = {
            "root": {"0": 0.6, "1": 0.3, ".": 0.1},
            "0": {"0/2": 0.8, "0/.": 0.2},
            "1": {"1/2": 1.0},
        }
        leaves: dict[str, dict[str, Any]] = {key: {} for key in ("0/2", "1/2", "0/.", ".")}
        self.hierarchy_ = self
        self.nodes: dict[str, dict[str, Any]] = {
            **leaves,
            **{node: {"classifier": self.Node(**shares)} for node, shares in below.items()},
        }


def test_walk_by_hand() -> None:
    """Tolerance 0: 0, then 2. At 0.3, 1 joins (0.3 >= 0.6 - 0.3), and brings 2 a second time.

    Probabilities: 0.6, 0.3, and of label 2: 0.6 * 0.8 + 0.3 * 1 = 0.78.
    """
    model = LocalClassifiers(TwoPaths(), 4)
    two = np.zeros((2, 5))
    assert model.chosen(two, 0.0).toarray().tolist() == 2 * [[True, False, True, False]]
    assert model.chosen(two, 0.31).toarray().tolist() == 2 * [[True, True, True, False]]
    assert model.probabilities(two) == pytest.approx(np.array(2 * [[0.6, 0.3, 0.78, 0.0]]))
    assert model.chosen(np.zeros((0, 5)), 0.0).shape == (0, 4)
    assert model.probabilities(np.zeros((0, 5))).shape == (0, 4)


def test_at_tolerance_0_the_answer_is_hiclass_own() -> None:
    """Random vectors and paths of unequal length, through HiClass's predict."""
    hiclass = pytest.importorskip("hiclass")
    taxonomy = Taxonomy.from_paths([("a", "b", "c"), ("a", "d"), ("e", "f"), ("g",)])
    random = np.random.default_rng(0)
    leaves = random.integers(-1, len(taxonomy), size=60)
    gold = np.zeros((60, len(taxonomy)), dtype=bool)
    for row, leaf in enumerate(leaves):
        gold[row, taxonomy.closure([leaf] if leaf >= 0 else [])] = True
    vectors = random.normal(size=(60, 5)).astype(np.float32)
    fitted = hiclass.LocalClassifierPerParentNode(
        local_classifier=LogisticRegression(C=10.0), verbose=logging.WARNING
    )
    fitted.fit(vectors, path_rows(csr_matrix(gold), taxonomy).paths)
    others = random.normal(size=(200, 5)).astype(np.float32)
    theirs = [
        sorted(int(label) for label in row if label not in (".", ""))
        for row in fitted.predict(others)
    ]
    ours = LocalClassifiers(fitted, len(taxonomy)).chosen(others, 0.0)
    assert [sorted(row.indices.tolist()) for row in ours] == theirs
    assert len({tuple(row) for row in theirs}) > 5


def test_paths_end_where_train_says(tmp_path: Path, backbone: Path) -> None:
    """One path per text: at level 1, 2 or 3, or none; herbs stands in no training document."""
    pytest.importorskip("hiclass")
    corpus = corpus_folder(tmp_path / "c", train=ONE_PATH)
    fitted = fit(corpus, backbone)
    texts = [text for text, _ in ONE_PATH]
    chosen = fitted.choose(texts)
    assert names(corpus, chosen) == closed_sets(corpus, [labels for _, labels in ONE_PATH])
    shares = fitted.probabilities(texts)
    assert shares is not None
    assert shares.shape == (len(texts), 8)
    assert shares.dtype == np.float32
    assert np.array_equal(shares > 0.5, chosen.toarray())
    assert not shares[:, corpus.taxonomy.id("herbs")].any()
    roots = shares[:, corpus.taxonomy.level_slice(1)].sum(axis=1)
    assert (roots <= 1 + 1e-6).all()


def test_several_paths_by_a_tolerance_from_dev(tmp_path: Path, backbone: Path) -> None:
    """One path per text loses the second of ``cats, oaks``; a tolerance finds both.

    What children share is then no probability, and none is given.
    """
    pytest.importorskip("hiclass")
    dev: Rows = [row for row in TRAIN if len(row[1]) == 2]
    corpus = corpus_folder(tmp_path / "c", dev=dev)
    fitted = fit(corpus, backbone, tolerance=[0.0, 0.9])
    texts = [text for text, _ in dev]
    assert names(corpus, fitted.choose(texts)) == 2 * closed_sets(corpus, [["cats", "oaks"]])
    assert fitted.probabilities(texts) is None
    report = json.loads(json.dumps(fitted.report))
    assert report["chosen"] == {"c": 1e4, "tolerance": 0.9}
    assert report["most_paths"] == 2
    assert report["tried"][0]["micro_f1"] < report["tried"][1]["micro_f1"] == 1.0


def test_a_taxonomy_of_one_level(tmp_path: Path, backbone: Path) -> None:
    pytest.importorskip("hiclass")
    rows: Rows = [("bank money", ["a"]), ("rain snow", ["b"]), ("film music", [])]
    corpus = corpus_folder(tmp_path / "c", "Root\ta\tb\n", rows, None)
    fitted = fit(corpus, backbone)
    assert names(corpus, fitted.choose([text for text, _ in rows])) == [{"a"}, {"b"}, set()]


def test_labels_below_two_parents(tmp_path: Path, backbone: Path) -> None:
    pytest.importorskip("hiclass")
    rows: Rows = [("bank money", ["bets"]), ("bank card", ["bets"]), ("rain snow", ["ball"])]
    corpus = corpus_folder(tmp_path / "c", GRAPH, rows, None)
    found = names(corpus, fit(corpus, backbone).choose([text for text, _ in rows]))
    assert found == closed_sets(corpus, [["bets"], ["bets"], ["ball"]])


def test_the_same_seed_gives_the_same_answers(tmp_path: Path, backbone: Path) -> None:
    pytest.importorskip("hiclass")
    corpus = corpus_folder(tmp_path / "c", train=ONE_PATH)
    first, second = (fit(corpus, backbone, c=1.0).probabilities(TEXTS) for _ in range(2))
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)


def test_without_hiclass_the_extra_is_named(
    tmp_path: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_folder(tmp_path / "c")
    monkeypatch.setitem(sys.modules, "hiclass", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hbgl\[experiments\]'"):
        fit(corpus, backbone)


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hiclass")
    monkeypatch.setenv("HBGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HBGL_BACKBONES", raising=False)
    with pytest.raises(BackboneError, match="not asked: offline"):
        fit(corpus_folder(tmp_path / "c"), Path("nobody/nothing"))


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_vectors_are_means_over_the_tokens(family: str) -> None:
    """Text by text, without padding, through the plain model; each of length 1."""
    backbone = tiny_backbone(family)
    texts = ["snow", "bank money account pay law police", "", "the film music game snow rain"]
    found = SentenceEncoder(backbone, 6).vectors(texts)
    model: Any = backbone.model
    for text, vector in zip(texts, found, strict=True):
        ids = backbone.tokenizer.encode(text).ids
        kept = [*ids[:5], ids[-1]] if len(ids) > 6 else ids
        with torch.no_grad():
            states = model(input_ids=torch.tensor([kept])).last_hidden_state[0]
        mean = states.mean(dim=0)
        assert vector == pytest.approx((mean / mean.norm()).numpy(), abs=1e-5)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(4))
    assert SentenceEncoder(backbone, 6).vectors([]).shape == (0, 16)
