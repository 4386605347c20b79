"""Where a benchmark's figures come from: the commit, the machine and the day."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

__all__ = ["provenance"]

ROOT = Path(__file__).resolve().parent.parent


def provenance(command: str, seed: int) -> dict[str, Any]:
    """What every result file records beside its ``benchmark`` and ``results``.

    ``commit`` ends in ``-dirty`` where ``src`` or a script of ``benchmarks`` has changes that are
    not in it, and is ``unknown`` outside a clone. ``torch`` is named where it has been imported.
    """
    return {
        "command": command,
        "seed": seed,
        "commit": _commit(),
        "hardware": _hardware(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
    }


def _commit() -> str:
    try:
        commit = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "--no-optional-locks", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


def _hardware() -> dict[str, Any]:
    hardware: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 1,
        "memory_gib": _memory_gib(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        hardware["torch"] = str(torch.__version__)
        if torch.cuda.is_available():
            hardware["gpu"] = torch.cuda.get_device_name()
    return hardware


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    return round(pages * size / 2**30, 1)
