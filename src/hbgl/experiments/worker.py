"""A job, and a process of its own for one: ``python -m hbgl.experiments.worker`` reads it as JSON.

The process says plain lines on standard error; the last one tells why it failed (exit code 1).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hbgl.backbones import load_backbone
from hbgl.errors import HBGLError
from hbgl.experiments.execution import Loader, execute_point, execute_run
from hbgl.experiments.plan import Run
from hbgl.training import Evaluated
from hbgl.training_run import RunListener

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """A run, or a point of its grid."""

    run: Run
    output: str
    data: Mapping[str, str]
    command: str
    point: int | None = None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        if self.point is None:
            return self.run.name
        return f"{self.run.corpus}/{self.run.method}/grid/point-{self.point}"

    @property
    def log(self) -> Path:
        """Where a process of its own writes what it does."""
        return Path(self.output) / "logs" / f"{self.name.replace('/', '_')}.log"

    def do(self, listener: RunListener, load: Loader = load_backbone) -> None:
        """Do it in this process."""
        output = Path(self.output)
        if self.point is None:
            execute_run(
                self.run, output, self.data, command=self.command, listener=listener, load=load
            )
        else:
            execute_point(self.run, self.point, output, self.data, listener=listener, load=load)

    def to_json(self) -> dict[str, Any]:
        """For another process."""
        return {
            "run": self.run.to_json(),
            "output": self.output,
            "data": dict(self.data),
            "command": self.command,
            "point": self.point,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """The inverse of :meth:`to_json`."""
        return cls(**{**data, "run": Run.from_json(data["run"])})


class _Lines(RunListener):
    """Plain lines on standard error."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    def said(self, message: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - self.started:7.0f} s] {message}\n")
        sys.stderr.flush()

    def resumed(self, step: int, total: int) -> None:
        self.said(f"going on after step {step} of {total}")

    def evaluated(self, event: Evaluated) -> None:
        micro, macro = 100 * event.scores.micro_f1, 100 * event.scores.macro_f1
        self.said(f"epoch {event.epoch:.2f}: dev Micro-F1 {micro:.2f}, Macro-F1 {macro:.2f}")


def main() -> int:
    """Do the job that standard input describes."""
    job = Job.from_json(json.loads(sys.stdin.read()))
    try:
        job.do(_Lines())
    except HBGLError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
