"""Where a benchmark's figures come from: the commit, the machine and the day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hbgl.bench import machine

__all__ = ["provenance"]

ROOT = Path(__file__).resolve().parent.parent


def provenance(command: str, seed: int) -> dict[str, Any]:
    """What every result file records beside its ``benchmark`` and ``results``."""
    return machine.provenance(command, seed, ROOT)
