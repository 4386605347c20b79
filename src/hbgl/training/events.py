"""What a run tells while it goes on, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hbgl.metrics import Scores

__all__ = ["Evaluated", "Listener", "Stepped", "TrainingResult"]


@dataclass(frozen=True, slots=True)
class Stepped:
    """What one optimisation step did."""

    step: int
    total: int
    epoch: float
    loss: float
    learning_rate: float
    documents_per_second: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One evaluation on dev."""

    step: int
    epoch: float
    scores: Scores
    best: bool


class Listener:
    """Hears what happens during training; the command line draws its progress from it."""

    def stepped(self, event: Stepped) -> None:
        """After each optimisation step."""

    def evaluated(self, event: Evaluated) -> None:
        """After each evaluation on dev."""

    def resumed(self, step: int, total: int) -> None:
        """A run goes on after ``step`` steps."""


@dataclass(slots=True)
class TrainingResult:
    """What came out of a run; also the progress that a checkpoint carries."""

    step: int = 0
    best_step: int = 0
    best_score: float = -1.0
    stale: int = 0
    seconds: float = 0.0
    losses: list[list[float]] = field(default_factory=list)
    """[step, mean loss since the entry before, learning rate]."""
    window: list[float] = field(default_factory=list)
    """Losses of the steps since the last entry."""
    evaluations: list[dict[str, float]] = field(default_factory=list)
    global_losses: list[float] = field(default_factory=list)
    """The global stage's, which came before; kept so that a resumed run still knows them."""
