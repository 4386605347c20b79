"""Training on the screen: a progress bar on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hbgl.training import Evaluated, Stepped
from hbgl.training_run import RunListener

__all__ = ["TrainingProgress", "duration"]

_PLAIN_SECONDS = 15.0


def duration(seconds: float) -> str:
    """``75`` -> ``1:15``.

    >>> duration(75), duration(3_675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class TrainingProgress(RunListener):
    """Shows loss, rate, documents per second and time left; evaluations stay on the screen."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._last_line = 0.0
        if sys.stderr.isatty() and not quiet:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}"),
                TextColumn("{task.fields[state]}"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )

    def __enter__(self) -> TrainingProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def said(self, message: str) -> None:
        """Print one line."""
        self._console.print(message, markup=False)

    def global_step(self, step: int, total: int, loss: float) -> None:
        """Show a step of the global stage."""
        self._show("global stage", step, total, f"loss {loss:.4f}")

    def stepped(self, event: Stepped) -> None:
        """Show a training step."""
        state = (
            f"epoch {event.epoch:.2f}, loss {event.loss:.4f}, rate {event.learning_rate:.1e}, "
            f"{event.documents_per_second:.1f} documents/s, {duration(event.seconds_left)} left"
        )
        self._show("training", event.step, event.total, state)

    def evaluated(self, event: Evaluated) -> None:
        """Print an evaluation."""
        micro, macro = 100 * event.scores.micro_f1, 100 * event.scores.macro_f1
        best = ", the best so far" if event.best else ""
        self.said(
            f"epoch {event.epoch:.2f}, step {event.step}: dev Micro-F1 {micro:.2f}, "
            f"Macro-F1 {macro:.2f}{best}"
        )

    def resumed(self, step: int, total: int) -> None:
        """Say from where a run goes on."""
        self.said(f"going on after step {step} of {total}")

    def _show(self, stage: str, step: int, total: int, state: str) -> None:
        if self._bar is None:
            now = time.monotonic()
            if step == total or now - self._last_line >= _PLAIN_SECONDS:
                self._last_line = now
                self.said(f"{stage}: step {step}/{total}, {state}")
            return
        if self._task is not None and self._bar.tasks[-1].description != stage:
            self._bar.remove_task(self._task)
            self._task = None
        if self._task is None:
            self._task = self._bar.add_task(stage, total=total, state=state)
        self._bar.update(self._task, completed=step, state=state)
