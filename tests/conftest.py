"""What all tests start from."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Ctrl-C interrupts, also below a shell in the background, whose children ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
