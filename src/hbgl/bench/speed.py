"""``hbgl bench train`` and ``predict``: contenders side by side, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hbgl.bench.processes import Handle, started
from hbgl.bench.registry import documents_of
from hbgl.bench.rounds import Spread, fitting_documents, interleave, ratio, spread
from hbgl.bench.spec import TaskSpec

__all__ = ["Limits", "Measured", "measure", "speed_results"]

FIRST = 4  # documents of a run that pays for what is made once
WARM_UP = 16
PEAK = "matmul"

Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is measured."""

    documents: int
    repetitions: int
    seconds: float
    """Of the rounds together, about; preparing and warming up come on top."""
    one_process: bool = False


@dataclass(slots=True)
class Measured:
    """What was done and how long it took."""

    documents: int
    """Of a round."""
    facts: dict[str, dict[str, Any]]
    runs: dict[str, list[dict[str, Any]]]
    memory: dict[str, float | None] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(next(iter(self.runs.values())))

    def seconds(self, name: str) -> list[float]:
        """Per document, of each round."""
        return [run["seconds"] / run["documents"] for run in self.runs[name]]


def measure(specs: dict[str, TaskSpec], limits: Limits, said: Said) -> Measured:
    """Prepare all, warm each up, then go round within the limits."""
    with started(specs, one_process=limits.one_process) as handles:
        documents = min(
            [limits.documents, *(one.facts.get("documents", limits.documents)
                                 for one in handles.values())]
        )  # fmt: skip
        warm_up = min(documents, WARM_UP)
        estimates = []
        for name, handle in handles.items():
            said(f"warming up {name}")
            handle.run(min(documents, FIRST))
            run = handle.run(warm_up)
            if name != PEAK:
                share = documents_of(specs[name].kind, specs[name].contender, documents) / documents
                estimates.append(run["seconds"] / run["documents"] * share)
        fitting = fitting_documents(estimates, documents, limits.repetitions, limits.seconds)
        if fitting < documents:
            said(f"{fitting} documents a round instead of {documents}, to fit {limits.seconds:g} s")

        def heard(name: str, number: int) -> None:
            said(f"round {number} of {limits.repetitions}: {name}")

        runs = {name: _bound(handle, fitting) for name, handle in handles.items()}
        found = interleave(runs, limits.repetitions, limits.seconds, heard)
        facts = {name: handle.facts for name, handle in handles.items()}
        memory = {name: handle.finish() for name, handle in handles.items()}
    return Measured(fitting, facts, found, memory)


def _bound(handle: Handle, documents: int) -> Callable[[], dict[str, Any]]:
    return lambda: handle.run(documents)


def speed_results(measured: Measured, champions: Sequence[str]) -> dict[str, Any]:
    """Everything worth keeping of a run, as JSON values.

    :param champions: whose ratios to all others are taken: how many times faster each is.
    """
    names = [name for name in measured.runs if name != PEAK]
    first = measured.facts[names[0]]
    kept = ("workload", "labels", "levels", "backbone", "max_length")
    peaks = [run["gflops"] for run in measured.runs[PEAK]]
    return {
        **{key: first[key] for key in kept},
        "documents": measured.documents,
        "tokens": measured.runs[names[0]][0]["tokens"],
        "rounds": measured.rounds,
        "threads": measured.facts[PEAK]["threads"],
        "hardware": measured.facts[PEAK]["hardware"],
        "peak_gflops": {
            precision: spread([peak[precision] for peak in peaks]).to_json()
            for precision in peaks[0]
        },
        "contenders": {name: _contender(measured, name, peaks) for name in names},
        "ratios": {
            champion: {
                other: ratio(measured.seconds(champion), measured.seconds(other)).to_json()
                for other in names
                if other != champion
            }
            for champion in champions
        },
    }


def _contender(measured: Measured, name: str, peaks: list[dict[str, float]]) -> dict[str, Any]:
    facts, runs = measured.facts[name], measured.runs[name]

    def per_second(key: str) -> Spread:
        return spread([run[key] / run["seconds"] for run in runs])

    def share(key: str) -> Spread:
        return spread(
            [
                run[key] / run["seconds"] / 1e9 / peak[facts["precision"]]
                for run, peak in zip(runs, peaks, strict=True)
            ]
        )

    return {
        "what": facts["what"],
        "precision": facts["precision"],
        "documents": runs[0]["documents"],
        "seconds": [round(run["seconds"], 6) for run in runs],
        "documents_per_second": per_second("documents").to_json(),
        "tokens_per_second": per_second("tokens").to_json(),
        "share_of_peak": share("flops").to_json(),
        "share_of_peak_all_layers": share("flops_of_all_layers").to_json(),
        "peak_mib": measured.memory[name],
    }
