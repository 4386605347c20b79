"""The progress of a conversion: a live line on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["PrepareProgress"]

PLAIN_SECONDS = 10.0
LIVE_SECONDS = 0.1


class PrepareProgress:
    """Called with (step, documents so far) for each document; shows some of the calls."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._interval = float("inf") if quiet else PLAIN_SECONDS
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._shown = time.monotonic()
        if sys.stderr.isatty() and not quiet:
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._interval = LIVE_SECONDS
            self._live = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TextColumn("{task.completed:,.0f} documents"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> PrepareProgress:
        if self._live is not None:
            self._live.start()
            self._task = self._live.add_task("starting", total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, step: str, documents: int) -> None:
        """Show the step, unless something was shown a moment ago."""
        # The clock is read for one call in 64: a conversion makes hundreds of thousands.
        if documents % 64:
            return
        now = time.monotonic()
        if now - self._shown < self._interval:
            return
        self._shown = now
        if self._live is not None and self._task is not None:
            self._live.update(self._task, description=step, completed=documents)
        else:
            typer.echo(f"{step}: {documents:,} documents", err=True)
