"""The benchmark of the scores runs, prints one JSON line last, and writes the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.metrics_scale import CASES, main, measure, taxonomy


@pytest.mark.parametrize("case", CASES)
def test_every_case_counts_all_documents(case: str) -> None:
    found = measure(case, 2_100, 60, 5)
    assert found["cpu_s"] > 0
    assert found["peak_mib"] >= found["peak_mib_before"] > 0


def test_the_graph_has_labels_with_two_parents() -> None:
    assert taxonomy(500, "tree", 1).is_tree
    assert not taxonomy(500, "graph", 1).is_tree
    assert {len(taxonomy(500, shape, 1)) for shape in ("tree", "graph")} == {500}
    assert taxonomy(500, "tree", 1).depth == 3


@pytest.mark.slow
def test_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    arguments = ["--documents", "300", "--labels", "40", "--seed", "7", "--out", str(out)]
    assert main(arguments) == 0
    result = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == result
    assert result["benchmark"] == "metrics_scale"
    assert result["seed"] == 7
    assert {case["documents"] for case in result["results"].values()} == {300}
    assert list(result["results"]) == list(CASES)
