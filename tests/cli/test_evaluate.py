"""``hbgl evaluate``: scores of a trained model, and files that cannot be scored."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from hbgl.corpora import open_corpus
from hbgl.trained_model import TrainedModel
from tests.cli.conftest import Command, refused, write_corpus


def test_json_has_micro_and_macro_f1_at_the_top(hbgl: Command, trained: Path, corpus: Path) -> None:
    """The file, the split of the corpus and the library give the same scores."""
    answers = [
        hbgl("evaluate", trained, corpus / "test.jsonl", "--json"),
        hbgl("evaluate", trained, f"{corpus}:test", "--json", "--quiet"),
        hbgl("evaluate", trained, "-", "--json", stdin=(corpus / "test.jsonl").read_bytes()),
    ]
    assert [answer.code for answer in answers] == [0, 0, 0]
    assert "scored: 20 of 20 documents" in answers[0].err
    assert answers[1].err == ""
    scores = [json.loads(answer.out) for answer in answers]
    assert scores[0] == scores[1] == scores[2]
    found = scores[0]
    assert 0.3 < found["micro_f1"] <= 1
    assert 0.3 < found["macro_f1"] <= 1
    assert found["documents"] == 20
    assert [level["level"] for level in found["levels"]] == [1, 2]
    assert set(found["labels"]) == {"money", "sport", "bank", "card", "football", "tennis"}
    expected = TrainedModel.load(trained).evaluate(open_corpus(corpus).records("test"))
    assert found["micro_f1"] == expected.micro_f1
    assert found["macro_f1"] == expected.macro_f1


def test_the_table_and_the_weakest_labels(hbgl: Command, trained: Path, corpus: Path) -> None:
    done = hbgl("evaluate", trained, f"{corpus}:test", "--weakest", "2")
    assert done.code == 0
    for words in ("Micro-F1", "level 1", "level 2", "20 documents"):
        assert words in done.out
    without = hbgl("evaluate", trained, f"{corpus}:test").out
    assert done.out.startswith(without.rstrip("\n"))
    assert len(done.out) > len(without)


def test_every_family_of_scores(hbgl: Command, trained: Path, corpus: Path) -> None:
    """The table names both Macro-F1s and every family; --json has them all."""
    out = hbgl("evaluate", trained, f"{corpus}:test", "-q").out
    for words in (
        "over all 6 labels",
        "over the 6 with support",
        "hierarchical (ancestors added)",
        "C-F1",
        "P-F1",
        "lowest common ancestors",
        "without its parent",
        "calibration error of the predicted labels",
        "nDCG",
        "surest documents",
    ):
        assert words in out, words
    found = json.loads(hbgl("evaluate", trained, f"{corpus}:test", "-q", "--json").out)
    assert list(found)[:3] == ["documents", "micro_f1", "macro_f1"]
    assert {"hierarchical", "constrained", "paths", "lca", "coherence", "ranking"} <= found.keys()
    assert {"calibration", "calibration_before", "abstention", "hamming_loss"} <= found.keys()
    assert "rules" not in found


def test_every_rule(hbgl: Command, trained: Path, corpus: Path) -> None:
    """Six columns; the rule in use has a star and the numbers of the evaluation itself."""
    source = f"{corpus}:test"
    done = hbgl("evaluate", trained, source, "--rules", "--rule", "closed")
    head = next(line for line in done.out.splitlines() if line.startswith("every rule"))
    assert head.split() == [
        "every", "rule", "as", "in", "the", "paper", "paper", "closed*", "coherent", "backoff",
        "leaf",
    ]  # fmt: skip
    assert "scored by rule leaf: 20 of 20 documents" in done.err
    assert "scored by rule closed" not in done.err
    found = json.loads(hbgl("evaluate", trained, source, "--rules", "--json", "-q").out)
    assert set(found["rules"]) == {
        "as in the paper", "paper", "closed", "coherent", "backoff", "leaf"
    }  # fmt: skip
    for rule in ("closed", "leaf"):
        alone = json.loads(hbgl("evaluate", trained, source, "--rule", rule, "--json", "-q").out)
        assert found["rules"][rule]["micro_f1"] == alone["micro_f1"]
        assert found["rules"][rule]["hf1_auc"] == alone["ranking"]["hf1_auc"]
    plain = ["--rule", "paper", "--threshold", "0.5", "--raw"]
    alone = json.loads(hbgl("evaluate", trained, source, *plain, "--json", "-q").out)
    assert found["rules"]["as in the paper"]["macro_f1"] == alone["macro_f1"]


def test_the_report(hbgl: Command, trained: Path, corpus: Path, tmp_path: Path) -> None:
    """A page with the rules, the examples asked for and the names as they were typed."""
    page, source = tmp_path / "report.html", f"{corpus}:test"
    done = hbgl("evaluate", trained, source, "--html", page, "--rule", "paper", "--threshold", "0")
    assert done.code == 0, done.err
    assert f"The report is in {page}" in done.out
    text = page.read_text(encoding="utf-8")
    assert text.count("<article>") == 20
    assert "Every decision rule on every score" in text
    assert source in text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    refused(hbgl("evaluate", trained, source, "--html", page), 2, "exists already", "--force")
    again = ["--html", page, "--force", "--no-rules", "--examples", "1", "--threshold", "0"]
    done = hbgl("evaluate", trained, source, *again, "--json", "-q")
    assert json.loads(done.out)["micro_recall"] == 1
    text = page.read_text(encoding="utf-8")
    assert text.count("<article>") == 1
    assert "Every decision rule" not in text


def test_a_report_without_a_place(
    hbgl: Command, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    source = corpus / "test.jsonl"
    refused(hbgl("evaluate", trained, source, "--html", tmp_path), 2, "is a folder")
    refused(hbgl("evaluate", trained, source, "--html", tmp_path / "no" / "x"), 2, "lies in none")
    refused(hbgl("evaluate", trained, source, "--html", source, "--force"), 2, "to evaluate")
    refused(hbgl("evaluate", trained, source, "--force"), 2, "--force needs --html")
    page = tmp_path / "page.html"
    refused(
        hbgl("evaluate", trained, source, "--html", page, "--skip-bad", page), 2, "name another"
    )
    assert not page.exists()


def test_one_threshold_for_all(hbgl: Command, trained: Path, corpus: Path) -> None:
    """At threshold 1 nothing is chosen: no recall. At 0 everything is: no label is missed."""
    high = hbgl("evaluate", trained, f"{corpus}:test", "--json", "--threshold", "1")
    assert json.loads(high.out)["micro_recall"] == 0
    low = hbgl("evaluate", trained, f"{corpus}:test", "--json", "--threshold", "0")
    assert json.loads(low.out)["micro_recall"] == 1


def test_bad_records_are_skipped_into_a_file(
    hbgl: Command, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    bad = '{"text": "x", "labels": ["chess"]}\n'
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text(bad + (corpus / "test.jsonl").read_text())
    refused(hbgl("evaluate", trained, mixed, "-q"), 1, "mixed.jsonl:1: ", "chess")
    done = hbgl("evaluate", trained, mixed, "--json", "--skip-bad", tmp_path / "bad.jsonl")
    assert json.loads(done.out)["documents"] == 20
    assert "skipped 1 (1 unknown label)" in done.err
    assert json.loads((tmp_path / "bad.jsonl").read_text())["raw"] == bad.strip()


def test_what_cannot_be_scored(hbgl: Command, trained: Path, tmp_path: Path) -> None:
    no_test = write_corpus(tmp_path / "no_test", train=2, dev=2)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    unlabelled = tmp_path / "unlabelled.jsonl"
    unlabelled.write_text('{"text": "bank"}\n' * 3)

    def check(code: int, source: object, *words: str) -> None:
        refused(hbgl("evaluate", trained, source, "-q"), code, *words)

    check(1, empty, "empty.jsonl: no documents, so there is nothing to score")
    check(1, "-", "standard input: no documents")
    check(1, unlabelled, "none of its 3 documents has labels")
    check(1, tmp_path / "none.jsonl", "none.jsonl: cannot be opened: No such file")
    check(2, no_test, "is a folder; name a file, or a split of a corpus", ":test")
    check(1, f"{no_test}:test", "no split 'test'; it has train, dev")
    check(1, "clinc150:tset", "no split 'tset'")
    check(2, "clinc150", "clinc150:test")


def test_a_corpus_of_other_labels(hbgl: Command, trained: Path) -> None:
    done = hbgl("evaluate", trained, "clinc150:test", "-q")
    refused(done, 1, "clinc150/test.jsonl.gz:1: ", "unknown label")


def test_missing_and_damaged_models(hbgl: Command, model: Path, corpus: Path) -> None:
    source = f"{corpus}:test"
    refused(hbgl("evaluate", model.with_name("none"), source), 1, "none does not exist")
    refused(hbgl("evaluate", corpus, source), 1, "has no MANIFEST.json")
    (model / "tokenizer.json").write_text("{}")
    refused(hbgl("evaluate", model, source), 1, "tokenizer.json is truncated")
    (model / "tokenizer.json").unlink()
    refused(hbgl("evaluate", model, source), 1, "tokenizer.json is missing")


def test_a_closed_standard_input(
    hbgl: Command, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(io, "TextIOWrapper", lambda _: None)
    done = hbgl("evaluate", trained, "-")
    assert sys.stdin is None
    refused(done, 2, "standard input is closed")
