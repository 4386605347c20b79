"""What a document is, and under which names a file keeps its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hbgl.errors import UsageError

__all__ = ["Columns", "Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """One document.

    ``labels`` is closed under ancestors and in taxonomy order when the reader had a taxonomy,
    otherwise as the file gives it. ``line`` is where the document stands in its file (the row
    number in Parquet), 0 if it comes from no file; it does not count in comparisons.
    """

    text: str
    labels: tuple[str, ...] = ()
    id: str | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the fields (JSON) or columns (tables) that hold the parts of a record.

    Several label columns are the levels of one path, top first: ``labels=["level1", "level2"]``.
    Columns that keep their default name may be absent, apart from the text; others may not.
    """

    text: str = "text"
    labels: str | Sequence[str] | None = "labels"
    id: str | None = "id"

    def __post_init__(self) -> None:
        """Freeze the label columns and refuse names that cannot work."""
        if self.labels is not None and not isinstance(self.labels, str):
            levels = tuple(self.labels)
            object.__setattr__(self, "labels", levels[0] if len(levels) == 1 else levels)
        names = [self.text, *self.label_names, *([] if self.id is None else [self.id])]
        if not all(names) or self.labels == ():
            raise UsageError("a column name is empty; name the columns as the file does")
        if len(set(names)) < len(names):
            raise UsageError(f"one column is named for two purposes: {', '.join(names)}")

    @property
    def label_names(self) -> tuple[str, ...]:
        """The label columns: none, one, or one for each level."""
        if self.labels is None:
            return ()
        return (self.labels,) if isinstance(self.labels, str) else tuple(self.labels)
