"""A plan from nested tables, as an experiment file has them; all faults are found at once.

    output = "runs/mine"              # where everything goes
    corpora = ["clinc150", "data/x"]  # folders, or bundled corpora by name
    seeds = [0, 1, 2]
    baseline = "flat"                 # optional: what the other methods are compared with
    settings.backbone = "minilm"      # optional: of all methods of our own kind
    per_corpus.x.training.epochs = 8  # optional: of one corpus

    [methods.flat]
    settings.model.method = "multilabel"
    grid."training.label_learning_rate" = [2e-4, 1e-3]
    per_corpus.x.grid."training.label_learning_rate" = [5e-3]  # other values on one corpus

    [methods.svm]
    kind = "tfidf-svm"                # a yardstick; its own options instead of settings
    options.C = 1.0

A method may also have ``preset``, ``baseline``, ``per_corpus`` and ``published``. Of settings that
are given more than once, the later of these counts: preset, all methods, the method, the corpus,
the method on the corpus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hbgl.corpora import CorpusFolder, open_corpus
from hbgl.errors import HBGLError, UsageError
from hbgl.experiments.fields import checked_overrides, flattened
from hbgl.experiments.plan import OWN_KIND, MethodPlan, Plan, grid_points
from hbgl.experiments.published import PUBLISHED_ROWS
from hbgl.experiments.yardstick import yardstick_names
from hbgl.settings import PRESETS, Settings, with_overrides

__all__ = ["read_plan"]

_TOP = {"output", "corpora", "seeds", "baseline", "settings", "per_corpus", "methods", "title"}
_OF_A_METHOD = {"kind", "preset", "baseline", "settings", "per_corpus", "options", "grid"} | {
    "published"
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_IN_A_GRID = ("training.seed", "training.metric", "decision.", "backbone")
_NEEDED = ("train", "dev", "test")


def read_plan(table: Mapping[str, Any], source: str, *, other_corpora: bool = False) -> Plan:
    """The plan of a table.

    :param source: its name in the message.
    :param other_corpora: its corpora were replaced: what it says of those it had is no fault.
    :raises UsageError: with every fault of the plan, and of the corpora that it names.
    """
    reader = _Reader(table, other_corpora)
    plan = reader.plan()
    if reader.faults or plan is None:
        lines = "\n".join(f"  {fault}" for fault in dict.fromkeys(reader.faults))
        raise UsageError(f"{source} cannot be run; correct:\n{lines}")
    return plan


class _Reader:
    """Reads one table; what is wrong goes to ``faults``."""

    def __init__(self, table: Mapping[str, Any], other_corpora: bool) -> None:
        self.table, self.other_corpora = table, other_corpora
        self.faults: list[str] = []

    def plan(self) -> Plan | None:
        """The plan, as far as it can be read."""
        self._known(self.table, _TOP, "at the top")
        corpora = dict(self._corpora())
        seeds = self._seeds()
        tables = self._table(self.table, "methods", "")
        if not tables:
            self.faults.append("no methods: add a table [methods.NAME] for each")
        self._corpus_names(self.table, corpora, "")
        methods = [self._method(name, tables, corpora) for name in tables]
        output = self.table.get("output")
        if not isinstance(output, str) or not output:
            self.faults.append('output must name a folder, such as output = "runs/mine"')
        if self.faults:
            return None
        return Plan(
            str(self.table.get("title") or Path(str(output)).name),
            Path(str(output)),
            corpora,
            seeds,
            tuple(one for one in methods if one is not None),
        )

    # ------------------------------------------------------------------ the parts

    def _corpora(self) -> Iterator[tuple[str, str]]:
        named = self.table.get("corpora")
        if not isinstance(named, list) or not named or not all(isinstance(c, str) for c in named):
            self.faults.append('corpora must be a list of names, such as ["clinc150"]')
            return
        seen: dict[str, str] = {}
        for source in named:
            try:
                corpus = open_corpus(source)
            except HBGLError as error:
                self.faults.append(f"corpus {source}: {error}")
                continue
            name = _corpus_name(source, corpus)
            missing = [split for split in _NEEDED if split not in corpus.splits]
            if missing:
                self.faults.append(
                    f"corpus {source} has no {' and no '.join(missing)}; "
                    "`hbgl data split` makes what is missing"
                )
            if not _NAME.fullmatch(name):
                self.faults.append(f"corpus {source}: call its folder by letters, digits and -_.")
            if name in seen:
                self.faults.append(f"two corpora are called {name}: {seen[name]} and {source}")
            seen[name] = source
            yield name, source

    def _seeds(self) -> tuple[int, ...]:
        seeds = self.table.get("seeds", [0])
        fits = isinstance(seeds, list) and seeds
        if not fits or not all(type(one) is int and one >= 0 for one in seeds):
            self.faults.append("seeds must be a list of whole numbers from 0 up, such as [0, 1, 2]")
            return (0,)
        if len(set(seeds)) < len(seeds):
            self.faults.append(f"seeds {seeds} name one twice")
        return tuple(seeds)

    def _method(
        self, name: str, tables: Mapping[str, Any], corpora: Mapping[str, str]
    ) -> MethodPlan | None:
        where = f"method {name}: "
        if not _NAME.fullmatch(name):
            self.faults.append(f"{where}a name has letters, digits and -_. only")
        table = self._table(tables, name, "methods: ")
        self._known(table, _OF_A_METHOD, f"of method {name}")
        self._corpus_names(table, corpora, where)
        kind = table.get("kind", OWN_KIND)
        baseline = self._baseline(name, table, tables, where)
        published = table.get("published")
        if published is not None and published not in PUBLISHED_ROWS:
            self.faults.append(
                f"{where}published must be one of {', '.join(PUBLISHED_ROWS)}, not {published!r}"
            )
        if kind == OWN_KIND:
            return self._own(name, table, corpora, baseline, published)
        return self._yardstick(name, kind, table, corpora, baseline, published)

    def _own(
        self,
        name: str,
        table: Mapping[str, Any],
        corpora: Mapping[str, str],
        baseline: str | None,
        published: str | None,
    ) -> MethodPlan | None:
        where = f"method {name}: "
        if "options" in table:
            self.faults.append(f"{where}options are of yardsticks; use settings")
        preset_name = table.get("preset", "default")
        if preset_name not in PRESETS:
            self.faults.append(f"{where}no preset {preset_name!r}; there are {', '.join(PRESETS)}")
            return None
        grid = self._grid(self._table(table, "grid", where), where)
        grids: dict[str, dict[str, Any]] = {}
        settings: dict[str, Settings] = {}
        for corpus in corpora or {"": ""}:
            of_corpus, own_grid = self._apart(self._of_corpus(table, corpus, where))
            grids[corpus] = self._grid(own_grid, f"{where}{corpus}: ")
            layers = [
                self._overrides(self._table(self.table, "settings", ""), ""),
                self._overrides(self._table(table, "settings", where), where),
                self._overrides(self._of_corpus(self.table, corpus, ""), f"{corpus}: "),
                self._overrides(of_corpus, f"{where}{corpus}: "),
            ]
            try:
                found = PRESETS[preset_name]
                for layer in layers:
                    found = with_overrides(found, layer)
                for point in grid_points({**grid, **grids[corpus]}):
                    with_overrides(found, point)
            except UsageError as error:
                self.faults.append(f"{where}{error}")
                continue
            settings[corpus] = found
        grids = {corpus: one for corpus, one in grids.items() if one}
        return MethodPlan(name, OWN_KIND, baseline, settings, {}, grid, grids, published)

    def _yardstick(
        self,
        name: str,
        kind: Any,
        table: Mapping[str, Any],
        corpora: Mapping[str, str],
        baseline: str | None,
        published: str | None,
    ) -> MethodPlan:
        where, known = f"method {name}: ", yardstick_names()
        if kind not in known:
            kinds = ", ".join([OWN_KIND, *known])
            self.faults.append(f"{where}no kind {kind!r}; there are {kinds}")
        for key in ("settings", "preset", "grid"):
            if key in table:
                self.faults.append(f"{where}{key} is not for yardsticks; give options")
        options = {
            corpus: {
                **self._table(table, "options", where),
                **self._of_corpus(table, corpus, where),
            }
            for corpus in corpora
        }
        return MethodPlan(name, str(kind), baseline, {}, options, published=published)

    def _baseline(
        self, name: str, table: Mapping[str, Any], tables: Mapping[str, Any], where: str
    ) -> str | None:
        baseline = table.get("baseline", self.table.get("baseline"))
        if baseline is not None and baseline not in tables:
            self.faults.append(f"{where}its baseline {baseline!r} is none of the methods")
            return None
        return None if baseline == name else baseline

    def _grid(self, table: Mapping[str, Any], where: str) -> dict[str, list[Any]]:
        grid = {}
        for field, values in flattened(table):
            if not isinstance(values, list) or not values:
                self.faults.append(f"{where}grid {field} must be a list of values")
            elif field.startswith(_NOT_IN_A_GRID):
                self.faults.append(f"{where}{field} cannot be chosen by a grid")
            else:
                checked = [self._overrides({field: one}, f"{where}grid: ") for one in values]
                grid[field] = [one[field] for one in checked if field in one]
        return grid

    @staticmethod
    def _apart(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings of a corpus, and the grid among them."""
        settings, grid = {}, {}
        for name, value in flattened(table):
            if name.startswith("grid."):
                grid[name.removeprefix("grid.")] = value
            else:
                settings[name] = value
        return settings, grid

    # ------------------------------------------------------------------ small checks

    def _overrides(self, table: Mapping[str, Any], where: str) -> dict[str, Any]:
        found, faults = checked_overrides(table)
        if "training.seed" in found:
            faults.append("training.seed is set by seeds; leave it out")
        self.faults += [f"{where}{fault}" for fault in faults]
        return found

    def _table(self, table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
        value = table.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.faults.append(f"{where}{key} must be a table, not {value!r}")
        return {}

    def _of_corpus(self, table: Mapping[str, Any], corpus: str, where: str) -> Mapping[str, Any]:
        return self._table(self._table(table, "per_corpus", where), corpus, where)

    def _corpus_names(
        self, table: Mapping[str, Any], corpora: Mapping[str, str], where: str
    ) -> None:
        for name in self._table(table, "per_corpus", where):
            if corpora and name not in corpora and not self.other_corpora:
                self.faults.append(
                    f"{where}per_corpus.{name}: no such corpus; there are {', '.join(corpora)}"
                )

    def _known(self, table: Mapping[str, Any], keys: set[str], where: str) -> None:
        self.faults += [
            f"{key} {where} means nothing; there are {', '.join(sorted(keys))}"
            for key in table
            if key not in keys
        ]


def _corpus_name(source: str, corpus: CorpusFolder) -> str:
    """A bundled corpus goes by its own name, another one by that of its folder."""
    return corpus.path.resolve().name if Path(source).is_dir() else source
