"""The states of a run that are kept: the best on dev, and the last one to go on from.

Where one step writes both, the best comes first: a run killed in between goes on from the last
checkpoint before and writes the same best one again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import torch
from accelerate import Accelerator

from hbgl.checkpoint import TrainingFolder, read_progress
from hbgl.errors import TrainingError
from hbgl.methods import TorchMethod
from hbgl.training.events import TrainingResult
from hbgl.weight_average import WeightAverage

__all__ = ["Checkpoints"]


class Checkpoints:
    """In a folder, written by the first process; without one, the best weights in memory."""

    def __init__(
        self,
        folder: TrainingFolder | None,
        fingerprint: dict[str, Any],
        method: TorchMethod,
        optimizer: torch.optim.Optimizer,
        accelerator: Accelerator,
        average: WeightAverage | None = None,
    ) -> None:
        """``average``: what the run keeps beside the weights of ``method``."""
        self.average = average
        self.folder, self.fingerprint = folder, fingerprint
        self.method, self.optimizer, self.accelerator = method, optimizer, accelerator
        self.best_weights: dict[str, torch.Tensor] | None = None

    def save_best(self, progress: TrainingResult) -> None:
        """Keep the weights that just scored best on dev."""
        tensors = self.method.state_dict()
        if self.folder is None:
            self.best_weights = {name: one.detach().cpu().clone() for name, one in tensors.items()}
        elif self.accelerator.is_main_process:
            self.folder.save_best(tensors, self._json(progress))

    def load_best(self, progress: TrainingResult) -> None:
        """Every process ends with the weights that scored best (the last ones without dev)."""
        if progress.best_step in (0, progress.step):
            return
        self.accelerator.wait_for_everyone()
        weights = self.best_weights if self.folder is None else self.folder.load_best()
        if weights is not None:
            self.method.load_state_dict(weights)
        if weights is not None and self.folder is not None:
            _adopt(progress, read_progress(self.folder.best)["progress"])

    def save_last(self, progress: TrainingResult) -> None:
        """Keep everything that the run needs to go on from here."""
        if self.folder is not None:
            if self.accelerator.is_main_process:
                self.folder.save_last(
                    self.method.state_dict(),
                    self.optimizer,
                    self._json(progress),
                    average=None if self.average is None else self.average.averages,
                )
            self.accelerator.wait_for_everyone()

    def forget(self) -> None:
        """Remove the checkpoints of another run, so that nothing goes on from them."""
        if self.folder is not None and self.accelerator.is_main_process:
            self.folder.clear()
        self.accelerator.wait_for_everyone()

    def restore(self) -> TrainingResult | None:
        """Load the last checkpoint; None where there is none yet.

        :raises TrainingError: if it belongs to other settings, data or another version.
        """
        state = None if self.folder is None else self.folder.load_last()
        if self.folder is None or state is None:
            return None
        different = sorted(_differences(state.progress.get("fingerprint"), self.fingerprint))
        if different:
            raise TrainingError(
                f"the checkpoint in {self.folder.path} belongs to a run with other "
                f"{', '.join(different)}; repeat that run's options, or train without --resume"
            )
        try:
            progress = TrainingResult(**state.progress["progress"])
        except (KeyError, TypeError) as fault:
            raise TrainingError(
                f"the checkpoint in {self.folder.path} was written by another version of hbgl "
                f"({fault}); go on with that version, or train without --resume"
            ) from fault
        state.restore_model(self.method)
        state.restore_optimizer(self.optimizer)
        if self.average is not None:
            try:
                self.average.restore(state.average or {})
            except ValueError as fault:
                raise TrainingError(
                    f"the checkpoint in {self.folder.path} does not hold this run's average of "
                    f"the weights ({fault}); repeat that run's options, or train without --resume"
                ) from fault
        return progress

    def _json(self, progress: TrainingResult) -> dict[str, Any]:
        return {
            "step": progress.step,
            "fingerprint": self.fingerprint,
            "progress": asdict(progress),
        }


def _adopt(progress: TrainingResult, best: dict[str, Any]) -> None:
    """Take over the step and score of the best weights that are there.

    They are the run's own, unless it was killed between the writing of the best and the last ones
    and then came to other numbers at that step, as with bfloat16 on another machine.
    """
    if best["best_step"] == progress.best_step:
        return
    progress.best_step, progress.best_score = best["best_step"], best["best_score"]
    known = {one["step"]: one for one in (*progress.evaluations, best["evaluations"][-1])}
    progress.evaluations = [known[step] for step in sorted(known)]


def _differences(saved: Any, now: Any, name: str = "") -> Iterator[str]:
    """The names of what is not equal, down to single fields: ``training.learning_rate``."""
    if isinstance(saved, dict) and isinstance(now, dict):
        for key in saved.keys() | now.keys():
            yield from _differences(saved.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif saved != now:
        yield name or "settings"
