"""``hbgl tune`` and the options that decide otherwise for one call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def scores(hbgl: Command, model: Path, corpus: Path, *options: str) -> dict[str, float]:
    done = hbgl("evaluate", model, f"{corpus}:dev", "--json", *options)
    assert done.code == 0, done.err
    found: dict[str, float] = json.loads(done.out)
    return found


def test_tuning_on_dev_raises_what_it_is_for(
    hbgl: Command, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    new = tmp_path / "tuned"
    wanted = ["--for", "micro_f1", "--granularity", "level", "--rule", "coherent"]
    done = hbgl("tune", trained, f"{corpus}:dev", "-o", new, *wanted)
    assert done.code == 0, done.err
    assert "tuned on 12 documents" in done.out
    before = scores(hbgl, trained, corpus, "--rule", "coherent")
    after = scores(hbgl, new, corpus)
    assert after["micro_f1"] > before["micro_f1"]
    assert json.loads((new / "thresholds.json").read_text())["rule"] == "coherent"
    assert json.loads((new / "metrics.json").read_text())["tuning"]["documents"] == 12
    assert hbgl("tune", new, "-o", tmp_path / "by-hand", "--threshold", "0.5").code == 0
    for folder, by_hand in ((new, False), (tmp_path / "by-hand", True)):
        shown = hbgl("inspect", folder).out
        assert "on 12 dev documents" in shown
        assert ("set by hand since" in shown, "after:" in shown) == (by_hand, not by_hand)


def test_by_hand(hbgl: Command, trained: Path, corpus: Path, tmp_path: Path) -> None:
    """One number, one per level, or by label from a file; the same for one call of evaluate."""
    new, labels = tmp_path / "new", tmp_path / "labels.json"
    assert hbgl("tune", trained, "-o", new, "--threshold", "0.2,0.9", "--rule", "leaf").code == 0
    written = json.loads((new / "thresholds.json").read_text())
    assert (written["rule"], written["levels"]) == ("leaf", [0.2, 0.9])
    once = scores(hbgl, trained, corpus, "--threshold", "0.2,0.9", "--rule", "leaf")
    assert once == scores(hbgl, new, corpus)
    labels.write_text(json.dumps({"money": 0.7}))
    newer = tmp_path / "newer"
    assert hbgl("tune", new, "-o", newer, "--threshold", labels).code == 0
    written = json.loads((newer / "thresholds.json").read_text())
    assert (written["levels"][1], written["labels"]) == (0.9, {"money": 0.7})


def test_a_limit_of_paths_comes_and_goes(hbgl: Command, trained: Path, tmp_path: Path) -> None:
    limited, free = tmp_path / "limited", tmp_path / "free"
    for source, new, most in ((trained, limited, 1), (limited, free, 0)):
        assert hbgl("tune", source, "-o", new, "--most-paths", most).code == 0
        written = json.loads((new / "thresholds.json").read_text())
        assert written["most_paths"] == (most or None)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "-o is missing"),
        (["-o", "new"], 2, "nothing to change"),
        (["-o", "new", "--for", "macro_f1"], 2, "need documents to fit on"),
        (["CORPUS:dev", "-o", "new", "--threshold", "0.5"], 2, "set by hand, without FILE"),
        (["-o", "new", "--threshold", "half"], 2, "no number"),
        (["-o", "new", "--threshold", "1.5"], 2, "0..1, not 1.5"),
        (["-o", "new", "--threshold", "0.1,0.2,0.3"], 2, "3 thresholds by level"),
        (["-o", "new", "--threshold", "bad.json"], 2, "not a number"),
        (["-o", "new", "--threshold", "unknown.json"], 1, "elms"),
        (["-o", "taken", "--rule", "leaf"], 1, "taken"),
        (["none.jsonl", "-o", "new"], 1, "none.jsonl"),
    ],
)
def test_wrong_use(
    arguments: list[str],
    code: int,
    words: str,
    hbgl: Command,
    trained: Path,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text('{"money": "much"}')
    Path("unknown.json").write_text('{"elms": 0.5}')
    Path("taken").mkdir()
    (Path("taken") / "thesis.txt").write_text("the only copy")
    done = hbgl("tune", trained, *[one.replace("CORPUS", str(corpus)) for one in arguments])
    assert (done.code, words in done.err) == (code, True), done.err
    assert done.err.count("\n") == 1
    assert not Path("new").exists()
    assert (Path("taken") / "thesis.txt").read_text() == "the only copy"
