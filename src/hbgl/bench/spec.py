"""Workloads and tasks as a few plain values, which a process can be given as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["SYNTHETIC", "TaskSpec", "WorkloadSpec"]

SYNTHETIC = "synthetic"

Kind = Literal["predict", "train", "matmul", "global-stage", "save", "export"]


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """The few values that a workload follows from."""

    corpus: str
    """A corpus folder, a bundled corpus by name, or ``synthetic``."""
    documents: int
    training: bool = False
    """From the train split; otherwise from test (or dev, or train, where there is none)."""
    backbone: str = "minilm"
    model: str | None = None
    """A folder with a trained model, instead of an untrained one over ``backbone``."""
    precision: str = "auto"
    seed: int = 0
    labels: int = 1000
    levels: int = 3
    words: int = 100
    """Labels, levels and mean words of a text, where the corpus is ``synthetic``."""
    max_length: int | None = None
    """Longest text in tokens; default: what the backbone's positions leave."""
    room: int = 0
    """Levels that positions are left for, where the taxonomy has fewer."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task."""

    kind: Kind
    contender: str = ""
    workload: WorkloadSpec | None = None
    threads: int | None = None
    batch_size: int = 32
    """Of our training."""
    folder: str = ""
    """Where ``save`` writes its model, ``export`` its graphs."""

    def to_json(self) -> dict[str, Any]:
        """What :meth:`from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TaskSpec:
        """The inverse of :meth:`to_json`."""
        workload = data["workload"]
        return cls(**{**data, "workload": None if workload is None else WorkloadSpec(**workload)})
