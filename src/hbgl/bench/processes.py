"""A task in a process of its own, so that its peak of memory is its own, or in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Protocol

from hbgl.bench.spec import TaskSpec
from hbgl.bench.tasks import Task, open_task
from hbgl.errors import HBGLError, UsageError

__all__ = ["Handle", "started"]

_SECONDS_TO_END = 30
_SHOWN = 400  # characters of a dead process's last words


class Handle(Protocol):
    """A task that was prepared."""

    facts: dict[str, Any]

    def run(self, documents: int) -> dict[str, Any]:
        """Do it once."""

    def finish(self) -> float | None:
        """End it; the peak of its memory in MiB where it had a process of its own."""


@contextmanager
def started(specs: dict[str, TaskSpec], *, one_process: bool) -> Iterator[dict[str, Handle]]:
    """Prepare tasks, one after the other; whatever happens, their processes end with the block."""
    with ExitStack() as stack:
        handles: dict[str, Handle] = {}
        for name, spec in specs.items():
            if one_process:
                handles[name] = _Here(open_task(spec))
            else:
                handles[name] = stack.enter_context(_own_process(name, spec))
        yield handles


class _Here:
    """A task of this process."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.facts = task.prepare()

    def run(self, documents: int) -> dict[str, Any]:
        return self.task.run(documents)

    def finish(self) -> None:
        return None


class _Own:
    """A task behind a pipe."""

    def __init__(self, name: str, process: subprocess.Popen[str], words: IO[str]) -> None:
        self.name, self.process, self.words = name, process, words
        self.facts: dict[str, Any] = {}

    def run(self, documents: int) -> dict[str, Any]:
        return self.ask({"run": documents})

    def finish(self) -> float:
        if self.process.stdin is not None:
            self.process.stdin.close()
        return float(self._answer()["peak_mib"])

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        if self.process.stdin is None:
            raise ValueError("the process was started without a pipe")
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: what it said last tells why
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = "" if self.process.stdout is None else self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.words.seek(0)
            last = " ".join(self.words.read().split())[-_SHOWN:]
            raise HBGLError(f"the process of {self.name} ended with code {code}: {last}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            kind = UsageError if answer["code"] == UsageError.exit_code else HBGLError
            raise kind(answer["error"])
        return answer


@contextmanager
def _own_process(name: str, spec: TaskSpec) -> Iterator[_Own]:
    environment = dict(os.environ)
    if spec.threads is not None:
        for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
            environment[variable] = str(spec.threads)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "hbgl.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        try:
            handle = _Own(name, process, words)
            handle.facts = handle.ask(spec.to_json())["ready"]
            yield handle
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
