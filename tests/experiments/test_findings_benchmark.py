"""``benchmarks/findings.py`` on an experiment of seconds: what it keeps is what the runs say."""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import findings
from hbgl.experiments.experiment_file import read_experiment
from hbgl.experiments.plan import Plan
from hbgl.experiments.run_folder import RunFolder
from hbgl.experiments.running import run_plan
from tests.cli.conftest import TOPICS, write_corpus
from tools import number_tables

FILE = """
output = "{folder}/tiny-tables"
corpora = ["{folder}/wos", "{folder}/second"]
seeds = [0, 1]
baseline = "flat"
settings.backbone = "{backbone}"
settings.training = {{ epochs = 2, batch_size = 8, learning_rate = 2e-2, precision = "float32" }}
settings.global_stage.steps = 2
settings.decision = {{ calibration = "none", granularity = "level" }}
per_corpus.second.training.epochs = 1

[methods.flat]
settings.model.method = "multilabel"
grid."training.label_learning_rate" = [1e-4, 0.05]

[methods.local]
published = "HBGL"
[methods.name]
settings.model.label_vectors = "name"
[methods.svm]
kind = "tfidf-svm"
options.c = [0.5, 2]
[methods.later]
settings.model.label_vectors = "random"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, backbone: Path) -> Path:
    """An experiment file whose last method is not finished, nor ``name`` with its second seed."""
    folder = tmp_path_factory.mktemp("findings")
    for name in ("wos", "second"):
        write_corpus(folder / name, train=24, dev=8, test=12)
    path = folder / "tiny-tables.toml"
    path.write_text(FILE.format(folder=folder, backbone=backbone))
    plan = read_experiment(path)
    run_plan(plan.only(["flat", "local", "svm"]), command="hbgl experiment x.toml")
    run_plan(replace(plan, seeds=(0,)).only(["name"]), command="hbgl experiment x.toml")
    return path


@pytest.fixture(scope="module")
def plan(file: Path) -> Plan:
    return read_experiment(file)


@pytest.fixture(scope="module")
def found(plan: Plan) -> dict[str, Any]:
    return findings.findings(plan, "tiny", ["local"], resamples=100)


def records(plan: Plan, corpus: str, method: str) -> list[dict[str, Any]]:
    return [
        RunFolder(run, plan.output).read()
        for run in plan.only([method]).runs()
        if run.corpus == corpus and RunFolder(run, plan.output).is_finished()
    ]


def test_scores_are_those_of_the_runs(plan: Plan, found: dict[str, Any]) -> None:
    assert list(found["corpora"]) == ["wos", "second"]
    for corpus, of_corpus in found["corpora"].items():
        assert of_corpus["documents"] == 12
        assert list(of_corpus["methods"]) == ["flat", "local", "name", "svm"]
        for method, one in of_corpus["methods"].items():
            runs = records(plan, corpus, method)
            assert one["seeds"] == [run["seed"] for run in runs]
            for split in ("test", "dev"):
                for decision in one[split]:
                    scores = one[split][decision]["macro_f1"]
                    values = [run["scores"][split][decision]["macro_f1"] for run in runs]
                    assert list(scores["values"]) == values
                    assert scores["mean"] == pytest.approx(statistics.mean(values))
                    if len(values) > 1:
                        assert scores["deviation"] == pytest.approx(statistics.stdev(values))
            assert [level["level"] for level in one["levels"]] == [1, 2]
            assert sum(band["labels"] for band in one["bands"]) <= 6


def test_what_is_missing_is_listed(found: dict[str, Any]) -> None:
    assert found["missing"] == [
        "wos/later/seed-0", "second/later/seed-0", "wos/name/seed-1", "wos/later/seed-1",
        "second/name/seed-1", "second/later/seed-1",
    ]  # fmt: skip
    assert found["methods"] == ["flat", "local", "name", "svm", "later"]


def test_compared_with_the_baseline_and_with_another(found: dict[str, Any]) -> None:
    methods = found["corpora"]["wos"]["methods"]
    assert {name: list(one["tests"]) for name, one in methods.items()} == {
        "flat": ["local"], "local": ["flat"], "name": ["flat", "local"], "svm": ["flat", "local"],
    }  # fmt: skip
    there = methods["flat"]["tests"]["local"]["tuned"]
    back = methods["local"]["tests"]["flat"]["tuned"]
    assert there["macro_f1"]["difference"] == pytest.approx(-back["macro_f1"]["difference"])
    assert (there["pairs"], methods["name"]["tests"]["flat"]["tuned"]["pairs"]) == (2, 1)
    assert list(methods["svm"]["tests"]["flat"]) == ["tuned"]


def test_choices_on_dev_and_what_differs(plan: Plan, found: dict[str, Any]) -> None:
    methods = found["corpora"]["wos"]["methods"]
    grid = methods["flat"]["grid"]
    assert [one["point"] for one in grid["points"]] == [
        {"training.label_learning_rate": 1e-4}, {"training.label_learning_rate": 0.05},
    ]  # fmt: skip
    assert grid == records(plan, "wos", "flat")[1]["training"]["grid"]
    choice = methods["svm"]["choice"]
    assert [one["c"] for one in choice["tried"]] == [0.5, 2.0]
    assert set(choice["chosen"]) == {"0", "1"}
    assert methods["flat"]["changes"] == {"model.method": "multilabel"}
    assert methods["name"]["changes"] == {"model.label_vectors": "name"}
    assert (methods["local"]["preset"], methods["local"]["changes"]) == ("default", {})
    epochs = {name: one["settings"]["training.epochs"] for name, one in found["corpora"].items()}
    assert epochs == {"wos": 2.0, "second": 1.0}


def test_the_file_and_its_tables(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "experiment_tiny-tables.json"
    arguments = [str(file.parent / "tiny-tables"), "--file", str(file), "--resamples", "50"]
    monkeypatch.setattr(sys, "argv", ["findings", *arguments, "-o", str(out)])
    findings.main()
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    text = out.read_text()
    assert said == {
        "benchmark": "experiment", "experiment": "tiny-tables", "finished": 14, "missing": 6,
        "bytes": len(text),
    }  # fmt: skip
    for word in ("test-0", "predicted", *(words for words in TOPICS.values())):
        assert word not in text  # nothing of the documents
    numbers = [word for word in text.replace(",", " ").split() if word.startswith("0.")]
    assert numbers
    assert max(len(word.removeprefix("0.").lstrip("0")) for word in numbers) == 6
    (run,) = number_tables.read_results(tmp_path)
    marker = "<!-- numbers: experiment_scores experiment=tiny-tables corpus=wos -->"
    page = number_tables.fill(f"{marker}\n<!-- end numbers -->\n", [run])
    local = run["results"]["corpora"]["wos"]["methods"]["local"]["test"]["tuned"]["micro_f1"]
    shown = f"{100 * local['mean']:.2f} ± {100 * local['deviation']:.2f}"
    assert f"| wos | local | {shown} |" in page
    assert "Not finished: name on wos (seed 1); later on wos (seed 0, 1)." in page
    assert "87.36 / 82.00" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("epochs = 2", "epochs = 3"), "holds runs with other settings or data"),
        (('tiny-tables"', 'nothing"'), "no run of this plan is finished"),
        (('baseline = "flat"', 'baseline = "none"'), "its baseline 'none' is none of the methods"),
    ],
)
def test_runs_of_something_else_are_refused(
    change: tuple[str, str],
    message: str,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = tmp_path / "other.toml"
    text = file.read_text()
    assert change[0] in text
    other.write_text(text.replace(*change))
    is_elsewhere = "nothing" in change[1]
    output = tmp_path / "nothing" if is_elsewhere else file.parent / "tiny-tables"
    out = tmp_path / "x.json"
    arguments = ["findings", str(output), "--file", str(other), "-o", str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match=message):
        findings.main()
    assert not out.exists()


def test_a_method_that_is_none_is_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, out = str(file.parent / "tiny-tables"), str(tmp_path / "x.json")
    arguments = [output, "--file", str(file), "--resamples", "5", "--against", "x", "-o", out]
    monkeypatch.setattr(sys, "argv", ["findings", *arguments])
    with pytest.raises(SystemExit, match="--against x: no such method; there are flat, local"):
        findings.main()
    monkeypatch.setattr(sys, "argv", ["findings", str(tmp_path), "--name", "no-such-experiment"])
    with pytest.raises(SystemExit, match=r"no-such-experiment\.toml"):
        findings.main()
