"""What ``benchmarks.findings`` recorded of an experiment, and what a page wants of it.

A table stands between the comments of ``number_tables.py``; its words are::

    <!-- numbers: experiment_scores experiment=tables methods=flat:multilabel,global -->

``experiment`` names the file of ``benchmarks/experiments``. ``methods`` picks rows and may rename
them, ``corpus`` picks a corpus, ``decision`` is ``tuned`` (as the method decides, default) or
``paper`` (each level on its own, over 0.5), ``against`` the method that differences are to
(default: the baseline).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hbgl.experiments.significance import Difference
from hbgl.experiments.summary import Statistic
from tools.benchmark_rows import Run

__all__ = ["Experiment", "Method", "find_experiment"]

_WORDS = {"experiment", "methods", "corpus", "decision", "against"}


@dataclass(frozen=True)
class Method:
    """A row: one method on one corpus."""

    corpus: str
    shown_as: str
    name: str
    found: Mapping[str, Any]

    @property
    def seeds(self) -> list[int]:
        """Those that are finished."""
        return list(self.found["seeds"])

    def score(self, split: str, decision: str, name: str) -> Statistic | None:
        """Over the seeds; None where the method has no such decision."""
        one = self.found[split].get(decision, {}).get(name)
        return None if one is None else statistic(one)

    def difference(self, against: str, decision: str, name: str) -> Difference | None:
        """To another method on test; None where they were not compared."""
        test = self.found["tests"].get(against, {}).get(decision)
        return None if test is None else Difference(**test[name])


@dataclass(frozen=True)
class Experiment:
    """What is recorded of an experiment, and what a page wants of it."""

    run: Run
    words: Mapping[str, str]

    @property
    def decision(self) -> str:
        """How scores become labels."""
        return self.words.get("decision", "tuned")

    @property
    def corpora(self) -> list[str]:
        """Those with finished runs."""
        every = list(self.run["results"]["corpora"])
        return [one for one in every if self.words.get("corpus", one) == one]

    @property
    def wanted(self) -> dict[str, str]:
        """Method -> what the page calls it; in the order of the page, or of the experiment."""
        known = self.run["results"]["methods"]
        parts = [part.partition(":") for part in self.words.get("methods", "").split(",") if part]
        chosen = {name: title or name for name, _, title in parts} or {one: one for one in known}
        unknown = [one for one in chosen if one not in known]
        if unknown:
            raise SystemExit(
                f"{self.run['file']}: no method {', '.join(unknown)}; there are {', '.join(known)}"
            )
        return chosen

    def methods(self, corpus: str) -> list[Method]:
        """The wanted ones that have finished runs."""
        known = self.run["results"]["corpora"][corpus]["methods"]
        return [
            Method(corpus, title, name, known[name])
            for name, title in self.wanted.items()
            if name in known
        ]

    def rows(self) -> Iterator[Method]:
        """Of all wanted corpora."""
        for corpus in self.corpora:
            yield from self.methods(corpus)

    def against(self, method: Method) -> str:
        """What it is compared with; empty: nothing."""
        return self.words.get("against") or method.found["baseline"] or ""

    def missing(self) -> str:
        """The seeds of wanted rows that are not finished, in words."""
        seeds: dict[tuple[str, str], list[str]] = {}
        for run in self.run["results"]["missing"]:
            corpus, method, seed = run.split("/")
            seeds.setdefault((corpus, method), []).append(seed.removeprefix("seed-"))
        named = [
            f"{title} on {corpus} (seed {', '.join(seeds[corpus, method])})"
            for corpus in dict.fromkeys(corpus for corpus, _ in seeds)
            if self.words.get("corpus", corpus) == corpus
            for method, title in self.wanted.items()
            if (corpus, method) in seeds
        ]
        return f"Not finished: {'; '.join(named)}." if named else ""


def statistic(found: Mapping[str, Any]) -> Statistic:
    """As ``benchmarks.findings`` wrote it."""
    return Statistic(found["mean"], found["deviation"], tuple(found["values"]))


def find_experiment(name: str, words: Mapping[str, str], runs: Sequence[Run]) -> Experiment | str:
    """What a marker asks for, or the sentence that stands there as long as it is not there.

    :raises SystemExit: for words that mean nothing.
    """
    unknown = sorted(set(words) - _WORDS)
    if unknown or "experiment" not in words:
        what = f"{unknown[0]} means nothing" if unknown else "experiment=NAME is missing"
        raise SystemExit(f"<!-- numbers: {name} -->: {what}; there are {', '.join(sorted(_WORDS))}")
    wanted = words["experiment"]
    of_experiments = [run for run in runs if run["benchmark"] == "experiment"]
    found = [run for run in of_experiments if run["results"]["experiment"] == wanted]
    if not found:
        return f"No result of the experiment `{wanted}` is recorded yet."
    experiment = Experiment(found[-1], words)
    if not any(experiment.rows()):
        return experiment.missing() or "No run of these methods is finished."
    return experiment
