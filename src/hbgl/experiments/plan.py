"""What is to be run: methods x corpora x seeds, and every choice of each run.

A plan is made from an experiment file (``experiment_file.py``) or for a table of the paper
(``paper_tables.py``); both are nested tables of the same keys, read by ``plan_reader.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hbgl.settings import Settings, settings_from_json, with_overrides

__all__ = ["OWN_KIND", "MethodPlan", "Plan", "Run"]

OWN_KIND = "hbgl"
"""The kind of methods that our own training loop trains; all other kinds are yardsticks."""


@dataclass(frozen=True, slots=True)
class MethodPlan:
    """One row of the table."""

    name: str
    kind: str = OWN_KIND
    baseline: str | None = None
    """the method whose answers it is compared with"""
    settings: Mapping[str, Settings] = field(default_factory=dict)
    """by corpus; of our own kind only"""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """by corpus; of yardsticks only"""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """field of the settings -> values to choose from on dev"""
    corpus_grids: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    """by corpus: fields with values of their own there"""
    published: str | None = None
    """the row of ``published.py`` that stands beside it"""

    def grid_of(self, corpus: str) -> dict[str, Sequence[Any]]:
        """The grid on a corpus."""
        return {**self.grid, **self.corpus_grids.get(corpus, {})}


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one corpus with one seed."""

    corpus: str
    """its name in the tables"""
    source: str
    """its folder, or its name as a bundled corpus"""
    method: str
    kind: str
    seed: int
    settings: Settings | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[dict[str, Any], ...] = ()
    """the points to choose from; empty: no grid"""
    grid_seed: int = 0
    """the seed that every point is trained with"""

    @property
    def name(self) -> str:
        """``arxiv/flat/seed-0``."""
        return f"{self.corpus}/{self.method}/seed-{self.seed}"

    def folder(self, output: Path) -> Path:
        """Where its result goes."""
        return output / "runs" / self.corpus / self.method / f"seed-{self.seed}"

    def grid_folder(self, output: Path) -> Path:
        """Where the points of its grid go; all seeds share them."""
        return output / "runs" / self.corpus / self.method / "grid"

    def point_settings(self, point: Mapping[str, Any], seed: int) -> Settings:
        """The settings of a point of the grid."""
        if self.settings is None:
            raise ValueError(f"{self.name} is no method of our own")
        return with_overrides(self.settings, {**point, "training.seed": seed})

    def configuration(self) -> dict[str, Any]:
        """Everything that decides the result, except the data; JSON values."""
        return {
            "kind": self.kind,
            "seed": self.seed,
            "settings": None if self.settings is None else self.settings.to_json(),
            "options": dict(self.options),
            "grid": [dict(point) for point in self.grid],
            **({"grid_seed": self.grid_seed} if self.grid else {}),
        }

    def to_json(self) -> dict[str, Any]:
        """For a process that runs it."""
        names = {"corpus": self.corpus, "source": self.source, "method": self.method}
        return {**names, **self.configuration()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """The inverse of :meth:`to_json`."""
        settings = data["settings"]
        return cls(
            data["corpus"],
            data["source"],
            data["method"],
            data["kind"],
            data["seed"],
            None if settings is None else settings_from_json(settings),
            data["options"],
            tuple(data["grid"]),
            data.get("grid_seed", 0),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole experiment."""

    title: str
    output: Path
    corpora: Mapping[str, str]
    """name in the tables -> folder, or name of a bundled corpus"""
    seeds: tuple[int, ...]
    methods: tuple[MethodPlan, ...]

    def runs(self) -> Iterator[Run]:
        """Seed by seed, so that a plan that is half done compares all methods on some seeds."""
        for seed, (corpus, source), method in itertools.product(
            self.seeds, self.corpora.items(), self.methods
        ):
            settings, points = method.settings.get(corpus), grid_points(method.grid_of(corpus))
            yield Run(
                corpus,
                source,
                method.name,
                method.kind,
                seed,
                None if settings is None else with_overrides(settings, {"training.seed": seed}),
                method.options.get(corpus, {}),
                points,
                self.seeds[0] if points else 0,
            )

    def only(self, methods: Sequence[str]) -> Plan:
        """The same with some of the methods."""
        return replace(self, methods=tuple(one for one in self.methods if one.name in methods))


def grid_points(grid: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], ...]:
    """Every combination of the values.

    >>> grid_points({"training.epochs": [1, 2], "training.clip": [0.5]})
    ({'training.epochs': 1, 'training.clip': 0.5}, {'training.epochs': 2, 'training.clip': 0.5})
    """
    if not grid:
        return ()
    return tuple(
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    )
