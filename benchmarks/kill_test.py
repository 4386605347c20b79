"""Training that is killed again and again must end with the weights of an undisturbed run.

    python -m benchmarks.kill_test --kills 55 --seed 0 --out benchmarks/results/kill_test.json

A tiny random encoder is trained with `hbgl train ... --resume`, a checkpoint every second step.
Each process gets a `kill -9`, half of them at a random time and half when the hidden folder of a
checkpoint (or of the model) is there: while it is written, flushed or swapped in. After each kill:

- every folder in its place is whole, before and after the repair that the next start makes; so is
  a replaced folder that still has its manifest, because the repair puts it back unseen. (A folder
  on its way in may be torn anywhere: the repair takes it only after checking every file.)
- where a checkpoint was, one is still found, and its step is not before that of the last look;
- the model folder is absent, or it loads.

Then the same command goes on. A run that comes to its end is compared with the undisturbed one:
the model's weights bit by bit, its loss curve and dev scores. Then the next run begins, until there
were as many kills as wanted. The processes are forked from one that has imported torch, which
saves seconds per start; the last run ends with a command of its own (`python -m hbgl`).

What it leaves out: power cuts. SIGKILL ends a process, not the kernel's buffers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.killed_files import being_written, compare, inspect, run_folder, where
from benchmarks.provenance import ROOT, provenance
from hbgl.checkpoint import TrainingFolder, read_progress
from hbgl.cli import main as command_line
from hbgl.errors import ModelFolderError

__all__ = ["main"]

TOPICS = {
    "bank": "bank account balance transfer money",
    "card": "card payment bill pay price",
    "football": "football team match game walk",
    "tennis": "tennis player game run play",
}
TAXONOMY = "Root\tmoney\tsport\nmoney\tbank\tcard\nsport\tfootball\ttennis\n"
OPTIONS = [
    "--epochs", "6", "--batch-size", "8", "--learning-rate", "1e-2", "--global-steps", "10",
    "--precision", "float32", "--save-every", "2", "--evaluate-every", "7",
    "--hidden-dropout", "0.1",
]  # fmt: skip
FORKED = ("hbgl.cli.train", "hbgl.cli.progress", "hbgl.cli.train_checks", "hbgl.training_run")
POLL = 0.0005  # seconds between two looks for a checkpoint that is being written


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    """What the files showed at the kill."""
    resumed: Counter[str] = field(default_factory=Counter)
    """Whether there was a checkpoint to go on from."""
    runs: int = 0
    identical: int = 0
    faults: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the test; 0 if nothing was lost."""
    parser = argparse.ArgumentParser(description="kill -9 during training, then --resume.")
    parser.add_argument("--kills", type=int, default=55)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file for the result")
    chosen = parser.parse_args(arguments)
    for module in FORKED:
        importlib.import_module(module)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tally = torment(Path(folder), chosen.kills, random.Random(chosen.seed))
    results = {
        "kills": tally.kills,
        "struck": dict(sorted(tally.struck.items())),
        "went_on": dict(sorted(tally.resumed.items())),
        "runs": tally.runs,
        "runs_with_identical_weights": tally.identical,
        "faults": tally.faults,
        "seconds": round(time.perf_counter() - started, 1),
    }
    show(results)
    command = f"python -m benchmarks.kill_test --kills {chosen.kills} --seed {chosen.seed}"
    record = {"benchmark": "kill_test", **provenance(command, chosen.seed), "results": results}
    print(json.dumps(record))
    if chosen.out:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 1 if tally.faults or tally.identical < tally.runs else 0


def show(results: dict[str, Any]) -> None:
    """A table for readers."""
    for place, count in results["struck"].items():
        print(f"{count:6}  kills {place}")
    for state, count in results["went_on"].items():
        print(f"{count:6}  times {state}")
    same, runs = results["runs_with_identical_weights"], results["runs"]
    print(f"{same:6}  of {runs} runs ended with the weights of the undisturbed one")
    print(f"{len(results['faults']):6}  faults")
    for fault in results["faults"]:
        print(f"        {fault}")


def torment(place: Path, kills: int, draw: random.Random) -> Tally:
    """Runs and kills, until there were enough kills and the last run has ended."""
    command = prepare(place)
    reference = place / "undisturbed"
    before = time.perf_counter()
    if wait(start(command, reference)) != 0:
        raise SystemExit(f"the undisturbed run failed: {said(reference)}")
    longest = 0.6 * (time.perf_counter() - before)
    tally = Tally()
    while tally.kills < kills or not tally.runs:
        model = place / f"model-{tally.runs}"
        run_to_the_end(command, model, kills, longest, draw, tally)
        tally.runs += 1
        differences = list(compare(reference, model))
        tally.identical += not differences
        tally.faults += [f"run {tally.runs}: {one}" for one in differences]
        shutil.rmtree(model, ignore_errors=True)
    return tally


def prepare(place: Path) -> list[str]:
    """A corpus and a backbone; the command without its output."""
    from tests.tiny import tiny_folder

    tiny_folder(place / "backbone")
    corpus = place / "corpus"
    corpus.mkdir()
    (corpus / "taxonomy.tsv").write_text(TAXONOMY, encoding="utf-8")
    draw = random.Random(0)
    for split, size in (("train", 64), ("dev", 16)):
        with (corpus / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(size):
                label = draw.choice(sorted(TOPICS))
                text = " ".join(draw.choices(TOPICS[label].split(), k=5))
                file.write(json.dumps({"text": text, "labels": [label]}) + "\n")
    return ["train", str(corpus), "--backbone", str(place / "backbone"), *OPTIONS, "--resume"]


def run_to_the_end(
    command: list[str], model: Path, kills: int, longest: float, draw: random.Random, tally: Tally
) -> None:
    """Start, kill, look, start again, until a process came to its end by itself."""
    step = -1
    while tally.kills < kills:
        process = start(command, model)
        aimed = draw.random() < 0.5
        seconds = draw.uniform(0.0, longest)
        if not lie_in_wait(process, model, aimed, seconds, draw):
            code = wait(process)
            if code != 0:
                tally.faults.append(f"exit code {code}: {said(model)}")
            return
        wait(process)
        tally.kills += 1
        tally.struck[where(model)] += 1
        tally.faults += [f"kill {tally.kills}: {fault}" for fault in inspect(model)]
        found = step_of(model, tally)
        if found is not None and found < step:
            tally.faults.append(f"kill {tally.kills}: step {found} after step {step}")
        if found is None and step >= 0 and not model.exists():
            tally.faults.append(f"kill {tally.kills}: the checkpoint of step {step} is gone")
        step = step if found is None else found
        begun = "a run began anew" if step < 0 else "a run went on from a checkpoint"
        tally.resumed[begun] += 1
    finish = [sys.executable, "-m", "hbgl", *command, "-o", str(model)]
    done = subprocess.run(finish, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tally.faults.append(f"exit code {done.returncode}: {done.stderr[-300:]}")


def start(command: list[str], model: Path) -> int:
    """Fork a process that runs the command; its words go to a file beside the model."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        words = os.open(f"{model}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(words, 1)
        os.dup2(words, 2)
        code = command_line.run([*command, "-o", str(model)])
    finally:
        os._exit(code)


def lie_in_wait(
    process: int, model: Path, aimed: bool, seconds: float, draw: random.Random
) -> bool:
    """Kill after some seconds, where aimed at the next folder being written; False: it ended."""
    deadline = time.perf_counter() + seconds
    written = not aimed
    while time.perf_counter() < deadline or not written:
        if ended(process):
            return False
        if time.perf_counter() >= deadline and next(being_written(model), None) is not None:
            written = True
            time.sleep(draw.choice([0.0, 0.0, 0.001, 0.003, 0.008]))
            break
        time.sleep(POLL)
    os.kill(process, signal.SIGKILL)
    return True


def ended(process: int) -> bool:
    """Whether a child has ended; it is not collected yet."""
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def wait(process: int) -> int:
    """Collect a child; its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def said(model: Path) -> str:
    """The last words of the latest process."""
    return Path(f"{model}.log").read_text(encoding="utf-8")[-300:]


def step_of(model: Path, tally: Tally) -> int | None:
    """The step of the checkpoint that the next process will find."""
    checkpoints = TrainingFolder(run_folder(model))
    try:
        latest = checkpoints.latest()
    except ModelFolderError as error:
        tally.faults.append(f"kill {tally.kills}: {error}")
        return None
    return None if latest is None else int(read_progress(latest)["step"])


if __name__ == "__main__":
    sys.exit(main())
