"""From what a file says about labels to a set of labels that is closed under ancestors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from hbgl.errors import TaxonomyError
from hbgl.records.faults import BadRecordError, check_encodable
from hbgl.taxonomy import Taxonomy
from hbgl.taxonomy.names import PATH_SEPARATOR

__all__ = ["DELIMITER", "SEPARATOR", "LabelReader"]

DELIMITER = ";"
SEPARATOR = PATH_SEPARATOR

CACHE_SIZE = 1 << 15  # label sets, and paths, whose closure is remembered
SUGGESTIONS = 1000  # unknown labels for which the nearest known names are looked up

Path = tuple[str, ...]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class LabelReader:
    """Reads labels in any of the forms that records use.

    A list of labels; a list of paths (``"A > B"`` or ``["A", "B"]``); one string of labels or
    paths between delimiters; one string that is a JSON list. With a taxonomy, the ancestors of
    each label are added: through every parent, except where a path names the parents.
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        delimiter: str = DELIMITER,
        separator: str = SEPARATOR,
    ) -> None:
        self._taxonomy = taxonomy
        self._delimiter = delimiter
        self._separator = separator
        # Label sets and their parts come again and again: 1 us instead of 50 for each.
        self._closed: dict[object, tuple[str, ...]] = {}
        self._path_ids: dict[Path, list[int]] = {}
        self._unknown: dict[str, str] = {}

    def read(self, value: object) -> tuple[str, ...]:
        """The closed label set, in taxonomy order (without a taxonomy: in the order given)."""
        key = tuple(value) if type(value) is list else value
        try:
            known = self._closed.get(key)
        except TypeError:  # a list of lists
            return self._close(self.paths(value))
        if known is None:
            known = self._close(self.paths(value))
            _remember(self._closed, key, known)
        return known

    def read_levels(self, cells: Sequence[object]) -> tuple[str, ...]:
        """The same for one cell per level, top first."""
        return self.read([list(path) for path in self.level_paths(cells)])

    def paths(self, value: object) -> list[Path]:
        """The paths in a value; a label alone is a path of one."""
        if value is None:
            return []
        if isinstance(value, str):
            return self._paths_of_text(value)
        if not isinstance(value, (list, tuple)):
            raise _wrong_type("labels must be a list or a string", value)
        return [self._path(item) for item in value]

    def level_paths(self, cells: Sequence[object]) -> list[Path]:
        """The paths in the cells of a row that has one column per level.

        One label per cell makes one path. A cell with several labels has no single path: then
        every label of the row stands for itself.
        """
        levels = [self.paths(None if cell != cell else cell) for cell in cells]  # NaN is empty
        while levels and not levels[-1]:
            levels.pop()
        if any(len(level) > 1 for level in levels):
            return [path for level in levels for path in level]
        if not all(levels):
            raise BadRecordError(
                "wrong path",
                f"wrong path: level {levels.index([]) + 1} is empty but a deeper level is not",
            )
        return [tuple(label for level in levels for label in level[0])] if levels else []

    def _paths_of_text(self, text: str) -> list[Path]:
        stripped = text.strip()
        if stripped.startswith("["):
            try:
                items = json.loads(stripped)
            except (ValueError, RecursionError):
                pass
            else:
                return self.paths(items)
        if self._is_label(stripped):
            return [(stripped,)]
        parts = (part.strip() for part in stripped.split(self._delimiter))
        return [self._path(part) for part in parts if part]

    def _path(self, item: object) -> Path:
        if isinstance(item, str):
            label = item.strip()
            if self._separator not in label or self._is_label(label):
                path: Path = (label,)
            else:
                path = tuple(part.strip() for part in label.split(self._separator))
        elif isinstance(item, (list, tuple)):
            for part in item:
                if not isinstance(part, str):
                    raise _wrong_type("each label of a path must be a string", part)
            path = tuple(part.strip() for part in item)
        else:
            raise _wrong_type("each label must be a string or a path", item)
        if not path or not all(path):
            raise BadRecordError("empty label", "empty label: a label has no characters")
        for label in path:
            check_encodable(label, "a label")
        return path

    def _is_label(self, label: str) -> bool:
        return self._taxonomy is not None and label in self._taxonomy

    def _close(self, paths: Sequence[Path]) -> tuple[str, ...]:
        if self._taxonomy is None:
            return tuple(dict.fromkeys(label for path in paths for label in path))
        ids: set[int] = set()
        for path in paths:
            above = self._path_ids.get(path)
            if above is None:
                above = self._closed_path(path, self._taxonomy)
                _remember(self._path_ids, path, above)
            ids.update(above)
        labels = self._taxonomy.labels
        return tuple(labels[i] for i in sorted(ids))

    def _closed_path(self, path: Path, taxonomy: Taxonomy) -> list[int]:
        """The ids on a path, and the ancestors of its first label if that is not at the top."""
        first = path[0]
        if len(path) > 1 and (first not in taxonomy or taxonomy.levels[taxonomy.id(first)] == 1):
            try:
                return [int(i) for i in taxonomy.path_ids(path)]
            except TaxonomyError as error:
                raise BadRecordError("wrong path", f"wrong path: {error}") from error
        ids = [self._id(label, taxonomy) for label in path]
        for parent, child in pairwise(ids):
            if parent not in taxonomy.parents(child):
                raise BadRecordError("wrong path", self._no_edge(path, parent, child, taxonomy))
        return [*(int(i) for i in taxonomy.closure(ids[:1])), *ids]

    def _no_edge(self, path: Path, parent: int, child: int, taxonomy: Taxonomy) -> str:
        label = taxonomy.labels
        above = " and ".join(f'"{label[i]}"' for i in taxonomy.parents(child))
        place = f"stands below {above}" if above else "stands at the top"
        return (
            f'wrong path: "{self._separator.join(path)}": '
            f'"{label[child]}" {place}, not below "{label[parent]}"'
        )

    def _id(self, label: str, taxonomy: Taxonomy) -> int:
        if label in taxonomy:
            return taxonomy.id(label)
        message = self._unknown.get(label)
        if message is None:
            message = f'unknown label "{label}"'
            if len(self._unknown) < SUGGESTIONS:
                try:
                    taxonomy.id(label)
                except TaxonomyError as error:
                    message = str(error)
                self._unknown[label] = message
        raise BadRecordError("unknown label", message)


def _remember(known: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Keep a result, in bounded memory."""
    if len(known) >= CACHE_SIZE:
        known.clear()
    known[key] = value


def _wrong_type(rule: str, value: object) -> BadRecordError:
    return BadRecordError("wrong type", f"wrong type: {rule}, not {type(value).__name__}")
