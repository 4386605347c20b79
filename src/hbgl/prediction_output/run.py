"""What a bulk run was: model, input and options, so that it only goes on as the same run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hbgl.errors import HBGLError, UsageError

__all__ = ["PredictionRun"]

_FORMAT = "hbgl-prediction-run"
_VERSION = 1


@dataclass(frozen=True)
class PredictionRun:
    """All that the written predictions depend on."""

    model: str
    """SHA-256 of the model folder's manifest"""
    input: str
    """the file's whole path; ``-`` for standard input"""
    input_bytes: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """thresholds and the like, JSON values"""

    @classmethod
    def of(cls, model: Path, source: Path | str, options: Mapping[str, Any]) -> PredictionRun:
        """Describe a run from its model folder and its input file (``-``: standard input).

        Raises:
            HBGLError: The model's manifest or the input cannot be read.
        """
        try:
            manifest = hashlib.sha256((model / "MANIFEST.json").read_bytes()).hexdigest()
            if str(source) == "-":
                return cls(manifest, "-", None, dict(options))
            path = Path(source).resolve(strict=True)
            return cls(manifest, str(path), path.stat().st_size, dict(options))
        except OSError as error:
            raise HBGLError(f"cannot read {error.filename}: {error.strerror}") from None

    def to_bytes(self) -> bytes:
        """The content of the file beside an unfinished output."""
        content = {"format": _FORMAT, "version": _VERSION, **asdict(self)}
        return json.dumps(content, indent=2, sort_keys=True).encode() + b"\n"

    def check_same(self, sidecar: Path) -> None:
        """Compare with the run that ``sidecar`` describes.

        Raises:
            UsageError: Names each difference, or says why the sidecar is of no use.
        """
        remedy = "remove the unfinished output to begin anew"
        try:
            then = json.loads(sidecar.read_bytes())
        except FileNotFoundError:
            raise UsageError(
                f"{sidecar} is missing, so nobody knows what was predicted; {remedy}"
            ) from None
        except (OSError, ValueError) as error:
            raise UsageError(f"{sidecar} cannot be read: {error}; {remedy}") from None
        if not isinstance(then, dict) or (then.get("format"), then.get("version")) != (
            _FORMAT,
            _VERSION,
        ):
            raise UsageError(f"{sidecar} was not written by this version of hbgl; {remedy}")
        different = list(_differences(then, json.loads(self.to_bytes())))
        if different:
            raise UsageError(
                f"cannot resume: {'; '.join(different)}. Repeat that run's command, or {remedy}"
            )


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if then.get("model") != now["model"]:
        yield "the unfinished output was predicted with another model"
    for name in ("input", "input_bytes"):
        if then.get(name) != now[name]:
            yield f"{name} was {then.get(name)!r}, now {now[name]!r}"
    before = then.get("options")
    before = before if isinstance(before, dict) else {}
    for name in sorted(before.keys() | now["options"].keys()):
        if before.get(name) != now["options"].get(name):
            yield f"{name} was {before.get(name)!r}, now {now['options'].get(name)!r}"
