"""``hbgl taxonomy show``, ``convert`` and ``check``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hbgl.cli.main import run
from hbgl.taxonomy import read_taxonomy


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "corpus" / "taxonomy.tsv"
    path.parent.mkdir()
    path.write_text("Root\tscience\tsports\nscience\tphysics\n")
    (path.parent / "names.json").write_text('{"physics": "matter and motion"}')
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    lines = [
        {"text": "a", "labels": ["science > physics"]},
        {"text": "b", "labels": ["science", "sports"]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_show(source: Path, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy", "show", str(source), "--words", "--counts", str(records)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "science (2)",
        "└── physics: matter and motion (1)",
        "sports (1)",
    ]
    assert run(["taxonomy", "show", str(source.parent), "--below", "physics"]) == 0
    assert capsys.readouterr().out == "physics\n"


def test_show_json_is_read_again(
    source: Path, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["taxonomy", "show", str(source), "--json", "--counts", str(records)]) == 0
    shown = capsys.readouterr().out
    assert json.loads(shown)["labels"][2] == {
        "label": "physics",
        "name": "matter and motion",
        "parents": ["science"],
        "level": 2,
        "documents": 1,
    }
    (tmp_path / "shown.json").write_text(shown)
    assert read_taxonomy(tmp_path / "shown.json") == read_taxonomy(source)


def test_show_bundled_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy", "show", "clinc150", "--levels", "1"]) == 0
    assert "banking (15 below)" in capsys.readouterr().out


def test_inferred_from_records(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy", "convert", str(records), "-o", "-"]) == 0
    assert capsys.readouterr().out == "Root\tscience\tsports\nscience\tphysics\n"
    with records.open("a") as file:
        file.write('{"text": "c", "labels": ["sports > physics"]}\n')
    assert run(["taxonomy", "convert", str(records), "-o", "-", "--repeated", "qualify"]) == 0
    assert capsys.readouterr().out == (
        "Root\tscience\tsports\nscience\tphysics (science)\nsports\tphysics (sports)\n"
    )
    with records.open("a") as file:
        file.write('{"text": "d", "labels": ["sports >\n')
    assert run(["taxonomy", "check", str(records)]) == 1
    assert f"{records}:4: broken JSON" in capsys.readouterr().err


def test_inferred_from_standard_input(
    records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = io.BufferedReader(io.BytesIO(records.read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    assert run(["taxonomy", "show", "-"]) == 0
    assert capsys.readouterr().out.splitlines() == ["science", "└── physics", "sports"]
    assert run(["taxonomy", "show", "-", "--format", "tsv"]) == 2
    assert "save a taxonomy as tsv to a file" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", None)
    assert run(["taxonomy", "show", "-"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_convert(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert run(["taxonomy", "convert", str(source), "-o", str(out)]) == 0
    assert "3 labels, 2 levels" in capsys.readouterr().err
    assert read_taxonomy(out) == read_taxonomy(source)
    back = tmp_path / "back" / "taxonomy.tsv"
    back.parent.mkdir()
    assert run(["taxonomy", "convert", str(out), "-o", str(back)]) == 0
    assert read_taxonomy(back) == read_taxonomy(source)
    assert run(["taxonomy", "convert", str(out), "-o", str(back)]) == 2
    assert "would be replaced; allow it with --force" in capsys.readouterr().err
    arguments = ["taxonomy", "convert", str(source), "--names", "none", "-o", str(back), "--force"]
    assert run(arguments) == 0
    assert not (back.parent / "names.json").exists()


def test_check(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy", "check", str(source)]) == 0
    assert "no faults" in capsys.readouterr().out
    assert run(["taxonomy", "check", str(source), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "faults": [],
        "labels": 3,
        "depth": 2,
        "labels_per_level": [2, 1],
        "leaves": 2,
        "several_parents": 0,
        "words_of_their_own": 1,
    }


def test_check_names_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "taxonomy.tsv"
    path.write_text("Root\tA\nA\tB\nB\tA\n")
    assert run(["taxonomy", "check", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"hbgl: error: the taxonomy cannot be used: 1 fault in {path}\n"
        f"  {path}:3: cycle: A > B > A\n"
    )
    assert run(["taxonomy", "check", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "faults": [{"file": str(path), "line": 3, "message": "cycle: A > B > A"}]
    }


def test_options_of_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "paths"
    path.write_text("Top/A/x\nTop/B/x\n")
    arguments = ["--format", "paths", "--separator", "/", "--root", "Top", "--repeated", "qualify"]
    assert run(["taxonomy", "convert", str(path), "-o", "-", *arguments]) == 0
    assert capsys.readouterr().out == "Root\tA\tB\nA\tx (A)\nB\tx (B)\n"
    assert run(["taxonomy", "show", "no-such-corpus"]) == 1
    assert "no-such-corpus" in capsys.readouterr().err
