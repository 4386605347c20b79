"""What the finished runs of a plan say together: means, deviations, tests against the baseline.

All scores are of the test split, once for each run; what was chosen was chosen on dev before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hbgl.experiments.answers import DECISIONS, read_predictions
from hbgl.experiments.curves import BandScore, CurvePoint, bands, learning_curve, reliability
from hbgl.experiments.plan import MethodPlan, Plan
from hbgl.experiments.published import PublishedScore, published_scores
from hbgl.experiments.run_folder import RunFolder
from hbgl.experiments.significance import PairedTest, paired_test
from hbgl.metrics.result import ReliabilityBin

__all__ = ["CHOSEN_BY", "METRICS", "LevelScore", "MethodRow", "Statistic", "Summary", "summarise"]

METRICS: dict[str, str] = {
    "micro_f1": "Micro-F1",
    "macro_f1": "Macro-F1",
    "macro_f1_supported": "Macro-F1, labels with support",
    "hierarchical_f1": "Hierarchical F1",
    "exact_match": "Exactly right",
    "ece_chosen": "Calibration error",
}
"""The scores of the tables, by their keys in the JSON."""

CHOSEN_BY = {**METRICS, "mean_f1": "the mean of Micro- and Macro-F1"}
"""What the points of a grid are chosen by."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number over the seeds."""

    mean: float
    deviation: float | None
    """the sample's, over n - 1; None of a single value"""
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Statistic:
        """Mean and deviation.

        >>> Statistic.of([0.9, 0.92]).deviation
        0.014142135623730963
        """
        known = tuple(float(one) for one in values)
        deviation = float(np.std(known, ddof=1)) if len(known) > 1 else None
        return cls(float(np.mean(known)), deviation, known)


@dataclass(frozen=True, slots=True)
class LevelScore:
    """The scores of one level, roots being level 1."""

    level: int
    labels: int
    micro_f1: Statistic
    macro_f1: Statistic


@dataclass(frozen=True)
class MethodRow:
    """One method on one corpus."""

    corpus: str
    method: str
    kind: str
    baseline: str | None
    seeds: tuple[int, ...]
    documents: int
    scores: dict[str, dict[str, Statistic]]
    """decision -> score -> over the seeds"""
    dev: dict[str, dict[str, Statistic]]
    levels: tuple[LevelScore, ...]
    bands: tuple[BandScore, ...]
    curve: tuple[CurvePoint, ...]
    reliability: tuple[ReliabilityBin, ...]
    training_seconds: Statistic
    documents_per_second: Statistic
    peak_mib: Statistic
    tests: dict[str, PairedTest]
    """decision -> against the baseline; none where there is nothing to pair"""
    published: tuple[PublishedScore, ...]
    chosen: tuple[dict[str, Any], ...]
    """how a grid, or a yardstick, chose on dev; one for each seed"""


@dataclass(frozen=True)
class Summary:
    """An experiment as far as it is done."""

    title: str
    rows: tuple[MethodRow, ...]
    missing: tuple[str, ...]
    """runs of the plan that are not finished"""
    facts: dict[str, tuple[str, ...]]
    """commit, hardware, packages, dates: every value that occurs"""

    @property
    def corpora(self) -> list[str]:
        """In the order of the plan."""
        return list(dict.fromkeys(row.corpus for row in self.rows))

    def of(self, corpus: str) -> list[MethodRow]:
        """The methods on a corpus."""
        return [row for row in self.rows if row.corpus == corpus]

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "title": self.title,
            "decisions": DECISIONS,
            "missing": list(self.missing),
            "facts": {name: list(values) for name, values in self.facts.items()},
            "rows": [asdict(row) for row in self.rows],
        }


Records = dict[int, dict[str, Any]]
"""seed -> ``run.json``"""


def summarise(
    plan: Plan, *, resamples: int = 10_000, said: Callable[[str], None] = lambda _: None
) -> Summary:
    """Read what is finished."""
    folders: dict[tuple[str, str], dict[int, RunFolder]] = {}
    missing = []
    for run in plan.runs():
        folder = RunFolder(run, plan.output)
        if folder.is_finished():
            folders.setdefault((run.corpus, run.method), {})[run.seed] = folder
        else:
            missing.append(run.name)
    rows: list[MethodRow] = []
    everything: list[dict[str, Any]] = []
    for corpus in plan.corpora:
        for method in plan.methods:
            own = folders.get((corpus, method.name), {})
            if not own:
                continue
            records = {seed: folder.read() for seed, folder in own.items()}
            everything += records.values()
            other = folders.get((corpus, method.baseline), {}) if method.baseline else {}
            if other:
                said(f"{corpus}: {method.name} against {method.baseline}")
            tests = _tests(records, own, other, resamples)
            rows.append(_row(corpus, method, records, tests))
    return Summary(plan.title, tuple(rows), tuple(missing), _facts(everything))


def _row(
    corpus: str, method: MethodPlan, records: Records, tests: dict[str, PairedTest]
) -> MethodRow:
    runs = list(records.values())
    tested = [run["scores"]["test"]["tuned"] for run in runs]
    return MethodRow(
        corpus=corpus,
        method=method.name,
        kind=method.kind,
        baseline=method.baseline,
        seeds=tuple(records),
        documents=tested[0]["documents"],
        scores=_scores(runs, "test"),
        dev=_scores(runs, "dev"),
        levels=tuple(_levels(tested)),
        bands=bands(tested),
        curve=learning_curve([run["training"] for run in runs]),
        reliability=reliability(tested),
        training_seconds=Statistic.of([run["seconds"]["training"] for run in runs]),
        documents_per_second=Statistic.of([run["seconds"]["documents_per_second"] for run in runs]),
        peak_mib=Statistic.of([run["peak_mib"] for run in runs]),
        tests=tests,
        published=tuple(published_scores(method.published, corpus)),
        chosen=tuple(_choices(runs)),
    )


def _scores(runs: Sequence[dict[str, Any]], split: str) -> dict[str, dict[str, Statistic]]:
    found: dict[str, dict[str, Statistic]] = {}
    for decision in DECISIONS:
        decided = [run["scores"][split].get(decision) for run in runs]
        if any(one is None for one in decided):
            continue
        values = {name: [_score(one, name) for one in decided] for name in METRICS}
        found[decision] = {
            name: Statistic.of([one for one in of_name if one is not None])
            for name, of_name in values.items()
            if all(one is not None for one in of_name)
        }
    return found


def _score(scores: dict[str, Any], name: str) -> float | None:
    if name == "hierarchical_f1":
        return float(scores["hierarchical"]["micro"]["f1"])
    if name == "ece_chosen":
        calibration = scores["calibration"]
        return None if calibration is None else float(calibration["overall"]["ece_chosen"])
    return float(scores[name])


def _levels(tested: Sequence[dict[str, Any]]) -> Iterator[LevelScore]:
    for of_level in zip(*(one["levels"] for one in tested), strict=True):
        yield LevelScore(
            of_level[0]["level"],
            of_level[0]["labels"],
            Statistic.of([one["micro_f1"] for one in of_level]),
            Statistic.of([one["macro_f1"] for one in of_level]),
        )


def _tests(
    records: Records, own: dict[int, RunFolder], other: dict[int, RunFolder], resamples: int
) -> dict[str, PairedTest]:
    """Of the seeds that both methods have."""
    seeds = [seed for seed in own if seed in other]
    if not seeds:
        return {}
    labels = list(records[seeds[0]]["scores"]["test"]["tuned"]["labels"])
    answers = {
        name: [read_predictions(folders[seed].path / _TEST, labels) for seed in seeds]
        for name, folders in (("own", own), ("other", other))
    }
    return {
        decision: paired_test(
            answers["own"][0]["gold"],
            [one[decision] for one in answers["own"]],
            [one[decision] for one in answers["other"]],
            resamples=resamples,
        )
        for decision in DECISIONS
        if all(decision in one for side in answers.values() for one in side)
    }


_TEST = "test.predictions.jsonl.gz"


def _choices(runs: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for run in runs:
        training = run["training"]
        for key in ("grid", "report"):
            if key in training:
                yield {"seed": run["seed"], key: training[key]}


def _facts(runs: Sequence[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for run in runs:
        made = run["provenance"]
        values = {
            "command": made["command"],
            "commit": made["commit"],
            "hardware": ", ".join(f"{name} {value}" for name, value in made["hardware"].items()),
            "packages": ", ".join(f"{name} {value}" for name, value in run["packages"].items()),
            "date": made["date"],
        }
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {name: tuple(dict.fromkeys(values)) for name, values in found.items()}
