"""Experiment files: TOML, read into a plan. What may stand in one is in ``plan_reader.py``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hbgl.errors import UsageError
from hbgl.experiments.fields import flattened
from hbgl.experiments.plan import Plan
from hbgl.experiments.plan_reader import read_plan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_experiment"]


def read_experiment(
    file: Path,
    *,
    output: Path | None = None,
    corpora: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan of a file; what is given here takes the place of what it says.

    :param overrides: settings of every method of our own kind, above all that the file says.
    :raises UsageError: with every fault of the file.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no TOML: {error}") from error
    given = {
        "output": None if output is None else str(output),
        "corpora": None if corpora is None else list(corpora),
        "seeds": None if seeds is None else list(seeds),
    }
    table |= {key: value for key, value in given.items() if value is not None}
    table.setdefault("title", file.stem)
    if overrides:
        table = _above_all(table, dict(flattened(overrides)))
    return read_plan(table, str(file), other_corpora=corpora is not None)


def _above_all(table: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Put the overrides where nothing comes after them: into every place that sets them."""
    changed = dict(table)
    if isinstance(changed.get("settings", {}), Mapping):
        changed["settings"] = {**dict(flattened(changed.get("settings", {}))), **overrides}
    changed["per_corpus"] = _without_each(changed.get("per_corpus", {}), overrides)
    methods = changed.get("methods")
    if isinstance(methods, Mapping):
        changed["methods"] = {
            name: _method_without(method, overrides) for name, method in methods.items()
        }
    return changed


def _method_without(method: Any, overrides: Mapping[str, Any]) -> Any:
    if not isinstance(method, Mapping):
        return method
    changed = dict(method)
    for key in ("settings", "grid"):
        if isinstance(changed.get(key), Mapping):
            changed[key] = _without(changed[key], overrides)
    if "per_corpus" in changed and "kind" not in changed:
        changed["per_corpus"] = _without_each(changed["per_corpus"], overrides)
    return changed


def _without_each(tables: Any, overrides: Mapping[str, Any]) -> Any:
    if not isinstance(tables, Mapping):
        return tables
    return {
        name: _without(table, overrides) if isinstance(table, Mapping) else table
        for name, table in tables.items()
    }


def _without(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The table flat, without what is overridden; new steps or epochs replace the other."""
    taken = set(overrides)
    if taken & {"training.epochs", "training.steps"}:
        taken |= {"training.epochs", "training.steps"}
    return {
        name: value for name, value in flattened(table) if name.removeprefix("grid.") not in taken
    }
