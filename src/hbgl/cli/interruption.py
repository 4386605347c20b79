"""SIGTERM ends a long command like Ctrl-C does, and both leave a line that says how to go on.

Job queues end their jobs with SIGTERM, whose default kills a process without a word.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer

__all__ = ["interruptible"]


@contextmanager
def interruptible(advice: Callable[[], str]) -> Iterator[None]:
    """Write ``advice()`` on standard error if Ctrl-C (exit code 130) or SIGTERM (143) ends this."""
    before = signal.getsignal(signal.SIGTERM)
    ours = before == signal.SIG_DFL  # somebody else's handler stays
    if ours:
        signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if words := advice():
            typer.echo(f"hbgl: interrupted; {words}", err=True)
        raise
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)


def _stop(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
