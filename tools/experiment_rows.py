"""The rows of an experiment's tables, from cells of text; scores are in percent."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hbgl.experiments.published import published_scores
from hbgl.experiments.summary import CHOSEN_BY, Statistic
from hbgl.experiments.tables import compared, shown
from tools.benchmark_rows import SCORES, cell_text
from tools.experiment_results import Experiment, Method

__all__ = ["EXPERIMENT_ROWS"]

PUBLISHED_ON = {"wos": "WOS", "nyt": "NYT", "rcv1": "RCV1-V2"}
_YARDSTICKS_CHOOSE_BY = {**CHOSEN_BY, "mean": CHOSEN_BY["mean_f1"]}
NOTHING = "-"
"""Where there is no number."""


View = Callable[[Experiment], Iterator[list[str]]]
"""Rows of a table, the head first."""


def score_rows(experiment: Experiment) -> Iterator[list[str]]:
    """Scores on test, the paired tests, and what is published for the same rows."""
    rows = list(experiment.rows())
    decision = experiment.decision
    is_compared = any(row.found["tests"].get(experiment.against(row)) for row in rows)
    published = [one for one in PUBLISHED_ON if any(_published(row, one) for row in rows)]
    yield [
        "Corpus", "Method", *SCORES.values(),
        *(["Compared with", *(f"{one}, difference" for one in SCORES.values())]
          if is_compared else []),
        "Seeds",
        *(f"Paper on {PUBLISHED_ON[one]}, Micro / Macro" for one in published),
    ]  # fmt: skip
    for row in rows:
        yield [
            row.corpus,
            row.shown_as,
            *(shown(row.score("test", decision, one)) for one in SCORES),
            *(_compared(experiment, row) if is_compared else []),
            _seeds(row.seeds),
            *(_published(row, one) or NOTHING for one in published),
        ]


def _compared(experiment: Experiment, row: Method) -> Iterator[str]:
    other = experiment.against(row)
    found = [row.difference(other, experiment.decision, name) for name in SCORES]
    yield experiment.wanted.get(other, other) if any(found) else ""
    yield from ("" if one is None else compared(one) for one in found)


def _published(row: Method, corpus: str) -> str:
    """Micro / Macro-F1 of the paper."""
    for one in published_scores(row.found["published"], corpus):
        if one.source == "paper":
            return f"{one.micro_f1:.2f} / {one.macro_f1:.2f}"
    return ""


def _seeds(seeds: Sequence[int]) -> str:
    return f"{len(seeds)}: {', '.join(map(str, seeds))}"


def change_rows(experiment: Experiment) -> Iterator[list[str]]:
    """What each switched choice changes: on dev, where choices are made, then on test."""
    others = {experiment.against(row) for row in experiment.rows()}
    rows = [
        row
        for corpus in experiment.corpora
        for row in sorted(experiment.methods(corpus), key=lambda one: one.name not in others)
    ]
    yield [
        "Corpus", "Row", "What it changes", *(f"dev {one}" for one in SCORES.values()),
        "dev, mean of both", *(f"test {one}" for one in SCORES.values()), "Seeds",
    ]  # fmt: skip
    for row in rows:
        other = experiment.against(row)
        base = _other(experiment, row.corpus, other)
        if base is None or base.name == row.name:
            scores = [shown(row.score("dev", experiment.decision, one)) for one in SCORES]
            tested = [shown(row.score("test", experiment.decision, one)) for one in SCORES]
            mean = shown(_mean_of_both(row, experiment.decision))
            what = "what the others are compared with" if row.name in others else _words(row)
            yield [row.corpus, row.shown_as, what, *scores, mean, *tested, _seeds(row.seeds)]
            continue
        gains = [_gain(row, base, experiment.decision, one) for one in (*SCORES, "mean")]
        found = [row.difference(other, experiment.decision, one) for one in SCORES]
        tested = [NOTHING if one is None else compared(one) for one in found]
        seeds = [one for one in row.seeds if one in base.seeds]
        yield [row.corpus, row.shown_as, _words(row), *gains, *tested, _seeds(seeds)]


def _other(experiment: Experiment, corpus: str, name: str) -> Method | None:
    found = experiment.run["results"]["corpora"][corpus]["methods"].get(name)
    return None if found is None else Method(corpus, name, name, found)


def _mean_of_both(row: Method, decision: str) -> Statistic | None:
    micro, macro = (row.score("dev", decision, one) for one in SCORES)
    if micro is None or macro is None:
        return None
    return Statistic.of([(a + b) / 2 for a, b in zip(micro.values, macro.values, strict=True)])


def _gain(row: Method, base: Method, decision: str, name: str) -> str:
    """Points on dev over the seeds that both have; the deviation is that of the differences."""
    sides = []
    for one in (row, base):
        is_mean = name == "mean"
        found = _mean_of_both(one, decision) if is_mean else one.score("dev", decision, name)
        sides.append({} if found is None else dict(zip(one.seeds, found.values, strict=True)))
    gains = [100 * (sides[0][seed] - sides[1][seed]) for seed in sides[0] if seed in sides[1]]
    if not gains:
        return NOTHING
    mean = f"{statistics.mean(gains):+.2f}"
    return mean if len(gains) == 1 else f"{mean} ± {statistics.stdev(gains):.2f}"


def _words(row: Method) -> str:
    """Settings that differ from the preset, or a yardstick's options."""
    found = row.found
    if "options" in found:
        return ", ".join([f"yardstick `{found['kind']}`", *_assignments(found["options"])])
    preset = [] if found["preset"] == "default" else [f"preset `{found['preset']}`"]
    return ", ".join([*preset, *_assignments(found["changes"])]) or "the preset `default`"


def _assignments(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"`{name} = {json.dumps('none' if value is None else value)}`"


def grid_rows(experiment: Experiment) -> Iterator[list[str]]:
    """What was tried on dev: the points of each grid, and what the yardsticks choose from."""
    yield ["Corpus", "Method", "Tried", "dev Micro-F1", "dev Macro-F1", "Seconds", "Chosen by"]
    for row in experiment.rows():
        for point, dev, seconds, chosen_by in _tried(row):
            scores = (f"{100 * dev[name]:.2f}" for name in SCORES)
            words = ", ".join(_assignments(point))
            yield [row.corpus, row.shown_as, words, *scores, f"{seconds:,.0f}", chosen_by]


def _tried(row: Method) -> Iterator[tuple[dict[str, Any], Mapping[str, float], float, str]]:
    """Point, its scores on dev, seconds, and how it was chosen: empty, if it was not."""
    grid, choice = row.found.get("grid"), row.found.get("choice")
    if grid:
        for number, one in enumerate(grid["points"]):
            by = f"{CHOSEN_BY[grid['metric']]}, seed {grid['seed']}"
            is_chosen = number == grid["chosen"]
            yield one["point"], one["dev"], one["seconds"], by if is_chosen else ""
    elif choice:
        # All seeds try the same; what is shown is the first one's.
        seed, chosen = next(iter(choice["chosen"].items()))
        by = f"{_YARDSTICKS_CHOOSE_BY[choice['metric']]}, seed {seed}"
        for one in choice["tried"]:
            point = {name: value for name, value in one.items() if name in chosen}
            yield point, one, one["seconds"], by if point == chosen else ""


def level_rows(experiment: Experiment) -> Iterator[list[str]]:
    """Micro- / Macro-F1 of each level, a column for each method."""
    yield ["Corpus", "Level", "Labels", *experiment.wanted.values()]
    for corpus in experiment.corpora:
        rows = {row.name: row.found["levels"] for row in experiment.methods(corpus)}
        for place, level in enumerate(next(iter(rows.values()), [])):
            yield [
                corpus, str(level["level"]), cell_text(level["labels"]),
                *(_level(rows[name][place]) if name in rows else NOTHING
                  for name in experiment.wanted),
            ]  # fmt: skip


def _level(found: Mapping[str, Any]) -> str:
    return " / ".join(f"{100 * found[name]['mean']:.2f}" for name in SCORES)


def band_rows(experiment: Experiment) -> Iterator[list[str]]:
    """Mean F1 of the labels that have so many training documents, a column for each method."""
    yield ["Corpus", "Training documents", "Labels", *experiment.wanted.values()]
    for corpus in experiment.corpora:
        rows = {
            row.name: {band["lowest"]: band for band in row.found["bands"]}
            for row in experiment.methods(corpus)
        }
        every = {lowest: band for bands in rows.values() for lowest, band in bands.items()}
        for lowest, band in sorted(every.items()):
            cells = (rows.get(name, {}).get(lowest) for name in experiment.wanted)
            is_single = lowest == band["highest"]
            yield [
                corpus,
                cell_text(lowest) if is_single else f"{lowest:,} to {band['highest']:,}",
                cell_text(band["labels"]),
                *(NOTHING if one is None else f"{100 * one['f1']:.2f}" for one in cells),
            ]


def cost_rows(experiment: Experiment) -> Iterator[list[str]]:
    """Time and memory: means over the seeds."""
    yield ["Corpus", "Method", "Training, s", "Prediction, documents/s", "Peak MiB", "Seeds"]
    for row in experiment.rows():
        costs = (row.found[one] for one in ("training_seconds", "documents_per_second", "peak_mib"))
        yield [
            row.corpus, row.shown_as, *(f"{one['mean']:,.0f}" for one in costs), _seeds(row.seeds),
        ]  # fmt: skip


def run_rows(experiment: Experiment) -> Iterator[list[str]]:
    """What was run, where and when."""
    results = experiment.run["results"]
    yield ["What", "Value"]
    finished = sum(len(row.seeds) for row in experiment.rows())
    yield ["runs", f"{finished:,} finished, {len(results['missing']):,} missing"]
    for corpus in experiment.corpora:
        found = results["corpora"][corpus]
        yield [f"{corpus}: test documents", cell_text(found["documents"])]
        settings = ", ".join(_assignments(found["settings"])) or "those of the preset"
        yield [f"{corpus}: settings, but where a row says otherwise", settings]
    for name, values in results["runs"].items():
        yield [name, "; ".join(f"`{one}`" if name == "command" else one for one in values)]


EXPERIMENT_ROWS: Mapping[str, View] = {
    "experiment_runs": run_rows,
    "experiment_scores": score_rows,
    "experiment_changes": change_rows,
    "experiment_grid": grid_rows,
    "experiment_levels": level_rows,
    "experiment_bands": band_rows,
    "experiment_costs": cost_rows,
}
