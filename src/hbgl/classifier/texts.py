"""X as users have it: lists, arrays, pandas and polars columns of texts -> a list of strings.

pandas and polars are known by their methods and never imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hbgl.errors import HBGLError, InputError
from hbgl.records.faults import BadRecordError

__all__ = [
    "column_names",
    "is_table",
    "raise_faults",
    "read_each",
    "read_texts",
    "rows_of",
]

_Row = TypeVar("_Row")
_Value = TypeVar("_Value")

_SHOWN = 5


def read_texts(X: Any, name: str, faults: list[str], *, for_training: bool = False) -> list[str]:
    """The texts of X; what is wrong is added to ``faults``.

    :param X: a list, array, Series or table of one column.
    :param for_training: an empty text teaches nothing, and is a fault.
    """
    if isinstance(X, (str, bytes)):
        faults.append(f"{name} is one text where a list of texts belongs; write [text]")
        return []
    rows = rows_of(X, name, faults)
    found: list[str] = []
    wrong: list[str] = []
    for number, row in enumerate(rows):
        if not isinstance(row, str):
            wrong.append(f"row {number} is {_kind(row)}, not a text")
        elif for_training and not row.strip():
            wrong.append(f"row {number} is empty")
        else:
            found.append(str(row))
    faults += _shown(name, wrong)
    return found


def read_each(
    rows: Iterable[_Row],
    read: Callable[[_Row], _Value],
    instead: _Value,
    name: str,
    faults: list[str],
) -> list[_Value]:
    """What ``read`` makes of every row; one that it refuses is named, and gives ``instead``."""
    found: list[_Value] = []
    wrong: list[str] = []
    for number, row in enumerate(rows):
        value, fault = _attempt(read, row)
        found.append(instead if value is None else value)
        wrong += [f"row {number}: {fault}"] if fault else []
    faults += _shown(name, wrong)
    return found


def _attempt(read: Callable[[_Row], _Value], row: _Row) -> tuple[_Value | None, str]:
    try:
        return read(row), ""
    except (BadRecordError, HBGLError) as fault:
        return None, str(fault)


def rows_of(values: Any, name: str, faults: list[str]) -> list[Any]:
    """The rows of a list, array, Series or one-column table."""
    if hasattr(values, "tocsr"):
        faults.append(f"{name} is a sparse matrix of numbers; give the texts themselves")
        return []
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        if len(shape) != 2 or shape[1] != 1:
            what = f"{shape[1]} columns" if len(shape) == 2 else f"{len(shape)} dimensions"
            faults.append(f'{name} has {what} where one belongs; take a single one: {name}["..."]')
            return []
        if is_table(values):
            return rows_of(values[column_names(values)[0]], name, faults)
        return list(values[:, 0].tolist())
    for method in ("to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if (
        isinstance(values, (Mapping, str, bytes))
        or not hasattr(values, "__len__")
        or not hasattr(values, "__getitem__")
    ):
        faults.append(f"{name} must be a list, an array or a column, not {_kind(values)}")
        return []
    return list(values)


def is_table(values: Any) -> bool:
    """Whether this is a table of pandas or polars, with named columns."""
    return hasattr(values, "columns") and hasattr(values, "to_numpy")


def column_names(table: Any) -> list[Any]:
    """The names of a table's columns."""
    return list(table.columns)


def _shown(name: str, wrong: Sequence[str]) -> list[str]:
    """The first faults of one argument in one sentence; none if there are none."""
    if not wrong:
        return []
    more = f", and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    return [f"{name}: {', '.join(wrong[:_SHOWN])}{more}"]


def raise_faults(faults: Sequence[str]) -> None:
    """Refuse everything that is wrong at once.

    :raises InputError: if there is anything.
    """
    if len(faults) == 1:
        raise InputError(faults[0])
    if faults:
        raise InputError("\n  ".join([f"{len(faults)} faults:", *faults]))


def _kind(value: object) -> str:
    if value is None or value != value:
        return "missing"
    return f"of the type {type(value).__name__}"
