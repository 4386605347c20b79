"""What a result file says of its origin."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import provenance as module
from tools.number_tables import REQUIRED


def test_everything_a_result_file_must_have() -> None:
    origin = module.provenance("hbgl data check clinc150", 3)
    assert set(REQUIRED) - {"benchmark", "results"} <= set(origin)
    assert (origin["command"], origin["seed"]) == ("hbgl data check clinc150", 3)
    assert origin["hardware"]["cpu"]
    assert origin["hardware"]["cores"] >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", origin["date"])


def test_commit_and_uncommitted_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes count under ``src`` and in the scripts of ``benchmarks``, not in their results."""
    monkeypatch.setattr(module, "ROOT", tmp_path)
    assert module.provenance("x", 0)["commit"] == "unknown"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{40}", module.provenance("x", 0)["commit"])
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "results" / "a.json").touch()
    assert re.fullmatch("[0-9a-f]{40}", module.provenance("x", 0)["commit"])
    (tmp_path / "benchmarks" / "new.py").touch()
    assert module.provenance("x", 0)["commit"].endswith("-dirty")
