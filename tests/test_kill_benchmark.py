"""The kill test in small: five kills; and what it takes for a fault."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.killed_files import inspect, run_folder, where
from benchmarks.provenance import ROOT
from hbgl.checkpoint import MANIFEST, TrainingFolder, write_folder


def spoilt(folder: Path) -> Path:
    """A folder whose file is not what its manifest says."""
    write_folder(folder, {"model.bin": b"12"})
    (folder / "model.bin").write_bytes(b"1")
    return folder


def test_a_folder_on_its_way_in_may_be_torn_anywhere(tmp_path: Path) -> None:
    """Its manifest, too: the repair checks every file, and removes it."""
    model = tmp_path / "model"
    checkpoints = TrainingFolder(run_folder(model))
    write_folder(checkpoints.best, {"model.bin": b"1"})
    torn = [checkpoints.path / ".best.new-1", checkpoints.path / ".last.new-2"]
    for folder in torn:
        write_folder(folder, {"model.bin": b"12"})
        (folder / MANIFEST).write_bytes(b'{"files"')
    assert where(model) == "while a folder was written"
    assert list(inspect(model)) == []
    assert not any(folder.exists() for folder in torn)
    assert not checkpoints.last.exists()


def test_a_torn_folder_in_its_place_is_a_fault(tmp_path: Path) -> None:
    """And so is a replaced one that still has its manifest: the repair puts it back unseen."""
    model = tmp_path / "model"
    checkpoints = TrainingFolder(run_folder(model))
    spoilt(model)
    spoilt(checkpoints.path / ".last.old-1")
    assert where(model) == "while a folder was swapped in"
    found = list(inspect(model))
    before = [fault for fault in found if fault.startswith("before the repair: ")]
    assert [name for name in ("/model ", ".last.old-1 ") if not any(name in one for one in before)
            ] == []  # fmt: skip
    assert len(before) == 2
    after = [fault for fault in found if fault.startswith("after the repair: ")]
    assert any("/model " in one for one in after)
    assert any("/last " in one for one in after)


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
