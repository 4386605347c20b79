"""The errors that a user of hbgl can meet; every message says what, where, and what to do.

HBGLError                  anything hbgl refuses, with one clear message
|-- UsageError             options that contradict each other or the data (exit code 2)
|   `-- InputError         what an estimator is given: a ValueError too, as scikit-learn has it
|-- TaxonomyError          a taxonomy with faults; all of them, each with file and line
|-- RecordError            a record that cannot be read or does not fit the taxonomy
|-- CorpusError            a corpus folder or raw distribution that is not what it should be
|-- BackboneError          an encoder that cannot be found, verified or used
|-- ModelFolderError       a model or checkpoint folder that is damaged, incomplete or foreign
|-- TrainingError          a training run that cannot start or go on
`-- MissingExtraError      an optional dependency is not installed; names the install command
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "BackboneError",
    "CorpusError",
    "Fault",
    "HBGLError",
    "InputError",
    "MissingExtraError",
    "ModelFolderError",
    "RecordError",
    "TaxonomyError",
    "TrainingError",
    "UsageError",
]


class HBGLError(Exception):
    """Anything hbgl refuses. ``str(error)`` is the whole message for the user."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and the place where it is: ``train.jsonl:17: unknown label "sprots"``."""

    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return f"{place}: {self.message}" if place else self.message


class _FaultyInput(HBGLError):
    """An error that carries the faults found, all at once."""

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join([message, *(f"  {fault}" for fault in self.faults)]))


class UsageError(HBGLError):
    """Options that contradict each other or the data."""

    exit_code = 2


class InputError(UsageError, ValueError):
    """Parameters or data that an estimator cannot use."""


class TaxonomyError(_FaultyInput):
    """A taxonomy that cannot be used."""


class RecordError(_FaultyInput):
    """A record that cannot be read or does not fit the taxonomy."""


class CorpusError(_FaultyInput):
    """A corpus folder or raw distribution that is not what it should be."""


class BackboneError(HBGLError):
    """An encoder that cannot be found, verified or used."""


class ModelFolderError(HBGLError):
    """A model or checkpoint folder that is damaged, incomplete or foreign."""


class TrainingError(HBGLError):
    """A training run that cannot start or go on."""


class MissingExtraError(HBGLError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'hbgl[{extra}]'"
        )
