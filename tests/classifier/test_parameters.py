"""Constructor parameters -> settings and decisions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hbgl import HBGLClassifier
from hbgl.classifier.parameters import (
    check_choices,
    check_threshold,
    decision_of,
    overrides_of,
    plain,
    settings_of,
)
from hbgl.decisions import Calibration, Decision, LevelMap
from hbgl.settings import PRESETS, Settings, with_overrides
from tests.small_corpus import TAXONOMY


def parameters(**changed: Any) -> dict[str, Any]:
    return dict(HBGLClassifier(**changed).get_params(deep=False))


def settings(**changed: Any) -> Settings:
    faults: list[str] = []
    found = settings_of(parameters(**changed), faults)
    assert faults == []
    return found


def faults_of(**changed: Any) -> list[str]:
    faults: list[str] = []
    settings_of(parameters(**changed), faults)
    check_choices(parameters(**changed), faults)
    return faults


def test_nothing_given_is_the_preset() -> None:
    assert settings() == PRESETS["default"]
    assert settings(preset="paper") == PRESETS["paper"]


def test_parameters_are_settings() -> None:
    found = settings(
        preset="authors",
        backbone="b",
        epochs=3,
        batch_size=np.int64(7),
        learning_rate=np.float32(0.5),
        max_length=20,
        seed=9,
        rule="leaf",
        most_paths=2,
        calibrated=False,
        settings={"model.head": "dot", "global_stage.steps": 5, "training.patience": None},
    )
    assert (found.backbone, found.training.epochs, found.training.batch_size) == ("b", 3.0, 7)
    assert (found.training.learning_rate, found.model.max_length) == (0.5, 20)
    assert (found.training.seed, found.decision.rule, found.decision.most_paths) == (9, "leaf", 2)
    assert found.decision.calibration == "none"
    assert (found.model.head, found.global_stage.steps) == ("dot", 5)
    assert found.model.name_vector == "sum"
    assert type(found.training.batch_size) is int
    assert type(found.training.epochs) is float


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"preset": "best"}, "preset must be one of default, paper, authors, not 'best'"),
        ({"epochs": "4"}, "epochs must be a number, not '4'"),
        ({"epochs": True}, "epochs must be a number, not True"),
        ({"epochs": math.nan}, "epochs must be a number, not nan"),
        ({"epochs": -1}, "epochs must be positive, not -1.0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number, not 2.5"),
        ({"max_length": "a"}, "max_length must be a whole number or None, not 'a'"),
        ({"backbone": 3}, "backbone must be a text, not 3"),
        ({"rule": "best"}, "rule must be one of paper, closed, coherent, backoff, leaf"),
        ({"rule": 3}, "rule must be one of paper"),
        ({"most_paths": -1}, "most paths must be 1 or more, not -1"),
        ({"calibrated": "no"}, "calibrated must be True or False, not 'no'"),
        ({"output": "sets"}, "output must be one of matrix, sparse, labels, paths, not 'sets'"),
        ({"scoring": "f1"}, "scoring must be one of micro_f1, macro_f1"),
        ({"dev_size": 1.0}, "dev_size must be a share from 0 to below 1 or a number of texts"),
        ({"dev_size": -1}, "dev_size must be a share"),
        ({"settings": [1]}, r"settings must be a dict of names and values, not [1]"),
        ({"settings": {"model.haed": 1}}, "there is no 'model.haed'; did you mean 'model.head'?"),
        ({"settings": {"zzz": 1}}, "settings: there is no 'zzz'"),
        (
            {"epochs": 2, "settings": {"training.epochs": 3}},
            "settings: 'training.epochs' is given as epochs, too",
        ),
        ({"settings": {"model.head": "x"}}, "head must be one of dot, transform, not 'x'"),
        ({"settings": {"model.label_bias": 1}}, "settings 'model.label_bias' must be True or"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, Any], named: str) -> None:
    (fault,) = faults_of(**changed)
    assert named in fault


def test_all_faults_at_once() -> None:
    """A wrong type does not hide what else is wrong."""
    found = faults_of(preset="x", epochs="4", batch_size=-1, seed=None, output="y", dev_size="z")
    assert len(found) == 5


@pytest.mark.parametrize(
    ("threshold", "named"),
    [
        (1.5, "threshold must be in 0..1, not 1.5"),
        (math.nan, "threshold must be in 0..1"),
        ("high", "threshold must be in 0..1, not 'high'"),
        (True, "threshold must be in 0..1, not True"),
        ([0.5, 0.5], "2 thresholds by level, but the taxonomy has 3"),
        ({"elms": 0.5}, "threshold: unknown label"),
        ({"cats": None}, "threshold must be in 0..1, not None"),
    ],
)
def test_thresholds_that_are_none(threshold: Any, named: str) -> None:
    faults: list[str] = []
    check_threshold(threshold, TAXONOMY, faults)
    assert named in faults[0]


@pytest.mark.parametrize("three", [[0.1, 0.2, 0.3], (0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])])
def test_decisions_from_parameters(three: Any) -> None:
    """Level 2 has the labels 2 to 5; cats, which is 2, gets a threshold of its own."""
    maps = Calibration((LevelMap("temperature", 0.5),) * 3)
    own = Decision(np.full(8, 0.4, np.float32), "backoff", maps)
    faults: list[str] = []

    def decide(**changed: Any) -> Decision:
        return decision_of(parameters(**changed), own, TAXONOMY, faults)

    assert decide() is own
    assert decide(rule="leaf").rule == "leaf"
    assert decide(most_paths=np.int64(3)).most_paths == 3
    assert decide(most_paths=0).most_paths is None
    assert decide(calibrated=False).calibration == Calibration()
    assert decide(threshold=three).thresholds[[0, 2, 5, 7]].tolist() == pytest.approx(
        [0.1, 0.2, 0.2, 0.3]
    )
    assert decide(threshold={"cats": 0.9}).thresholds.tolist() == pytest.approx(
        [0.4, 0.4, 0.9, 0.4, 0.4, 0.4, 0.4, 0.4]
    )
    assert faults == []
    decide(rule="best", most_paths=-1, calibrated=1, threshold=2)
    assert len(faults) == 4


def test_settings_lead_to_parameters_and_back() -> None:
    for wanted in (
        PRESETS["default"],
        PRESETS["authors"],
        with_overrides(Settings(), {"training.seed": 4, "decision.rule": "leaf"}),
    ):
        found = overrides_of(wanted)
        assert settings(**found) == wanted
        assert "rule" not in found  # the decision is the model's own


def test_plain_values() -> None:
    found = plain({"a": np.float64(0.5), "b": [np.int8(1), (np.True_,)], "c": np.arange(2)})
    assert found == {"a": 0.5, "b": [1, [True]], "c": [0, 1]}
