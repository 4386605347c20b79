"""What the user can say to a converter, in one place for all converters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from hbgl.errors import UsageError

__all__ = ["PrepareOptions", "Progress", "no_progress"]

Progress = Callable[[str, int], None]
"""Called with the step ("reading 19960820.zip") and the number of documents so far."""


def no_progress(step: str, documents: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """Options of all converters; each uses some and refuses the rest."""

    seed: int = 0
    """Seed of every random choice: splits and samples."""
    train_ids: Path | None = None
    """Documents of the training split, one id per line."""
    dev_ids: Path | None = None
    """Documents of the development split, one id per line."""
    test_ids: Path | None = None
    """Documents of the test split, one id per line."""
    labels: Path | None = None
    """The labels to keep, one per line."""
    taxonomy: Path | None = None
    """A taxonomy file that replaces the one the converter would make."""
    min_documents: int | None = None
    """Leave out labels with fewer training documents; their documents stay with the parent."""
    drop_duplicates: bool = False
    """Keep equal texts once: test before dev before train."""
    text_column: tuple[str, ...] = ()
    """Columns of the text; several are joined by line ends."""
    label_column: tuple[str, ...] = ()
    """Columns of the labels: one per level, or one with paths."""
    id_column: str | None = None
    """Column of the document's id."""
    split_column: str | None = None
    """Column that says train, dev or test."""
    label_separator: str | None = None
    """What stands between two labels or paths of one cell."""
    path_separator: str | None = None
    """What stands between the levels of a path."""
    dev_share: float | None = None
    """Share of documents for dev where the corpus has no split of its own."""
    test_share: float | None = None
    """Share of documents for test where the corpus has no split of its own."""

    def refuse_unused(self, corpus: str, used: Sequence[str]) -> None:
        """Refuse options that this converter does not know, all at once.

        Raises:
            UsageError: an option was given that would have no effect.
        """
        given = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        unused = [name for name in given if name != "seed" and name not in used]
        if unused:
            flags = ", ".join("--" + name.replace("_", "-") for name in unused)
            known = ", ".join("--" + name.replace("_", "-") for name in used) or "none but --seed"
            raise UsageError(f"{corpus} does not use {flags}; its options are {known}")
