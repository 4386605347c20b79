"""Which machine and which commit a measurement belongs to, and how much memory a process took."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

__all__ = ["hardware", "peak_mib", "provenance", "source_root"]


def provenance(command: str, seed: int, root: Path | None) -> dict[str, Any]:
    """What every result records beside its ``benchmark`` and ``results``.

    ``commit`` ends in ``-dirty`` where ``src`` or a script of ``benchmarks`` under ``root`` has
    changes that are not in it, and is ``unknown`` outside a clone. ``torch`` is named where it has
    been imported.
    """
    return {
        "command": command,
        "seed": seed,
        "commit": _commit(root),
        "hardware": hardware(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
    }


def source_root() -> Path | None:
    """The clone that this package is imported from; None where it is installed without one."""
    source = Path(__file__).resolve().parents[2]
    return source.parent if source.name == "src" else None


def hardware() -> dict[str, Any]:
    """Processor, cores and memory; torch's version and the GPU where torch is loaded."""
    found: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 1,
        "memory_gib": _memory_gib(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
        if torch.cuda.is_available():
            found["gpu"] = torch.cuda.get_device_name()
    return found


def peak_mib() -> float:
    """The high-water mark of this process's resident memory; getrusage may show a parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    import resource

    # Kibibytes, but on macOS bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def _commit(root: Path | None) -> str:
    if root is None:
        return "unknown"
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", "src", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - fixed commands, no shell
        ["git", "--no-optional-locks", *arguments],  # noqa: S607 - wherever git is installed
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


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
