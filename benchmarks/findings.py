"""The finished runs of an experiment as one small file of ``results`` that the docs are made from.

    python -m benchmarks.findings runs/tables -o benchmarks/results/experiment_tables.json

OUTPUT is the folder that ``hbgl experiment benchmarks/experiments/NAME.toml`` wrote to. Kept are
scores, counts and choices; no text, no prediction and no name of a document or label. Runs that are
not finished are listed as missing; folders with other settings or data than the file's are refused.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.provenance import ROOT, provenance
from hbgl.corpora import open_corpus
from hbgl.durable_files import replace_file
from hbgl.errors import HBGLError
from hbgl.experiments.experiment_file import read_experiment
from hbgl.experiments.fields import flattened
from hbgl.experiments.identity import data_fingerprint
from hbgl.experiments.plan import MethodPlan, Plan
from hbgl.experiments.running import check_same_runs
from hbgl.experiments.summary import MethodRow, Statistic, Summary, summarise
from hbgl.settings import PRESETS, Settings

EXPERIMENTS = ROOT / "benchmarks" / "experiments"
ON_DEV = ("micro_f1", "macro_f1")
_NOT_COMPARED = "training.seed"


def main() -> None:
    """Read the runs, write the file, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="the folder that the experiment wrote to")
    parser.add_argument("--name", help="of the experiment; default: that of the folder")
    parser.add_argument("--file", type=Path, help="default: benchmarks/experiments/NAME.toml")
    parser.add_argument("--corpora", help="A,B: corpus folders, where the file's are elsewhere")
    parser.add_argument(
        "--against", action="append", default=[], metavar="METHOD",
        help="compare every method with this one, too; repeatable",
    )  # fmt: skip
    parser.add_argument("--resamples", type=int, default=10_000, help="of each paired test")
    parser.add_argument("-o", "--out", type=Path, help="default: experiment_NAME.json of results")
    options = parser.parse_args()
    name = options.name or options.output.resolve().name
    out = options.out or ROOT / "benchmarks" / "results" / f"experiment_{name}.json"
    try:
        plan = read_experiment(
            options.file or EXPERIMENTS / f"{name}.toml",
            output=options.output,
            corpora=options.corpora.split(",") if options.corpora else None,
        )
        results = findings(plan, name, options.against, options.resamples)
    except (HBGLError, OSError) as error:
        raise SystemExit(str(error)) from error
    command = " ".join(["python -m benchmarks.findings", *sys.argv[1:]])
    document = {"benchmark": "experiment", **provenance(command, 0), "results": results}
    text = _text(_rounded(document))
    replace_file(out, text.encode())
    finished = sum(
        len(one["seeds"])
        for corpus in results["corpora"].values()
        for one in corpus["methods"].values()
    )
    counts = {"finished": finished, "missing": len(results["missing"]), "bytes": len(text)}
    print(json.dumps({"benchmark": "experiment", "experiment": name, **counts}))


def findings(
    plan: Plan, name: str, against: Sequence[str] = (), resamples: int = 10_000
) -> dict[str, Any]:
    """What the finished runs of a plan say, as JSON values.

    :param against: methods that the others are compared with, besides their baselines.
    :raises HBGLError: if nothing is finished, or if a folder holds another run.
    """
    data = {one: data_fingerprint(open_corpus(path)) for one, path in plan.corpora.items()}
    check_same_runs(plan, data)
    summary = summarise(plan, resamples=resamples, said=_said)
    if not summary.rows:
        raise HBGLError(f"no run of this plan is finished in {plan.output}")
    tests = _tests(plan, summary, against, resamples)
    methods = {one.name: one for one in plan.methods}
    return {
        "experiment": name,
        "seeds": list(plan.seeds),
        "methods": list(methods),
        "missing": list(summary.missing),
        "runs": {key: list(values) for key, values in summary.facts.items()},
        "corpora": {
            corpus: {
                "documents": summary.of(corpus)[0].documents,
                "settings": _usual(plan, corpus),
                "methods": {
                    row.method: _method(row, methods[row.method], plan, tests[corpus, row.method])
                    for row in summary.of(corpus)
                },
            }
            for corpus in summary.corpora
        },
    }


Tests = dict[tuple[str, str], dict[str, Any]]
"""(corpus, method) -> the method it is compared with -> decision -> the paired test."""


def _tests(plan: Plan, summary: Summary, against: Sequence[str], resamples: int) -> Tests:
    found: Tests = {}
    summaries = [summary, *(_against(plan, other, resamples) for other in dict.fromkeys(against))]
    for one in summaries:
        for row in one.rows:
            of_row = found.setdefault((row.corpus, row.method), {})
            if row.baseline is not None and row.tests:
                of_row[row.baseline] = {key: asdict(test) for key, test in row.tests.items()}
    return found


def _against(plan: Plan, other: str, resamples: int) -> Summary:
    """The same with another baseline."""
    names = [one.name for one in plan.methods]
    if other not in names:
        raise HBGLError(f"--against {other}: no such method; there are {', '.join(names)}")
    methods = (
        replace(one, baseline=None if other in (one.name, one.baseline) else other)
        for one in plan.methods
    )
    return summarise(replace(plan, methods=tuple(methods)), resamples=resamples, said=_said)


def _method(row: MethodRow, method: MethodPlan, plan: Plan, tests: dict[str, Any]) -> Any:
    found = {
        "kind": row.kind,
        "baseline": row.baseline,
        "published": method.published,
        "seeds": list(row.seeds),
        "test": _scores(row.scores),
        "dev": {
            decision: {name: asdict(one) for name, one in scores.items() if name in ON_DEV}
            for decision, scores in row.dev.items()
        },
        "tests": tests,
        "levels": [asdict(one) for one in row.levels],
        "bands": [asdict(one) for one in row.bands],
        "training_seconds": asdict(row.training_seconds),
        "documents_per_second": asdict(row.documents_per_second),
        "peak_mib": asdict(row.peak_mib),
        **_choice(row),
    }
    settings = method.settings.get(row.corpus)
    if settings is None:
        return {**found, "options": dict(method.options[row.corpus])}
    preset, changes = _changes(settings, _usual(plan, row.corpus))
    return {**found, "preset": preset, "changes": changes}


def _scores(scores: Mapping[str, Mapping[str, Statistic]]) -> dict[str, Any]:
    return {
        decision: {name: asdict(one) for name, one in of_decision.items()}
        for decision, of_decision in scores.items()
    }


def _choice(row: MethodRow) -> dict[str, Any]:
    """How a grid, which all seeds share, or a yardstick, seed by seed, chose on dev."""
    for one in row.chosen:
        if "grid" in one:
            return {"grid": one["grid"]}
    reports = [(one["seed"], one["report"]) for one in row.chosen if "chosen" in one["report"]]
    if not reports:
        return {}
    first = reports[0][1]
    return {
        "choice": {
            "metric": first["metric"],
            "tried": first.get("tried", []),
            "chosen": {str(seed): report["chosen"] for seed, report in reports},
        }
    }


# ---------------------------------------------------------------------- settings


def _usual(plan: Plan, corpus: str) -> dict[str, Any]:
    """The settings that most methods of our own have alike and the default preset has not."""
    every = [_flat(one.settings[corpus]) for one in plan.methods if one.settings]
    default, found = _flat(PRESETS["default"]), {}
    for name in default:
        values = [one[name] for one in every]
        for value in values:
            if 2 * values.count(value) > len(values) and value != default[name]:
                found[name] = value
    return found


def _changes(settings: Settings, usual: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The preset that fewest settings differ from, and these: where most methods agree, from that.

    A run's record has no preset's name, only what it came to.
    """
    found = {
        preset: {
            name: value
            for name, value in _flat(settings).items()
            if value != usual.get(name, known[name])
        }
        for preset, known in ((name, _flat(one)) for name, one in PRESETS.items())
    }
    nearest = min(found, key=lambda preset: len(found[preset]))
    return nearest, found[nearest]


def _flat(settings: Settings) -> dict[str, Any]:
    found = dict(flattened(settings.to_json()))
    del found[_NOT_COMPARED]
    return found


# ---------------------------------------------------------------------- the file


def _rounded(value: Any) -> Any:
    """Six digits of every number that is not whole."""
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _text(document: Mapping[str, Any]) -> str:
    """Indented, but lists without lists or objects, and objects without objects, in a line each."""
    text = json.dumps(document, indent=1)
    for inner in (r"\[\n[^\[\]{}]*\]", r"\{\n[^{}]*\}"):
        text = re.sub(inner, lambda one: re.sub(r"\n *", " ", one[0]), text)
    return f"{text}\n"


def _said(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    main()
