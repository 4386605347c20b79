"""Tasks in processes of their own: answers, errors, deaths."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hbgl.bench.machine import peak_mib, source_root
from hbgl.bench.matmul import MatmulPeak
from hbgl.bench.processes import started
from hbgl.bench.spec import TaskSpec, WorkloadSpec
from hbgl.bench.tasks import open_task
from hbgl.errors import CorpusError, HBGLError


def spec_of(corpus: Path, backbone: Path, **changes: object) -> TaskSpec:
    values: dict[str, object] = {"corpus": str(corpus), "documents": 8, "backbone": str(backbone)}
    workload = WorkloadSpec(**{**values, "precision": "float32", **changes})  # type: ignore[arg-type]
    return TaskSpec("predict", "flat", workload, threads=1)


def test_a_process_of_its_own_says_what_one_here_says(corpus: Path, backbone: Path) -> None:
    spec = spec_of(corpus, backbone)
    found = []
    for one_process in (False, True):
        with started({"flat": spec}, one_process=one_process) as handles:
            run = handles["flat"].run(5)
            facts = handles["flat"].facts
            found.append((facts, {key: run[key] for key in ("documents", "tokens", "flops")}))
            assert run["seconds"] > 0
            memory = handles["flat"].finish()
            if one_process:
                assert memory is None
            else:
                assert memory is not None
                assert 50 < memory < 5000
    assert found[0] == found[1]
    assert found[0][0]["documents"] == 8
    assert found[0][0]["precision"] == "float32"


def test_a_refusal_comes_through_as_it_is(backbone: Path) -> None:
    spec = spec_of(Path("nothing"), backbone)
    with (
        pytest.raises(HBGLError, match="'nothing' is neither a folder nor a bundled corpus"),
        started({"flat": spec}, one_process=False),
    ):
        pass
    with pytest.raises(CorpusError), started({"flat": spec}, one_process=True):
        pass


def test_a_death_is_told_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deadly = tmp_path / "python"
    deadly.write_text("#!/bin/sh\necho out of memory >&2\nexit 9\n")
    deadly.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(deadly))
    with (
        pytest.raises(HBGLError, match="process of peak ended with code 9: out of memory"),
        started({"peak": TaskSpec("matmul")}, one_process=False),
    ):
        pass


def test_processes_end_with_the_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that would sleep for an hour is ended when something else fails."""
    sleepy = tmp_path / "python"
    pid = tmp_path / "pid"
    sleepy.write_text(
        f"#!/bin/sh\nread line\necho $$ > {pid}\necho '{{\"ready\": {{}}}}'\nexec sleep 3600\n"
    )
    sleepy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleepy))
    with (
        pytest.raises(ZeroDivisionError),
        started({"peak": TaskSpec("matmul")}, one_process=False),
    ):
        raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_peak_of_matrix_products() -> None:
    """The first time over all sizes, then at the best one alone."""
    peak = MatmulPeak((16, 32))
    for _ in range(2):
        rates = peak.measure()
        assert rates.keys() == {"float32", "bfloat16"}
        assert all(rate > 0 for rate in rates.values())
        assert {len(sizes) for sizes in peak.sizes.values()} == {1}


def test_steps_of_the_global_stage(corpus: Path, backbone: Path) -> None:
    workload = spec_of(corpus, backbone).workload
    task = open_task(TaskSpec("global-stage", workload=workload))
    assert task.prepare()["labels"] == 8
    run = task.run(2)
    assert run["seconds"] > 0
    assert run["path"] in ("dense", "edges")
    assert run["masks_per_step"] == 8


def test_memory_of_this_process_and_where_it_runs_from() -> None:
    assert 10 < peak_mib() < 100_000
    assert source_root() in (Path(__file__).parents[2], None)
