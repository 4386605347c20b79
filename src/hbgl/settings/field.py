"""A field of the settings with the sentence that documents it, in ``--help`` too."""

from __future__ import annotations

from dataclasses import field
from typing import Any

__all__ = ["choice"]


def choice(default: Any, help_text: str) -> Any:
    """A dataclass field with its default and its help."""
    return field(default=default, metadata={"help": help_text})
