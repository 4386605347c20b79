"""Progress on standard error: a bar on a terminal, plain lines elsewhere, nothing where quiet."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn

from hbgl.training import Evaluated, Stepped
from hbgl.training_run import RunListener

__all__ = ["DocumentProgress", "TrainingProgress", "duration"]

_PLAIN_SECONDS = 15.0

_Self = TypeVar("_Self", bound="_Shown")


def duration(seconds: float) -> str:
    """``75`` -> ``1:15``.

    >>> duration(75), duration(3_675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _Shown:
    """A bar that shows one stage at a time, or a plain line every now and then."""

    def __init__(self, *columns: ProgressColumn, quiet: bool) -> None:
        # Soft wrap: a line stays one line, however narrow rich believes a log file to be.
        self._console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""
        self._last_line = time.monotonic()
        if self._console.is_interactive and not quiet:
            self._bar = Progress(*columns, console=self._console, transient=True)

    def __enter__(self: _Self) -> _Self:
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

    def _show(self, stage: str, done: int, total: int | None, state: str, line: str) -> None:
        """Move the bar; without one print ``line``, where enough time has passed."""
        if self._bar is None:
            now = time.monotonic()
            if done == total or now - self._last_line >= _PLAIN_SECONDS:
                self._last_line = now
                self.said(line)
            return
        if self._task is not None and self._stage != stage:
            self._bar.remove_task(self._task)
            self._task = None
        if self._task is None:
            self._stage = stage
            self._task = self._bar.add_task(stage, total=total, state=state)
        self._bar.update(self._task, completed=done, state=state)


class TrainingProgress(_Shown, RunListener):
    """Shows loss, rate, documents per second and time left; evaluations stay on the screen."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.completed}/{task.total} {task.fields[state]}", markup=False),
            quiet=quiet,
        )
        self.step = 0
        """the training step that was the last"""
        self.total = 0

    def global_step(self, step: int, total: int, loss: float) -> None:
        """Show a step of the global stage."""
        state = f"loss {loss:.4f}"
        self._show(
            "global stage", step, total, state, f"global stage: step {step}/{total}, {state}"
        )

    def stepped(self, event: Stepped) -> None:
        """Show a training step."""
        self.step, self.total = event.step, event.total
        left = duration(event.seconds_left)
        per_second = event.documents_per_second
        self._show(
            "training",
            event.step,
            event.total,
            f"loss {event.loss:.3f} rate {event.learning_rate:.0e} {per_second:.0f} docs/s {left}",
            f"training: step {event.step}/{event.total}, epoch {event.epoch:.2f}, "
            f"loss {event.loss:.4f}, rate {event.learning_rate:.1e}, "
            f"{per_second:.1f} documents/s, {left} left",
        )

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
        self.step, self.total = step, total
        self.said(f"going on after step {step} of {total}")


class DocumentProgress(_Shown):
    """Counts documents, and how many there are in a second; ``total`` where it is known."""

    def __init__(self, stage: str, *, quiet: bool = False) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            quiet=quiet,
        )
        self._name, self._started = stage, time.monotonic()

    def counted(self, documents: int, total: int | None = None, before: int = 0) -> None:
        """Show how many there are by now; ``before``: how many of them an earlier run did."""
        rate = (documents - before) / max(time.monotonic() - self._started, 1e-9)
        known = "" if total is None else f" of {total:,}"
        state = f"{documents:,}{known} documents, {rate:.1f} a second"
        self._show(self._name, documents, total, state, f"{self._name}: {state}")
