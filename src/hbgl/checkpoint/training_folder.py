"""The checkpoints of one run: ``RUN/checkpoints/last`` and ``RUN/checkpoints/best``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hbgl.checkpoint.folders import recover_folder, remove_folder, verify_folder
from hbgl.checkpoint.training_state import (
    TrainingState,
    can_resume,
    load_model_tensors,
    load_training_state,
    read_progress,
    save_training_state,
)
from hbgl.errors import ModelFolderError

if TYPE_CHECKING:
    import torch

__all__ = ["TrainingFolder"]


class TrainingFolder:
    """Keeps the last and the best checkpoint of a run, each complete at every instant.

    Where one step writes both, write the best first: a run killed in between then goes on from
    the last checkpoint before and writes the same best one again.
    """

    def __init__(self, run: Path) -> None:
        """Look at the checkpoints of ``run``; nothing is created before the first one."""
        self.path = run / "checkpoints"
        self.last = self.path / "last"
        self.best = self.path / "best"
        self.damaged: tuple[str, ...] = ()  # messages of what latest() could not use

    def exists(self) -> bool:
        """Whether there is a checkpoint to go on from, damaged or not."""
        recover_folder(self.last)
        return self.last.exists() or self.latest() is not None

    def save_last(
        self,
        model_tensors: Mapping[str, torch.Tensor],
        optimizer: torch.optim.Optimizer,
        progress: Mapping[str, Any],
        *,
        average: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        """Replace ``last``, from which a run goes on; see ``save_training_state``."""
        save_training_state(
            self.last,
            model_tensors=model_tensors,
            optimizer=optimizer,
            average=average,
            progress=progress,
        )

    def save_best(
        self,
        model_tensors: Mapping[str, torch.Tensor],
        progress: Mapping[str, Any],
        *,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """Replace ``best``; without an optimiser it is smaller and no run can go on from it."""
        save_training_state(
            self.best, model_tensors=model_tensors, optimizer=optimizer, progress=progress
        )

    def latest(self) -> Path | None:
        """The newest complete checkpoint to go on from, or None when there is none yet.

        Newest is the highest ``step`` in the progress. A damaged checkpoint is passed over and
        named in ``damaged``.

        Raises:
            ModelFolderError: A checkpoint is damaged and no other one can be used.
        """
        found: list[tuple[int, Path]] = []
        damaged: list[str] = []
        for checkpoint in (self.last, self.best):
            step = _step(checkpoint, damaged)
            if step is not None:
                found.append((step, checkpoint))
        self.damaged = tuple(damaged)
        if damaged and not found:
            raise ModelFolderError(
                f"no usable checkpoint in {self.path}: {' '.join(damaged)}; "
                "to begin anew remove that folder"
            )
        # On equal steps the last one: max keeps the first of equals.
        return max(found, key=lambda item: item[0])[1] if found else None

    def load_last(self) -> TrainingState | None:
        """Read the newest complete checkpoint to go on from; errors as in ``latest``."""
        checkpoint = self.latest()
        return None if checkpoint is None else load_training_state(checkpoint)

    def load_best(self) -> dict[str, torch.Tensor] | None:
        """Read the tensors of the best model, None where no best one was written."""
        recover_folder(self.best)
        return load_model_tensors(self.best) if self.best.exists() else None

    def clear(self) -> None:
        """Forget all checkpoints: a new run must not go on from those of another one."""
        for checkpoint in (self.last, self.best):
            remove_folder(checkpoint)


def _step(checkpoint: Path, damaged: list[str]) -> int | None:
    """How far a checkpoint to go on from is; None, and a message if damaged, for others."""
    try:
        recover_folder(checkpoint)
        if checkpoint.exists() and can_resume(verify_folder(checkpoint)):
            return int(read_progress(checkpoint).get("step", -1))
    except ModelFolderError as error:
        damaged.append(str(error))
    return None
