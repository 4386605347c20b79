"""``benchmarks/tuning.py`` on a tiny model: ways are judged where they were not fitted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import tuning
from tests.report.answers import TREE, model_of, write_split
from tools import number_tables


def test_every_way_has_scores_and_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_of(TREE).save(tmp_path / "model")
    corpus = tmp_path / "small"
    write_split(corpus, TREE, "dev", 30)
    (tmp_path / "results").mkdir()
    out = tmp_path / "results" / "tuning_small.json"
    arguments = [str(tmp_path / "model"), str(corpus), "--repeats", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["tuning", *arguments])
    tuning.main()
    runs = number_tables.read_results(tmp_path / "results")
    found = runs[0]["results"]
    assert (found["documents"], found["halves"], len(found["ways"])) == (30, 2, 23)
    assert all(0 <= one["mean_f1"] <= 1 for one in found["ways"].values())
    table = number_tables.table("tuning", runs)
    assert "| backoff, mean_f1, auto, map auto |" in table
    assert "small Macro-F1" in table


def test_halves_are_apart_and_both_ways() -> None:
    one, other = tuning._halves(5, 1, 0)
    assert sorted([*one.fitted, *one.judged]) == [0, 1, 2, 3, 4]
    assert np.array_equal(one.fitted, other.judged)
    assert np.array_equal(one.judged, other.fitted)
