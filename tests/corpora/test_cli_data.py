"""``hbgl data``: prepare, list and get, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbgl.cli.data_progress import PLAIN_SECONDS, PrepareProgress
from hbgl.cli.main import run
from hbgl.corpora import BUNDLED, CONVERTERS, open_corpus

WOS = "Y1\tY2\tY\tDomain\tarea\tkeywords\tAbstract\n0\t7\t7\tCS \t Logic \tk\tA text.\n"


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in (*BUNDLED, *CONVERTERS))
    assert run(["data", "list", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [corpus["name"] for corpus in content["bundled"]] == list(BUNDLED)
    assert [converter["name"] for converter in content["prepare"]] == list(CONVERTERS)


def test_get(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    destination = tmp_path / "copy"
    assert run(["data", "get", "clinc150", "-o", str(destination)]) == 0
    assert open_corpus(destination).taxonomy.depth == 2
    assert run(["data", "get", "clinc150", "-o", str(destination)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["data", "get", "imdb", "-o", str(tmp_path / "x")]) == 1
    assert "hbgl: error: 'imdb' is neither" in capsys.readouterr().err


def test_prepare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "Data.txt"
    raw.write_text(WOS * 1 + WOS.partition("\n")[2] * 9, encoding="utf-8")
    assert run(["data", "prepare", "wos", str(raw), "-o", str(tmp_path / "wos")]) == 0
    text = capsys.readouterr().out
    assert "documents: train 6, dev 2, test 2" in text
    assert "differs from the published figures (Jiang et al. 2022, Table 1):" in text
    again = ["data", "prepare", "wos", str(raw), "-o", str(tmp_path / "two"), "--json"]
    assert run(again) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["documents"] == {"train": 6, "dev": 2, "test": 2}
    assert content["published"] == "Jiang et al. 2022, Table 1"


def test_prepare_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "Data.txt"
    raw.write_text(WOS, encoding="utf-8")
    command = ["data", "prepare", "wos", str(raw), "-o", str(tmp_path / "out")]
    assert run([*command, "--text-column", "a", "--min-documents", "3"]) == 2
    assert "wos does not use --min-documents, --text-column" in capsys.readouterr().err
    assert run(["data", "prepare", "imdb", str(raw), "-o", str(tmp_path / "out")]) == 2
    assert run(["data", "prepare", "wos", str(tmp_path / "no"), "-o", str(tmp_path / "out")]) == 1
    assert "not found" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_progress_is_plain_lines_away_from_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    with PrepareProgress() as progress:
        progress("reading 1.zip", 64)
        clock[0] = PLAIN_SECONDS + 1
        progress("reading 2.zip", 65)
        progress("reading 2.zip", 128)
        progress("reading 2.zip", 192)
    captured = capsys.readouterr()
    assert captured.err == "reading 2.zip: 128 documents\n"
    assert captured.out == ""


def test_progress_on_a_terminal_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with PrepareProgress() as progress:
        progress._shown -= 1
        progress("reading [1].zip", 64)
        assert progress._live is not None
        assert progress._live.tasks[0].completed == 64
