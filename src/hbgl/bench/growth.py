"""``hbgl bench taxonomy``: how prediction and the global stage grow with labels and levels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from hbgl.bench.processes import started
from hbgl.bench.rounds import ratio, spread
from hbgl.bench.spec import SYNTHETIC, TaskSpec, WorkloadSpec
from hbgl.bench.speed import PEAK, Limits, Measured, measure

__all__ = ["LABELS", "LEVELS", "growth_results"]

LABELS = (100, 300, 1000, 3000, 10_000)
LEVELS = (2, 3, 4, 5, 6, 7, 8)
_GLOBAL_STEPS = 2

Said = Callable[[str], None]


def growth_results(
    base: WorkloadSpec,
    labels: Sequence[int],
    levels: Sequence[int],
    limits: Limits,
    *,
    threads: int | None,
    global_stage: bool,
    said: Said,
) -> dict[str, Any]:
    """Two series over balanced taxonomies, the same texts throughout, and global stages.

    ``base`` says how many levels the taxonomies of the first series have, and how many labels
    those of the second. Each series goes round by itself, its first taxonomy in every round too.
    """
    # The same cut for all, although more levels leave fewer positions for text.
    base = dataclasses.replace(base, room=max([base.levels, *levels]))
    series: dict[str, dict[int, WorkloadSpec]] = {
        "labels": {count: dataclasses.replace(base, labels=count) for count in labels},
        "levels": {count: dataclasses.replace(base, levels=count) for count in levels},
    }
    found: dict[str, Any] = {
        "workload": SYNTHETIC,
        "words": base.words,
        "backbone": base.backbone,
    }
    for what, workloads in series.items():
        if not workloads:
            continue
        specs = {PEAK: TaskSpec("matmul", threads=threads)}
        specs |= {
            f"{what} {count}": TaskSpec("predict", "hbgl", spec, threads)
            for count, spec in workloads.items()
        }
        measured = measure(specs, limits, said)
        found["max_length"] = measured.facts[f"{what} {next(iter(workloads))}"]["max_length"]
        found["documents"] = measured.documents
        found["threads"] = measured.facts[PEAK]["threads"]
        found["hardware"] = measured.facts[PEAK]["hardware"]
        found[what] = _series(measured, what, list(workloads))
    if global_stage:
        specs = {
            str(count): TaskSpec("global-stage", workload=spec, threads=threads)
            for count, spec in series["labels"].items()
        }
        found["global_stage"] = {
            name: _global_stage(name, spec, limits, said) for name, spec in specs.items()
        }
    return found


def _series(measured: Measured, what: str, counts: list[int]) -> dict[str, Any]:
    """By count: documents/s, how many times slower than the first, and memory."""
    first = measured.seconds(f"{what} {counts[0]}")
    rows = {}
    for count in counts:
        name = f"{what} {count}"
        seconds = measured.seconds(name)
        rows[str(count)] = {
            "labels": measured.facts[name]["labels"],
            "levels": measured.facts[name]["levels"],
            "documents_per_second": spread([1 / one for one in seconds]).to_json(),
            "times_slower": ratio(first, seconds).to_json(),
            "peak_mib": measured.memory[name],
        }
    return {"rounds": measured.rounds, "rows": rows}


def _global_stage(name: str, spec: TaskSpec, limits: Limits, said: Said) -> dict[str, Any]:
    """Seconds per step of one taxonomy; each alone, for its memory is what matters."""
    said(f"global stage of {name} labels")
    runs: list[dict[str, Any]] = []
    with started({name: spec}, one_process=limits.one_process) as handles:
        while (
            len(runs) < limits.repetitions
            and sum(run["seconds"] * (_GLOBAL_STEPS + 1) for run in runs) <= limits.seconds / 5
        ):
            runs.append(handles[name].run(_GLOBAL_STEPS))
        memory = handles[name].finish()
    return {
        "labels": handles[name].facts["labels"],
        "levels": handles[name].facts["levels"],
        "seconds_per_step": spread([run["seconds"] for run in runs]).to_json(),
        "masks_per_step": runs[0]["masks_per_step"],
        "path": runs[0]["path"],
        "peak_mib": memory,
    }
