"""Several jobs at a time, each in a process of its own, which ends with this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

from hbgl.experiments.worker import Job

__all__ = ["in_processes"]

_SECONDS_TO_END = 30
_PAUSE = 0.2
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(slots=True)
class _Running:
    job: Job
    process: subprocess.Popen[str]
    log: IO[str]


def in_processes(jobs: Sequence[Job], processes: int, said: Callable[[str], None]) -> list[str]:
    """Do the jobs, at most so many at once; what failed, a line for each."""
    waiting, failed = list(enumerate(jobs, start=1)), []
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                number, job = waiting.pop(0)
                running.append(_start(job, min(processes, len(jobs))))
                said(f"[{number}/{len(jobs)}] {job.name}, log in {job.log}")
            time.sleep(_PAUSE)
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                one.log.close()
                if one.process.returncode:
                    failed.append(f"{one.job.name}: {_last_words(one)}")
                said(failed[-1] if one.process.returncode else f"{one.job.name} done")
    finally:
        _end(running)
    return failed


def _start(job: Job, processes: int) -> _Running:
    """The cores are shared out, unless the user has said how many threads there are to be."""
    environment = dict(os.environ)
    for variable in _THREADS:
        environment.setdefault(variable, str(max(1, (os.cpu_count() or 1) // processes)))
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        log = stack.enter_context(job.log.open("a", encoding="utf-8"))
        process = subprocess.Popen(
            [sys.executable, "-m", "hbgl.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        stack.pop_all()
    if process.stdin is not None:
        try:
            process.stdin.write(json.dumps(job.to_json()))
            process.stdin.close()
        except BrokenPipeError:  # it has ended: its log tells why
            process.stdin = None
    return _Running(job, process, log)


def _last_words(one: _Running) -> str:
    lines = one.job.log.read_text(encoding="utf-8", errors="replace").splitlines()
    last = lines[-1].removeprefix("error: ") if lines else "no word"
    return f"{last} (exit code {one.process.returncode}, log in {one.job.log})"


def _end(running: Sequence[_Running]) -> None:
    for one in running:
        one.process.terminate()
    for one in running:
        try:
            one.process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            one.process.kill()
            one.process.wait()
        one.log.close()
