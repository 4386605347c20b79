"""``hbgl explain``: for people, for machines, as a page, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbgl.explanation import explain
from hbgl.trained_model import TrainedModel
from tests.cli.conftest import Command, refused

TEXT = "bank account balance transfer"


def test_paths_siblings_and_words(hbgl: Command, trained: Path) -> None:
    [found] = TrainedModel.load(trained).predict([TEXT])
    done = hbgl("explain", trained, TEXT)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"“{TEXT}”\n\nmoney   path 0.")
    assert "\nmoney > bank   path 0." in done.out
    assert "siblings: sport 0." in done.out
    assert "siblings: card 0." in done.out
    assert f"  bank   {found.probabilities['bank']:.4f}  siblings: card" in done.out
    assert done.out.count(" by word:") == len(found.labels) >= 2
    for word in TEXT.split():
        assert done.out.count(f"  {word}\n") == len(found.labels)
    assert "█" in done.out


def test_json_is_that_of_the_library(hbgl: Command, trained: Path) -> None:
    done = hbgl("explain", trained, TEXT, "--json", "--steps", "16", "--siblings", "1")
    found = json.loads(done.out)
    expected = explain(TrainedModel.load(trained), TEXT, steps=16, siblings=1).to_json()
    assert found["labels"] == expected["labels"]
    assert found["text"] == TEXT
    for one, other in zip(found["explained"], expected["explained"], strict=True):
        assert one["label"] == other["label"]
        assert len(one["path"][-1]["siblings"]) == 1
        assert [word["attribution"] for word in one["words"]] == pytest.approx(
            [word["attribution"] for word in other["words"]], abs=1e-4
        )
        total = sum(word["attribution"] for word in one["words"]) + one["other"]
        assert total == pytest.approx(one["logit"] - one["baseline_logit"] + one["delta"], abs=1e-4)


def test_standard_input_is_one_text(hbgl: Command, trained: Path) -> None:
    plain = hbgl("explain", trained, TEXT, "--json")
    piped = hbgl("explain", trained, "-", "--json", stdin=f"\ufeff{TEXT}\r\n".encode())
    assert piped == plain
    broken = hbgl("explain", trained, "-", "--json", stdin=b"bank \xff account\nbalance")
    assert json.loads(broken.out)["text"] == "bank \ufffd account\nbalance"


def test_any_label_can_be_asked_for(hbgl: Command, trained: Path) -> None:
    done = hbgl("explain", trained, TEXT, "--label", "tennis", "--label", "money > card", "--json")
    found = json.loads(done.out)
    assert [one["label"] for one in found["explained"]] == ["tennis", "card"]
    assert [node["label"] for node in found["explained"][1]["path"]] == ["money", "card"]
    for one in found["explained"]:
        for node in one["path"]:
            assert node["predicted"] == (node["label"] in found["labels"])
    shown = hbgl("explain", trained, TEXT, "--label", "tennis").out
    assert shown.count("not predicted") == 2
    unknown = hbgl("explain", trained, TEXT, "--label", "tenis")
    refused(unknown, 2, '--label: unknown label "tenis"', "tennis")
    refused(hbgl("explain", trained, TEXT, "--label", "sport > bank"), 2, "there is no path")


def test_fewer_words_and_the_rest_together(hbgl: Command, trained: Path) -> None:
    done = hbgl("explain", trained, TEXT, "--label", "bank", "--words", "1")
    assert "3 other words together" in done.out
    assert "other words" not in hbgl("explain", trained, TEXT, "--words", "0").out
    long = hbgl("explain", trained, "bank account " * 100)
    assert "The model read its first" in long.out


def test_a_page(hbgl: Command, trained: Path, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    done = hbgl("explain", trained, f"{TEXT} <i>", "--label", "bank", "--html", page)
    assert done.code == 0, done.err
    content = page.read_text(encoding="utf-8")
    assert content.startswith("<!doctype html>")
    assert content.count('title="') == 7  # the words, and < i >
    assert "<i>" not in content
    refused(hbgl("explain", trained, TEXT, "--html", page), 2, "exists already", "--force")
    assert page.read_text(encoding="utf-8") == content
    assert hbgl("explain", trained, TEXT, "--html", page, "--force").code == 0
    assert page.read_text(encoding="utf-8") != content
    assert [path.name for path in tmp_path.iterdir()] == ["why.html"]


def test_wrong_use(hbgl: Command, trained: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("bank")

    def check(code: int, *arguments: object, words: list[str]) -> None:
        refused(hbgl("explain", *arguments), code, *words)

    check(2, trained, words=["Missing argument"])
    check(1, tmp_path / "none", TEXT, words=["none does not exist"])
    check(1, tmp_path, TEXT, words=["has no MANIFEST.json"])
    check(2, trained, notes, words=["is a file", f"hbgl explain MODEL - < {notes}"])
    check(2, trained, " ", words=["there is no text"])
    check(2, trained, "-", words=["there is no text"])
    check(2, trained, TEXT, "--steps", "0", words=["--steps"])
    check(2, trained, TEXT, "--steps", "513", words=["--steps"])
    check(2, trained, TEXT, "--words", "-1", words=["--words"])
    check(2, trained, TEXT, "--force", words=["--force needs --html"])
    check(2, trained, TEXT, "--html", tmp_path, words=["is a folder"])
    check(2, trained, TEXT, "--html", tmp_path / "no" / "a.html", words=["lies in none"])
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_damaged_models_are_named(hbgl: Command, model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    refused(hbgl("explain", model, TEXT), 1, "model.safetensors is truncated")
