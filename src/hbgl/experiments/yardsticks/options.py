"""Options from JSON or TOML -> frozen dataclasses; whatever is wrong is said in one message."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from hbgl.errors import UsageError

__all__ = [
    "METRICS",
    "Reader",
    "YardstickOptions",
    "length",
    "metric",
    "name",
    "number",
    "numbers",
    "option",
    "optional",
    "read_options",
    "whole",
]

_SHORTEST = 3
METRICS = ("mean", "micro_f1", "macro_f1")
Reader = Callable[[Any], Any]
"""A value as given -> as it is kept; a ValueError says what it must be."""
Options = TypeVar("Options", bound="YardstickOptions")


def option(default: Any, read: Reader) -> Any:
    """A dataclass field with what reads it."""
    return field(default=default, metadata={"read": read})


def number(value: Any, *, at_least: float = 0.0, least_too: bool = False) -> float:
    """A finite number above ``at_least``, or from it on if ``least_too``."""
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or value < at_least:
        raise ValueError(f"must be a number above {at_least:g}")
    if value == at_least and not least_too:
        raise ValueError(f"must be above {at_least:g}")
    return float(value)


def numbers(*, at_least: float = 0.0, least_too: bool = False) -> Reader:
    """One number, or a list of those to try on dev -> a tuple."""

    def read(value: Any) -> tuple[float, ...]:
        values = value if isinstance(value, (list, tuple)) else [value]
        if not values:
            raise ValueError("must have a value or more")
        return tuple(number(one, at_least=at_least, least_too=least_too) for one in values)

    return read


def whole(value: Any) -> int:
    """A whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a whole number of 1 or more")
    return value


def length(value: Any) -> int:
    """Tokens of a text: [CLS], [SEP] and one between them at least."""
    if whole(value) < _SHORTEST:
        raise ValueError(f"must be {_SHORTEST} or more")
    return int(value)


def name(value: Any) -> str:
    """Some text."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be a name")
    return value


def metric(value: Any) -> str:
    """One of ``METRICS``."""
    if value not in METRICS:
        raise ValueError(f"must be one of {', '.join(METRICS)}")
    return str(value)


def optional(read: Reader) -> Reader:
    """The same, or None."""
    return lambda value: None if value is None else read(value)


@dataclass(frozen=True)
class YardstickOptions:
    """What all yardsticks have."""

    metric: str = option("mean", metric)
    """The dev score that decides: Micro-F1, Macro-F1 or the mean of both."""


def read_options(yardstick: str, known: type[Options], given: Mapping[str, Any]) -> Options:
    """The options of a yardstick, with defaults for those that are not given.

    Raises:
        UsageError: unknown options, or values that cannot be; all in one message.
    """
    readers = {one.name: one.metadata["read"] for one in fields(known)}
    unknown = sorted(set(map(str, given)) - set(readers))
    faults = []
    if unknown:
        faults.append(f"no option {', '.join(unknown)}; its options are {', '.join(readers)}")
    values = {}
    for key in given:
        if key in readers:
            try:
                values[key] = readers[key](given[key])
            except ValueError as error:
                faults.append(f"{key} {error}, not {given[key]!r}")
    if faults:
        raise UsageError(f"yardstick {yardstick}: " + "; ".join(faults))
    return known(**values)
