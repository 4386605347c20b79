"""The benchmark of large taxonomies runs, prints one JSON line last, and writes the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.taxonomy_scale import main


def test_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    assert main(["--labels", "3000", "--seed", "7", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == result
    assert result["benchmark"] == "taxonomy_scale"
    assert result["seed"] == 7
    assert {name: shape["labels"] for name, shape in result["results"].items()} == {
        "tree": 3000,
        "graph": 3000,
        "chain": 3000,
    }
    assert result["results"]["chain"]["depth"] == 1500
