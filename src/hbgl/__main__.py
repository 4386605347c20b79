"""``python -m hbgl`` is the ``hbgl`` command."""

from __future__ import annotations

import sys

from hbgl.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
