"""Names, options, the choice on dev, the closure: what all yardsticks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hbgl.errors import CorpusError, HBGLError, UsageError
from hbgl.experiments.yardsticks import YARDSTICKS, fit_yardstick
from hbgl.experiments.yardsticks.documents import read_documents
from hbgl.experiments.yardsticks.fitted import close_ancestors
from hbgl.experiments.yardsticks.search import choose_on_dev
from hbgl.taxonomy import Taxonomy
from tests.experiments.yardsticks.corpora import GRAPH, corpus_folder


def silent(line: str) -> None:
    pass


def test_closure_takes_every_parent() -> None:
    """money, sport > bets (below both), sport > ball: {bets} is {money, sport, bets}."""
    taxonomy = Taxonomy.from_paths([("money", "bets"), ("sport", "bets"), ("sport", "ball")])
    assert taxonomy.labels == ("money", "sport", "bets", "ball")
    chosen = csr_matrix(np.array([[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]], dtype=bool))
    assert close_ancestors(chosen, taxonomy).toarray().astype(int).tolist() == [
        [1, 1, 1, 0],
        [0, 0, 0, 0],
        [1, 1, 0, 1],
    ]


def test_names_and_lines() -> None:
    assert list(YARDSTICKS) == ["tfidf-svm", "trainer-flat", "hiclass-lcpn"]
    assert all(line and "\n" not in line for line in YARDSTICKS.values())


def test_unknown_name(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c")
    with pytest.raises(UsageError, match="no yardstick 'svm'; there are tfidf-svm, trainer-flat"):
        fit_yardstick("svm", corpus, seed=0, options={}, said=silent)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tfidf-svm", {"cc": 1}, r"no option cc; its options are metric, c, ngrams"),
        ("tfidf-svm", {"c": []}, r"c must have a value or more, not \[\]"),
        ("tfidf-svm", {"c": [1, 0]}, r"c must be above 0, not \[1, 0\]"),
        ("tfidf-svm", {"c": "1"}, r"c must be a number above 0, not '1'"),
        ("tfidf-svm", {"min_df": True}, r"min_df must be a whole number of 1 or more, not True"),
        ("tfidf-svm", {"metric": "accuracy"}, r"metric must be one of mean, micro_f1, macro_f1"),
        ("trainer-flat", {"epochs": float("nan")}, r"epochs must be a number above 0, not nan"),
        ("trainer-flat", {"max_length": 2}, r"max_length must be 3 or more, not 2"),
        ("trainer-flat", {"backbone": ""}, r"backbone must be a name, not ''"),
        ("trainer-flat", {"grid": {"seed": [1]}}, r"grid must give lists of values for epochs, "),
        ("trainer-flat", {"grid": {"epochs": [-1]}}, r"grid of epochs must be a number above 0"),
        ("hiclass-lcpn", {"tolerance": -0.1}, r"tolerance must be a number above 0, not -0.1"),
    ],
)
def test_refused_options(tmp_path: Path, name: str, options: dict[str, Any], message: str) -> None:
    corpus = corpus_folder(tmp_path / "c")
    with pytest.raises(UsageError, match=f"^yardstick {name}: {message}"):
        fit_yardstick(name, corpus, seed=0, options=options, said=silent)


def test_all_faults_of_options_come_at_once(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c")
    with pytest.raises(UsageError) as caught:
        fit_yardstick(
            "tfidf-svm", corpus, seed=0, options={"b": 1, "a": 2, "c": -1, "min_df": 0}, said=silent
        )
    message = str(caught.value)
    assert "no option a, b; " in message
    assert "c must be a number above 0, not -1" in message
    assert "min_df must be a whole number of 1 or more, not 0" in message


@pytest.mark.parametrize("name", YARDSTICKS)
def test_a_choice_needs_dev(tmp_path: Path, name: str) -> None:
    corpus = corpus_folder(tmp_path / "c", dev=None)
    options = {"grid": {"epochs": [1, 2]}} if name == "trainer-flat" else {}
    with pytest.raises(CorpusError, match="no dev split to choose among"):
        fit_yardstick(name, corpus, seed=0, options=options, said=silent)


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c", dev=())
    with pytest.raises(CorpusError, match="dev has no documents"):
        read_documents(corpus, "dev")


def test_the_metric_decides_and_of_equals_the_first(tmp_path: Path) -> None:
    """Taxonomy money, sport, bets, ball. Gold of two dev documents: {sport, ball}, {sport, ball}.

    Candidate 1 says {sport} twice: Micro-F1 2*2/(2+4) = 2/3, Macro-F1 (0 + 1 + 0 + 0)/4 = 1/4.
    Candidate 2 says {sport, ball} and nothing: Micro-F1 2*2/(2+4) = 2/3, Macro-F1
    (0 + 2/3 + 0 + 2/3)/4 = 1/3. Candidate 3 is as the first.
    """
    rows = [("a", ["ball"]), ("b", ["ball"])]
    corpus = corpus_folder(tmp_path / "c", GRAPH, rows, rows)
    answers = {
        1: np.array([[0, 1, 0, 0], [0, 1, 0, 0]]),
        2: np.array([[0, 0, 0, 1], [0, 0, 0, 0]]),  # sport is added before it is scored
        3: np.array([[0, 1, 0, 0], [0, 1, 0, 0]]),
    }
    lines: list[str] = []
    won = {}
    for metric in ("micro_f1", "macro_f1", "mean"):
        chosen = choose_on_dev(
            [{"c": number} for number in answers],
            lambda values: int(values["c"]),
            lambda model: csr_matrix(answers[model]),
            dev=read_documents(corpus, "dev"),
            taxonomy=corpus.taxonomy,
            metric=metric,
            said=lines.append,
        )
        assert chosen.report["chosen"] == chosen.values == {"c": chosen.model}
        won[metric] = chosen.model
        tried = chosen.report["tried"]
        assert [one["micro_f1"] for one in tried] == pytest.approx([2 / 3, 2 / 3, 2 / 3])
        assert [one["macro_f1"] for one in tried] == pytest.approx([1 / 4, 1 / 3, 1 / 4])
        assert [one["mean"] for one in tried] == pytest.approx([11 / 24, 1 / 2, 11 / 24])
    assert won == {"micro_f1": 1, "macro_f1": 2, "mean": 2}
    assert lines[1] == "c 2: dev Micro-F1 0.6667, Macro-F1 0.3333"


def test_one_text_is_no_list_of_texts(tmp_path: Path) -> None:
    corpus = corpus_folder(tmp_path / "c")
    fitted = fit_yardstick("tfidf-svm", corpus, seed=0, options={"c": 1}, said=silent)
    for ask in (fitted.choose, fitted.probabilities):
        with pytest.raises(HBGLError, match=r"write \[text\]"):
            ask("bank money")
    assert fitted.choose([]).shape == (0, 8)
