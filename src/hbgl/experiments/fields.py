"""Single settings by name, ``training.epochs``, with values of the types that they take."""

from __future__ import annotations

import dataclasses
import difflib
import json
import types
from collections.abc import Iterator, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from hbgl.errors import UsageError
from hbgl.settings import DecisionSettings, GlobalStage, ModelSettings, TrainingSettings

__all__ = ["assignments", "checked_overrides", "field_types", "flattened"]

_PARTS: dict[str, type[Any]] = {
    "model": ModelSettings,
    "global_stage": GlobalStage,
    "training": TrainingSettings,
    "decision": DecisionSettings,
}


def field_types() -> dict[str, Any]:
    """Every field of the settings -> its type."""
    found: dict[str, Any] = {"backbone": str}
    for part, kind in _PARTS.items():
        hints = get_type_hints(kind)
        found |= {f"{part}.{one.name}": hints[one.name] for one in dataclasses.fields(kind)}
    return found


def flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables as dotted names.

    >>> dict(flattened({"training": {"epochs": 2}, "model.head": "dot"}))
    {'training.epochs': 2, 'model.head': 'dot'}
    """
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def checked_overrides(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Settings to replace, and what is wrong with them.

    ``"none"`` stands for no value, where a setting may have none: TOML has no word for it.
    """
    types_of, found, faults = field_types(), {}, []
    for name, value in flattened(table):
        if name not in types_of:
            faults.append(f"there is no setting {name}{_nearest(name, types_of)}")
            continue
        try:
            found[name] = _fitting(value, types_of[name])
        except TypeError as error:
            faults.append(f"{name} must be {error}, not {value!r}")
    return found, faults


def assignments(texts: list[str]) -> dict[str, Any]:
    """``training.epochs=2`` as the command line gives it.

    >>> assignments(["training.epochs=2", "model.head=dot"])
    {'training.epochs': 2, 'model.head': 'dot'}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set takes FIELD=VALUE, such as training.epochs=2, not {text!r}")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _fitting(value: Any, kind: Any) -> Any:
    """The value as its field has it; ``TypeError`` says what the field takes."""
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if type(None) in options and value == "none":
        return None
    for one in options:
        if one is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if isinstance(one, type) and one is not float and type(value) is one:
            return value
        if get_args(one) and value in get_args(one):
            return value
    raise TypeError(" or ".join(_described(one) for one in options))


def _described(one: Any) -> str:
    if get_args(one):
        return f"one of {', '.join(map(str, get_args(one)))}"
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
    return names.get(one, '"none"')
