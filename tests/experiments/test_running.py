"""Runs: kept whole, skipped when finished, gone on with when interrupted, refused when others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hbgl.backbones import Backbone, load_backbone
from hbgl.corpora import open_corpus
from hbgl.errors import HBGLError, ModelFolderError, TrainingError, UsageError
from hbgl.experiments.answers import gold_matrix, read_predictions
from hbgl.experiments.plan import Plan
from hbgl.experiments.run_folder import RunFolder
from hbgl.experiments.running import run_plan
from hbgl.experiments.summary import summarise
from hbgl.metrics import LabelCounts
from hbgl.training import Stepped
from hbgl.training_run import RunListener

Plans = Callable[..., Plan]
FLAT: dict[str, Any] = {"flat": {"settings": {"model": {"method": "multilabel"}}}}


class Heard(RunListener):
    """Remembers; stops where it is told to."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.lines: list[str] = []
        self.steps: list[int] = []
        self.resumes: list[int] = []
        self.stop_at = stop_at

    def said(self, message: str) -> None:
        self.lines.append(message)

    def stepped(self, event: Stepped) -> None:
        self.steps.append(event.step)
        if len(self.steps) == self.stop_at:
            raise KeyboardInterrupt

    def resumed(self, step: int, total: int) -> None:
        self.resumes.append(step)

    @property
    def runs(self) -> list[str]:
        return [line.partition("] ")[2] for line in self.lines if line.startswith("[")]


def result(plan: Plan, number: int = 0) -> dict[str, Any]:
    return RunFolder(list(plan.runs())[number], plan.output).read()


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    """What must be equal of two runs that are the same."""
    kept = {key: record[key] for key in ("configuration", "scores", "corpus", "method", "seed")}
    training = record["training"]
    kept["losses"] = training["training"]["losses"]
    kept["evaluations"] = training["training"]["evaluations"]
    kept["decision"] = training["decision"]
    found: dict[str, Any] = json.loads(json.dumps(kept))
    return found


def test_what_is_kept_of_a_run(plan: Plans, corpus: Path) -> None:
    made = plan(methods=FLAT, seeds=[0])
    run_plan(made, command="hbgl experiment x.toml")
    folder = made.output / "runs" / "wos" / "flat" / "seed-0"
    assert sorted(file.name for file in folder.iterdir()) == [
        "MANIFEST.json", "dev.predictions.jsonl.gz", "run.json", "test.predictions.jsonl.gz",
    ]  # fmt: skip
    assert not folder.with_name("seed-0.training").exists()
    record = result(made)
    assert record["configuration"]["settings"]["training"]["epochs"] == 2
    assert set(record["configuration"]["data"]) == {
        "taxonomy.tsv", "train.jsonl", "dev.jsonl", "test.jsonl",
    }  # fmt: skip
    assert len(record["training"]["training"]["evaluations"]) == 2
    assert record["training"]["training"]["losses"]
    assert {split: set(one) for split, one in record["scores"].items()} == {
        "dev": {"tuned", "paper"}, "test": {"tuned", "paper"},
    }  # fmt: skip
    test = record["scores"]["test"]["tuned"]
    assert test["documents"] == 12
    assert [level["level"] for level in test["levels"]] == [1, 2]
    assert test["calibration"]["overall"]["pairs"] == 12 * 6
    assert record["peak_mib"] > 0
    assert record["seconds"]["training"] > 0
    assert record["seconds"]["documents_per_second"] > 0
    assert record["provenance"]["command"] == "hbgl experiment x.toml"
    assert {"commit", "hardware", "python"} <= record["provenance"].keys()
    assert "torch" in record["packages"]
    trained: dict[str, int] = {}
    for one in open_corpus(corpus).records("train"):
        for label in one.labels:
            trained[label] = trained.get(label, 0) + 1
    assert {label: one["train"] for label, one in test["labels"].items()} == trained


def test_predictions_score_what_the_record_says(plan: Plans, corpus: Path) -> None:
    made = plan(methods=FLAT, seeds=[0])
    run_plan(made)
    record, opened = result(made), open_corpus(corpus)
    file = made.output / "runs" / "wos" / "flat" / "seed-0" / "test.predictions.jsonl.gz"
    found = read_predictions(file, opened.taxonomy.labels)
    gold = gold_matrix(list(opened.records("test")), opened.taxonomy)
    assert np.array_equal(found["gold"].toarray(), gold.toarray())
    for decision in ("tuned", "paper"):
        counts = LabelCounts(6)
        counts.update(gold, found[decision])
        scores = record["scores"]["test"][decision]
        assert counts.scores().micro_f1 == pytest.approx(scores["micro_f1"])
        assert counts.scores().macro_f1 == pytest.approx(scores["macro_f1"])


def test_finished_runs_are_skipped_and_new_seeds_added(plan: Plans) -> None:
    run_plan(plan(methods=FLAT, seeds=[0]))
    heard = Heard()
    run_plan(plan(methods=FLAT, seeds=[0, 1]), listener=heard)
    assert heard.runs == ["wos/flat/seed-1"]
    assert heard.lines[0] == "2 runs, 1 of them finished already"
    again = Heard()
    run_plan(plan(methods=FLAT, seeds=[0, 1]), listener=again)
    assert (again.runs, again.steps) == ([], [])


@pytest.mark.parametrize("stop_at", [1, 3, 5, 8])
def test_interrupted_anywhere_ends_as_if_it_had_not_been(
    plan: Plans, tmp_path: Path, stop_at: int
) -> None:
    """Three steps an epoch, two epochs, a checkpoint every two steps; 8 is in the second run."""
    whole = plan(methods=FLAT, output=str(tmp_path / "whole"))
    run_plan(whole)
    broken = plan(methods=FLAT, output=str(tmp_path / "broken"))
    with pytest.raises(KeyboardInterrupt):
        run_plan(broken, listener=Heard(stop_at))
    heard = Heard()
    run_plan(broken, listener=heard)
    if stop_at == 8:
        assert heard.runs == ["wos/flat/seed-1"]
    assert bool(heard.resumes) == (stop_at in (3, 5))
    for number in (0, 1):
        assert without_times(result(broken, number)) == without_times(result(whole, number))


def test_another_configuration_is_refused_before_anything_runs(plan: Plans, table: Any) -> None:
    made = plan(methods=FLAT)
    run_plan(made)
    heard = Heard()
    settings = {**table()["settings"], "global_stage": {"steps": 3}}
    settings["training"] = {**settings["training"], "epochs": 3}
    with pytest.raises(UsageError) as caught:
        run_plan(plan(methods=FLAT, settings=settings, seeds=[0, 1, 2]), listener=heard)
    words = str(caught.value)
    assert "wos/flat/seed-0: global_stage.steps was 2, now 3; training.epochs was 2.0, now 3" in (
        words
    )
    assert "wos/flat/seed-1" in words
    assert "name another output, or move the folders of these methods away" in words
    assert heard.runs == []


def test_other_data_is_refused(plan: Plans, corpus: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(corpus, tmp_path / "wos"))
    made = plan(methods=FLAT, corpora=[str(own)], seeds=[0])
    run_plan(made)
    with (own / "test.jsonl").open("a") as file:
        file.write('{"text": "game", "labels": ["tennis"]}\n')
    with pytest.raises(UsageError, match=r"wos/flat/seed-0: test\.jsonl has other content"):
        run_plan(made)


def test_other_settings_of_an_interrupted_run_are_refused(plan: Plans, table: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan(methods=FLAT), listener=Heard(3))
    settings = {**table()["settings"], "training": {**table()["settings"]["training"], "clip": 2}}
    with pytest.raises(UsageError, match=r"training\.clip was 1\.0, now 2\.0"):
        run_plan(plan(methods=FLAT, settings=settings))


def test_a_damaged_result_is_named(plan: Plans) -> None:
    made = plan(methods=FLAT, seeds=[0])
    run_plan(made)
    file = made.output / "runs" / "wos" / "flat" / "seed-0" / "test.predictions.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ModelFolderError, match=r"test\.predictions\.jsonl\.gz"):
        summarise(made)


def test_two_runners_in_one_folder_are_refused(plan: Plans) -> None:
    made = plan(methods=FLAT, seeds=[0])

    class Second(Heard):
        def stepped(self, event: Stepped) -> None:
            with pytest.raises(UsageError, match="another run is writing to"):
                run_plan(made)

    run_plan(made, listener=Second())


def test_one_failure_does_not_stop_the_others(plan: Plans, backbone: Path) -> None:
    made = plan()

    def load(name: str) -> Backbone:
        if not loaded:
            loaded.append(name)
            raise TrainingError("the first run breaks")
        return load_backbone(name)

    loaded: list[str] = []
    with pytest.raises(HBGLError, match=r"1 failed:\n  wos/local/seed-0: the first run breaks"):
        run_plan(made, load=load)
    assert summarise(made, resamples=10).missing == ("wos/local/seed-0",)
    heard = Heard()
    run_plan(made, listener=heard)
    assert heard.runs == ["wos/local/seed-0"]


# ------------------------------------------------------------------ grids

GRID: dict[str, Any] = {
    "tuned": {
        "settings": {"model": {"method": "multilabel"}},
        "grid": {"training.label_learning_rate": [1e-5, 0.05], "training.epochs": [1, 2]},
    }
}


def test_the_best_point_on_dev_is_taken(plan: Plans, tmp_path: Path) -> None:
    made = plan(methods=GRID, baseline="tuned")
    heard = Heard()
    run_plan(made, listener=heard)
    assert heard.runs[:4] == [f"wos/tuned/grid/point-{number}" for number in range(4)]
    assert heard.runs[4:] == ["wos/tuned/seed-0", "wos/tuned/seed-1"]
    grid = result(made)["training"]["grid"]
    scores = [point["dev"]["mean_f1"] for point in grid["points"]]
    assert grid["chosen"] == scores.index(max(scores))
    assert (grid["metric"], grid["seed"]) == ("mean_f1", 0)
    point = grid["points"][grid["chosen"]]["point"]
    for number in (0, 1):
        record = result(made, number)
        trained = record["training"]["trained_settings"]["training"]
        assert trained["epochs"] == point["training.epochs"]
        assert trained["label_learning_rate"] == point["training.label_learning_rate"]
        assert trained["seed"] == number
    # The run with the grid's seed trained nothing anew, and is what a run of its own would be.
    assert heard.resumes == [3 * point["training.epochs"]]
    alone = {"tuned": {"settings": {"model": {"method": "multilabel"}, "training": {
        name.removeprefix("training."): value for name, value in point.items()
    }}}}  # fmt: skip
    other = plan(methods=alone, baseline="tuned", output=str(tmp_path / "alone"), seeds=[0])
    run_plan(other)
    assert result(other)["scores"] == result(made)["scores"]
    left = {file.name for file in (made.output / "runs" / "wos" / "tuned" / "grid").iterdir()}
    assert left == {f"point-{number}.json" for number in range(4)}


def test_an_interrupted_grid_goes_on(plan: Plans, tmp_path: Path) -> None:
    whole = plan(methods=GRID, baseline="tuned", output=str(tmp_path / "whole"))
    run_plan(whole)
    made = plan(methods=GRID, baseline="tuned")
    with pytest.raises(KeyboardInterrupt):
        run_plan(made, listener=Heard(8))  # point 0 has 3 steps, point 1 has 6
    heard = Heard()
    run_plan(made, listener=heard)
    assert heard.runs[0] == "wos/tuned/grid/point-1"
    assert heard.resumes[0] == 4
    assert without_times(result(made, 1)) == without_times(result(whole, 1))
    changed = {"tuned": {**GRID["tuned"], "grid": {"training.epochs": [1, 2]}}}
    with pytest.raises(UsageError, match=r"wos/tuned/seed-0: grid was"):
        run_plan(plan(methods=changed, baseline="tuned"))


# ------------------------------------------------------------------ yardsticks, processes


def test_yardsticks_are_scored_as_all_others(plan: Plans, yardsticks: list[Any]) -> None:
    methods = {
        **FLAT,
        "words": {"kind": "known-words", "options": {"C": 1}},
        "sure": {"kind": "sure-words"},
    }
    made = plan(methods=methods, seeds=[0, 4])
    run_plan(made)
    assert yardsticks[0] == {"name": "known-words", "seed": 0, "options": {"C": 1}}
    assert [one["seed"] for one in yardsticks] == [0, 0, 4, 4]
    words, sure = result(made, 1), result(made, 2)
    assert words["scores"]["test"]["tuned"]["calibration"] is None
    assert sure["scores"]["test"]["tuned"]["calibration"]["overall"]["chosen"] > 0
    assert "paper" not in words["scores"]["test"]
    assert words["training"]["report"]["words"] > 0
    rows = {row.method: row for row in summarise(made, resamples=20).rows}
    assert rows["words"].tests.keys() == {"tuned"}
    assert rows["words"].scores["tuned"]["macro_f1"].deviation == 0.0


def test_runs_in_processes_of_their_own(plan: Plans, tmp_path: Path) -> None:
    """Two at a time, with the same results as one after the other."""
    made = plan(methods=FLAT)
    heard = Heard()
    run_plan(made, processes=2, listener=heard)
    assert "wos/flat/seed-0 done" in heard.lines
    assert (made.output / "logs" / "wos_flat_seed-1.log").stat().st_size
    single = plan(methods=FLAT, output=str(tmp_path / "single"), seeds=[0])
    run_plan(single)
    assert result(made)["scores"] == result(single)["scores"]


def test_a_process_that_fails_is_named(plan: Plans, backbone: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(backbone, tmp_path / "tiny"))
    made = plan(methods=FLAT, seeds=[0, 1], settings={"backbone": str(own)})
    (own / "model.safetensors").unlink()
    with pytest.raises(HBGLError, match=r"(?s)2 failed:.*wos/flat/seed-0: .*exit code 1, log in"):
        run_plan(made, processes=2)
