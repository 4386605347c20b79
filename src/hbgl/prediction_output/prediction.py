"""One document's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hbgl.taxonomy import PATH_SEPARATOR

__all__ = ["Prediction"]

_DIGITS = 6  # of a probability; float32 has seven


@dataclass(frozen=True, slots=True)
class Prediction:
    """The labels that fit a text, as a closed set and as the paths that it forms."""

    labels: tuple[str, ...] = ()
    """in taxonomy order: parents before children"""
    paths: tuple[tuple[str, ...], ...] = ()
    """each from a root down"""
    path_probabilities: tuple[float, ...] = ()
    """of each path: that all its labels are right, which is that of its least likely one"""
    probabilities: Mapping[str, float] = field(default_factory=dict)
    """of the chosen labels or of more, as was asked for; in this order they are written"""
    id: str | None = None
    line: int = 0
    """where the record was read, from 1 on; 0: nowhere"""
    error: str | None = None
    """why there is no answer"""

    def to_json(self) -> dict[str, Any]:
        """The record that is written.

        >>> Prediction(("a", "b"), (("a", "b"),), (0.75,), {"b": 0.75}).to_json()
        {'labels': ['a', 'b'], 'paths': ['a > b'], 'path_probabilities': [0.75], \
'probabilities': {'b': 0.75}}
        """
        record: dict[str, Any] = {}
        if self.id is not None:
            record["id"] = self.id
        if self.line:
            record["line"] = self.line
        record["labels"] = list(self.labels)
        record["paths"] = [PATH_SEPARATOR.join(path) for path in self.paths]
        record["path_probabilities"] = [
            round(float(value), _DIGITS) for value in self.path_probabilities
        ]
        record["probabilities"] = {
            label: round(float(value), _DIGITS) for label, value in self.probabilities.items()
        }
        if self.error is not None:
            record["error"] = self.error
        return record
