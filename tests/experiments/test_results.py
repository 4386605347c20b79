"""The tables and the page say what the runs say."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hbgl.experiments.curves import bands, learning_curve, reliability
from hbgl.experiments.page import results_page
from hbgl.experiments.plan import Plan
from hbgl.experiments.plan_reader import read_plan
from hbgl.experiments.published import published_scores
from hbgl.experiments.results import write_results
from hbgl.experiments.run_folder import RunFolder
from hbgl.experiments.running import run_plan
from hbgl.experiments.summary import Statistic, Summary, summarise
from hbgl.experiments.tables import csv_table, markdown
from tests.cli.conftest import write_corpus
from tests.experiments.conftest import METHODS, QUICK
from tests.report.test_page import Checked


@pytest.fixture(scope="module")
def done(
    tmp_path_factory: pytest.TempPathFactory, backbone: Path, corpus: Path
) -> tuple[Plan, Summary]:
    """Three methods, one with a grid, on two corpora with two seeds."""
    folder = tmp_path_factory.mktemp("done")
    second = write_corpus(folder / "second", train=24, dev=8, test=10)
    tuned = {**METHODS["flat"], "grid": {"training.label_learning_rate": [1e-4, 0.05]}}
    table = {
        "title": "a <b>title</b>",
        "output": str(folder / "out"),
        "corpora": [str(corpus), str(second)],
        "seeds": [0, 1],
        "baseline": "flat",
        "settings": {"backbone": str(backbone), **QUICK},
        "methods": {**METHODS, "tuned": tuned},
    }
    plan = read_plan(table, "test")
    run_plan(plan, command="hbgl experiment <x>")
    return plan, summarise(plan, resamples=200)


def records(plan: Plan, corpus: str, method: str) -> list[dict[str, Any]]:
    return [
        RunFolder(run, plan.output).read()
        for run in plan.runs()
        if (run.corpus, run.method) == (corpus, method)
    ]


def test_mean_and_deviation_over_the_seeds(done: tuple[Plan, Summary]) -> None:
    plan, summary = done
    assert [(row.corpus, row.method) for row in summary.rows] == [
        (corpus, method) for corpus in ("wos", "second") for method in ("local", "flat", "tuned")
    ]
    for row in summary.rows:
        runs = records(plan, row.corpus, row.method)
        for decision in ("tuned", "paper"):
            for name in ("micro_f1", "macro_f1", "exact_match"):
                values = [run["scores"]["test"][decision][name] for run in runs]
                found = row.scores[decision][name]
                assert found.mean == pytest.approx(np.mean(values))
                assert found.deviation == pytest.approx(np.std(values, ddof=1))
        levels = [run["scores"]["test"]["tuned"]["levels"][1]["macro_f1"] for run in runs]
        assert row.levels[1].macro_f1.mean == pytest.approx(np.mean(levels))


def test_differences_are_those_of_the_means(done: tuple[Plan, Summary]) -> None:
    rows = {(row.corpus, row.method): row for row in done[1].rows}
    for corpus in ("wos", "second"):
        ours, flat = rows[corpus, "local"], rows[corpus, "flat"]
        assert flat.tests == {}
        for decision, test in ours.tests.items():
            for name in ("micro_f1", "macro_f1"):
                expected = ours.scores[decision][name].mean - flat.scores[decision][name].mean
                assert getattr(test, name).difference == pytest.approx(expected)
            assert test.pairs == 2


def test_markdown_and_csv_have_the_numbers(done: tuple[Plan, Summary]) -> None:
    summary = done[1]
    text = markdown(summary)
    lines = list(csv.DictReader(io.StringIO(csv_table(summary))))
    assert len(lines) == 2 * 3 * 2
    for line in lines:
        row = next(
            one
            for one in summary.rows
            if (one.corpus, one.method) == (line["corpus"], line["method"])
        )
        micro = row.scores[line["decision"]]["micro_f1"]
        assert float(line["micro_f1"]) == pytest.approx(micro.mean)
        assert f"{100 * micro.mean:.2f} ± {100 * (micro.deviation or 0):.2f}" in text
        test = row.tests.get(line["decision"])
        assert line["macro_f1_p"] == ("" if test is None else str(test.macro_f1.p))
    assert "| local | rerun | 87.27 ± 0.15 | 81.87 ± 0.29 |" in text
    assert "tuned was chosen on dev with seed 0, by the mean of Micro- and Macro-F1" in text
    assert text.count("| 0.05 |") == 2
    assert "Every choice was made on dev" in text


def test_the_page_is_whole_and_stands_alone(done: tuple[Plan, Summary]) -> None:
    summary = done[1]
    page = results_page(summary)
    checked = Checked(page)
    ids = checked.values("id")
    assert len(set(ids)) == len(ids)
    assert {link.removeprefix("#") for link in checked.values("href")} <= set(ids)
    for reference in checked.values("aria-labelledby"):
        assert set(reference.split()) <= set(ids)
    assert not checked.values("src")
    assert not {"link", "img", "iframe", "b", "x"} & checked.tags.keys() - {"b"}
    text = " ".join(" ".join(checked.text).split())
    for words in (
        "a <b>title</b>", "Micro-F1 on test", "Macro-F1 by level", "by their training documents",
        "Macro-F1 on dev while training", "Reliability of predicted labels",
        "Prediction: speed against quality", "Training: speed against quality", "Published",
        "What was tried on dev for tuned", "hbgl experiment <x>", "the baseline is flat",
    ):  # fmt: skip
        assert words in text, words
    assert checked.tags["figure"] == 2 * (2 + 2 + 1 + 2 + 1 + 2)
    for row in summary.rows:
        assert f"{100 * row.scores['tuned']['macro_f1'].mean:.2f}" in text


def test_unfinished_runs_are_named(done: tuple[Plan, Summary], plan: Callable[..., Plan]) -> None:
    whole, _ = done
    more = Plan(whole.title, whole.output, whole.corpora, (0, 1, 2), whole.methods)
    summary = summarise(more, resamples=5)
    assert len(summary.missing) == 6
    assert "wos/local/seed-2" in markdown(summary)
    assert "Not finished yet: wos/local/seed-2" in results_page(summary)
    nothing = summarise(plan(), resamples=5)
    assert "No run is finished yet." in results_page(nothing)


def test_files(done: tuple[Plan, Summary], tmp_path: Path) -> None:
    write_results(done[1], tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"results.{end}" for end in ("csv", "html", "json", "md")
    ]
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["rows"][0]["scores"]["tuned"]["micro_f1"]["values"] == list(
        done[1].rows[0].scores["tuned"]["micro_f1"].values
    )


def test_a_single_seed_has_no_deviation() -> None:
    assert Statistic.of([0.5]).deviation is None


def test_bands_go_by_training_documents() -> None:
    """F1 1 and 0.5 of labels with 3 and 4 training documents; one that test lacks is left out."""

    def label(f1: float, train: int, support: int = 1) -> dict[str, float]:
        return {"precision": f1, "recall": f1, "f1": f1, "support": support, "train": train}

    labels = {"a": label(1.0, 3), "b": label(0.5, 4), "c": label(0.2, 70), "d": label(0, 3, 0)}
    other = {name: {**one, "f1": 0.0} for name, one in labels.items()}
    found = bands([{"labels": labels}, {"labels": other}])
    assert [(one.lowest, one.highest, one.labels) for one in found] == [(2, 4, 2), (50, 99, 1)]
    assert [one.f1 for one in found] == pytest.approx([0.375, 0.1])


def test_learning_curves_meet_at_common_steps() -> None:
    def run(*steps: int) -> dict[str, Any]:
        points = [
            {"step": step, "epoch": step / 2, "micro_f1": step / 10, "macro_f1": 0.1}
            for step in steps
        ]
        return {"training": {"evaluations": points}}

    assert [(one.step, one.micro_f1) for one in learning_curve([run(2, 4), run(2)])] == [(2, 0.2)]
    assert learning_curve([{"report": {}}]) == ()


def test_reliability_is_pooled_over_runs() -> None:
    """3 pairs at 0.9 all right, and 1 at 0.5 wrong: 4 pairs, probability 0.8, 0.75 right."""

    def run(count: int, probability: float, positives: float) -> dict[str, Any]:
        one = {"lower": 0.4, "upper": 1.0, "count": count, "probability": probability}
        bins = [{**one, "positives": positives}]
        return {"calibration": {"overall": {"bins_chosen": bins}}}

    (found,) = reliability([run(3, 0.9, 1.0), run(1, 0.5, 0.0)])
    assert found.probability == pytest.approx(0.8)
    assert (found.count, found.positives) == (4, 0.75)
    assert reliability([{"calibration": None}]) == ()


def test_published_figures_belong_to_their_corpora() -> None:
    assert [one.micro_f1 for one in published_scores("HBGL", "RCV1-V2")] == [87.23, 87.0]
    assert [one.source for one in published_scores("seq2seq", "nyt")] == ["paper"]
    assert published_scores("HBGL", "wos-sample") == []
    assert published_scores(None, "wos") == []
