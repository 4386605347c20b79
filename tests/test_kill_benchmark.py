"""The kill test in small: five kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.provenance import ROOT


@pytest.mark.slow
def test_five_kills_change_nothing(tmp_path: Path) -> None:
    """In a process of its own, because the test forks."""
    out = tmp_path / "result.json"
    command = [sys.executable, "-m", "benchmarks.kill_test", "--kills", "5", "--seed", "1"]
    done = subprocess.run(
        [*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(out.read_text())
    assert record == json.loads(done.stdout.splitlines()[-1])
    results = record["results"]
    assert results["kills"] == sum(results["struck"].values()) == 5
    assert results["faults"] == []
    assert results["runs_with_identical_weights"] == results["runs"] >= 1
