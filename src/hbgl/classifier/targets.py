"""y as users have it -> for each row the label paths that it names.

["cats", "oaks"]                    several labels (a list or set)
("animals", "cats")                 one path (a tuple)
[("animals", "cats"), ("plants",)]  several paths
"animals > cats", "cats"            one path, one label
0/1 matrix or table                 a column for each label, named by it
table of strings                    a column for each level of one path
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hbgl.classifier.texts import column_names, is_table, read_each, rows_of
from hbgl.records.faults import BadRecordError
from hbgl.records.labels import LabelReader

__all__ = ["Path", "Targets", "read_targets"]

Path = tuple[str, ...]

_NUMBERS = (bool, int, float, np.number, np.bool_)


@dataclass(frozen=True, slots=True)
class Targets:
    """What y says, before any taxonomy."""

    rows: list[list[Path]]
    """of each text its paths; a label alone is a path of one"""
    columns: tuple[str, ...] | None = None
    """where y was a matrix: the names of its columns"""
    paths: tuple[Path, ...] = ()
    """the same as paths"""


def read_targets(
    y: Any, name: str, faults: list[str], columns: Sequence[str] | None = None
) -> Targets:
    """Read y in any of its forms; what is wrong is added to ``faults``.

    :param columns: the names of a matrix's columns, where it does not say them itself.
    """
    if y is None:
        faults.append(f"{name} is missing; give the labels of each text")
        return Targets([])
    if hasattr(y, "tocsr"):
        return _from_matrix(y.tocsr(), None, name, faults, columns)
    if is_table(y) and len(y.shape) == 2:
        return _from_table(y, name, faults, columns)
    array = _as_numbers(y)
    if array is not None and array.ndim == 2:
        return _from_matrix(array, None, name, faults, columns)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1:
        return _from_rows([row.tolist() for row in y], name, faults)
    return _from_rows(rows_of(y, name, faults), name, faults)


def _as_numbers(y: Any) -> np.ndarray | None:
    """An array, or a list of equally long lists, of numbers."""
    if not isinstance(y, np.ndarray):
        first = y[0] if isinstance(y, (list, tuple)) and y else None
        if not isinstance(first, (list, tuple, np.ndarray)) or not len(first):
            return None
        if not isinstance(first[0], _NUMBERS):
            return None
        try:
            y = np.array(y)
        except ValueError:  # of different lengths
            return None
    return y if y.dtype.kind in "biuf" else None


# ---------------------------------------------------------------------- rows


def _from_rows(rows: list[Any], name: str, faults: list[str]) -> Targets:
    reader = LabelReader()
    return Targets(read_each(rows, lambda row: reader.paths(_items(row)), [], name, faults))


def _items(row: Any) -> list[Any]:
    """What a row names, each a label or a path."""
    if isinstance(row, str):
        return [row]
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if isinstance(row, tuple) and row and all(isinstance(part, str) for part in row):
        return [row]
    if isinstance(row, (list, tuple)):
        return list(row)
    if isinstance(row, (set, frozenset)):
        return sorted(row, key=str)
    if row is None or row != row:
        raise BadRecordError("no labels", "no labels are given; write [] for none")
    kind = type(row).__name__
    raise BadRecordError("wrong type", f"labels are strings or lists of strings, not {kind}")


# ---------------------------------------------------------------------- tables and matrices


def _from_table(table: Any, name: str, faults: list[str], columns: Sequence[str] | None) -> Targets:
    names = column_names(table)
    values = np.asarray(table.to_numpy())
    first = values[:1].ravel()
    if len(names) == 1 and not isinstance(first[0] if len(first) else 0, _NUMBERS):
        return _from_rows(rows_of(table, name, faults), name, faults)
    if any(isinstance(cell, str) for cell in first):
        return _from_levels(values, name, faults)
    unnamed = not all(isinstance(one, str) for one in names)
    return _from_matrix(values, None if unnamed else names, name, faults, columns)


def _from_levels(cells: np.ndarray, name: str, faults: list[str]) -> Targets:
    reader = LabelReader()
    rows = ([cell if isinstance(cell, str) else None for cell in row] for row in cells)
    return Targets(read_each(rows, reader.level_paths, [], name, faults))


def _from_matrix(
    matrix: Any, own: list[str] | None, name: str, faults: list[str], columns: Sequence[str] | None
) -> Targets:
    width = matrix.shape[1]
    names = own or list(columns or map(str, range(width)))
    if len(names) != width:
        faults.append(f"{name} has {width} columns, but there are {len(names)} labels")
        return Targets([])
    indicators = _indicators(matrix)
    if indicators is None:
        faults.append(f"{name} is a matrix, and holds something else than 0 and 1")
        return Targets([])
    if len(set(names)) < len(names):
        faults.append(f"{name} has two columns of the same name")
        return Targets([])
    try:
        paths = LabelReader().paths(names)
    except BadRecordError as fault:
        faults.append(f"{name}: column names: {fault}")
        return Targets([])
    rows = [[paths[i] for i in row] for row in indicators]
    return Targets(rows, tuple(names), tuple(paths))


def _indicators(matrix: Any) -> list[list[int]] | None:
    """The columns of each row that hold 1; None if something is neither 0 nor 1."""
    if hasattr(matrix, "indptr"):
        values, indices, starts = matrix.data, matrix.indices, matrix.indptr
        if not np.isin(values, (0, 1)).all():
            return None
        return [sorted(indices[a:b][values[a:b] != 0].tolist()) for a, b in pairwise(starts)]
    try:
        numbers = matrix.astype(np.float64)
    except (TypeError, ValueError):
        return None
    if not np.isin(numbers, (0, 1)).all():
        return None
    return [np.flatnonzero(row).tolist() for row in numbers]
