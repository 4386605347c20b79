"""A process that does one task: JSON lines in, JSON lines out.

First the task's description comes in and ``{"ready": facts}`` goes out; then for each
``{"run": documents}`` what the run measured; at the end of the input ``{"peak_mib": ...}``, the
high-water mark of the whole process. An error goes out as ``{"error": message, "code": ...}``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from hbgl.bench.machine import peak_mib
from hbgl.bench.spec import TaskSpec
from hbgl.bench.tasks import open_task
from hbgl.errors import HBGLError

__all__ = ["main"]


def main() -> int:
    """Serve until standard input ends."""
    # Whatever libraries print goes to standard error: standard output belongs to the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        task = open_task(TaskSpec.from_json(json.loads(sys.stdin.readline())))
        _say(answers, {"ready": task.prepare()})
        for line in sys.stdin:
            _say(answers, task.run(int(json.loads(line)["run"])))
        _say(answers, {"peak_mib": peak_mib()})
    except HBGLError as error:
        _say(answers, {"error": str(error), "code": error.exit_code})
        return error.exit_code
    return 0


def _say(answers: TextIO, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())
