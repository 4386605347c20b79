"""``benchmarks/decisions.py`` on a tiny model, and the table that the documentation gets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import decisions
from hbgl.decisions import RULES
from hbgl.report import REFERENCE
from tests.report.answers import TREE, model_of, records_of, write_split
from tools import number_tables


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """A model folder and a corpus folder with a test split of 30 documents."""
    model_of(TREE).save(tmp_path / "model")
    corpus = tmp_path / "small"
    write_split(corpus, TREE, "test", 30)
    (tmp_path / "results").mkdir()
    return [
        str(tmp_path / "model"),
        f"{corpus}:test",
        "--out",
        str(tmp_path / "results" / "out.json"),
    ]


def test_what_is_recorded(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every rule's scores, calibration and coherence; backoff never contradicts the taxonomy."""
    monkeypatch.setattr(sys, "argv", ["decisions", *arguments])
    decisions.main()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "small test, 30 documents, rule backoff"
    assert json.loads(said[-1])["benchmark"] == "decisions"
    (run,) = number_tables.read_results(tmp_path / "results")
    found = run["results"]
    scores = model_of(TREE).evaluate(records_of(TREE, 30))
    assert list(found["rules"]) == [REFERENCE, *RULES]
    assert found["rules"]["backoff"]["micro_f1"] == scores.micro_f1
    assert list(found["calibration"]) == ["before", "calibrated", "as answered"]
    assert len(found["calibration"]["before"]["levels"]) == TREE.depth
    assert found["coherence"]["after"] == 1
    assert found["coherence"]["before"] < 1
    page = number_tables.fill("<!-- numbers: decisions -->\n<!-- end numbers -->\n", [run])
    assert "**small, test**, 30 documents" in page
    micro = next(line for line in page.splitlines() if line.startswith("| Micro-F1 |"))
    cells = [cell.strip() for cell in micro.strip("|").split("|")]
    gained = scores.micro_f1 - found["rules"][REFERENCE]["micro_f1"]
    assert cells[5] == f"{100 * scores.micro_f1:.2f} ({100 * gained:+.2f})"
    assert len(cells) == 7


def test_a_split_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["decisions", "model", "clinc150"])
    with pytest.raises(SystemExit, match="write clinc150:test"):
        decisions.main()
