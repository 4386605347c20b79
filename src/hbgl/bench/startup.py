"""``hbgl bench startup``: how long one answer takes from nothing, and memory over many answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from hbgl.bench.processes import started
from hbgl.bench.rounds import Run, interleave, spread
from hbgl.bench.spec import TaskSpec, WorkloadSpec
from hbgl.errors import HBGLError

__all__ = ["startup_results"]

_IMPORT, _HELP, _PREDICT = "import torch", "hbgl --help", "hbgl predict"
_MANY = "many"
_SHOWN = 400
# The command as a user gives it, then the high-water mark of its process.
_MEASURED = (
    "import sys; from hbgl.cli.main import run; code = run(sys.argv[1:]); "
    "from hbgl.bench.machine import peak_mib; print(peak_mib(), file=sys.stderr); sys.exit(code)"
)
_TEXTS = 1000  # different ones

Said = Callable[[str], None]


def startup_results(
    workload: WorkloadSpec,
    *,
    repetitions: int,
    seconds: float,
    threads: int | None,
    many: int,
    one_process: bool,
    said: Said,
) -> dict[str, Any]:
    """Fresh processes, interleaved: importing torch, ``--help``, and one sentence's answer.

    :param many: also predict so many short documents from a file, and a tenth of them.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = workload.model or str(folder / "model")
        spec = TaskSpec("save", workload=workload, threads=threads, folder=str(folder / "model"))
        said("preparing a model")
        with started({"model": spec}, one_process=one_process) as handles:
            facts = handles["model"].facts
            texts: list[str] = handles["model"].run(workload.documents)["texts"]
        environment = _environment(threads)
        hbgl = [sys.executable, "-m", "hbgl"]
        commands: dict[str, tuple[list[str], str]] = {
            _IMPORT: ([sys.executable, "-c", "import torch"], ""),
            _HELP: ([*hbgl, "--help"], ""),
            _PREDICT: ([*hbgl, "predict", model, "-", "--quiet"], f"{_one_line(texts[0])}\n"),
        }
        runs = {
            name: _timed(command, stdin, environment) for name, (command, stdin) in commands.items()
        }
        said("warming up: files into memory")
        for run in runs.values():
            run()
        found = interleave(
            runs, repetitions, seconds, lambda name, number: said(f"round {number}: {name}")
        )
        times = {name: [run["seconds"] for run in found[name]] for name in found}
        beyond = [whole - part for whole, part in zip(times[_PREDICT], times[_IMPORT], strict=True)]
        results: dict[str, Any] = {
            "workload": facts["workload"],
            "backbone": facts["backbone"],
            "labels": facts["labels"],
            "levels": facts["levels"],
            "rounds": len(beyond),
            "hardware": facts["hardware"],
            "import_torch_s": spread(times[_IMPORT]).to_json(),
            "help_s": spread(times[_HELP]).to_json(),
            "predict_one_s": spread(times[_PREDICT]).to_json(),
            "predict_beyond_torch_s": spread(beyond).to_json(),
        }
        if many:
            results[_MANY] = {}
            for count in (many // 10, many):
                said(f"predicting {count:,} documents from a file")
                results[_MANY][str(count)] = _many(model, texts, count, folder, environment)
    return results


def _timed(command: list[str], stdin: str, environment: dict[str, str]) -> Run:
    def run() -> dict[str, Any]:
        begun = time.perf_counter()
        done = _call(command, stdin, environment)
        taken = time.perf_counter() - begun
        if stdin and len(done.stdout.splitlines()) != 1:
            raise HBGLError(f"hbgl predict gave no answer to one sentence: {done.stdout!r}")
        return {"seconds": taken}

    return run


def _call(
    command: list[str], stdin: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(  # noqa: S603 - this interpreter, fixed commands
        command,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        words = " ".join(done.stderr.split())[-_SHOWN:]
        raise HBGLError(f"{' '.join(command[1:4])} ended with code {done.returncode}: {words}")
    return done


def _environment(threads: int | None) -> dict[str, str]:
    environment = dict(os.environ)
    if threads is not None:
        for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
            environment[variable] = str(threads)
    return environment


def _many(
    model: str, texts: list[str], count: int, folder: Path, environment: dict[str, str]
) -> dict[str, Any]:
    """Seconds and the peak of memory of one file's prediction."""
    source, output = folder / "texts.jsonl", folder / "answers.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for number, text in enumerate(islice(cycle(texts[:_TEXTS]), count)):
            file.write(json.dumps({"text": text, "id": str(number)}) + "\n")
    begun = time.perf_counter()
    command = [sys.executable, "-c", _MEASURED, "predict", model, str(source), "-o", str(output)]
    done = _call([*command, "--force", "--quiet"], "", environment)
    taken = time.perf_counter() - begun
    with output.open("rb") as file:
        answers = sum(1 for _ in file)
    if answers != count:
        raise HBGLError(f"{answers} answers to {count} documents")
    return {
        "documents": count,
        "seconds": round(taken, 2),
        "documents_per_second": round(count / taken, 2),
        "peak_mib": float(done.stderr.split()[-1]),
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())
