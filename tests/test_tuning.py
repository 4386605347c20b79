"""Tuning a model on dev: what it decides afterwards, and on what."""

from __future__ import annotations

import dataclasses
from typing import get_args

import numpy as np
import pytest
import torch

from hbgl.decisions import Decision
from hbgl.evaluation import LabelledTexts
from hbgl.settings import CalibrationKind, DecisionSettings, Rule, TuneFor
from hbgl.trained_model import TrainedModel
from hbgl.tuning import tune_decision
from tests.small_corpus import TAXONOMY, random_records
from tests.test_trained_model import classifier

RECORDS = random_records(120, seed=9)


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return classifier()


@pytest.fixture(scope="module")
def dev(model: TrainedModel) -> LabelledTexts:
    return model.prepare(RECORDS)


def tuned(model: TrainedModel, dev: LabelledTexts | None, settings: DecisionSettings) -> Decision:
    return tune_decision(
        model.method,
        dev,
        settings,
        device=torch.device("cpu"),
        precision="float32",
        token_budget=4096,
        seed=0,
    )[0]


@pytest.mark.parametrize("rule", get_args(Rule))
@pytest.mark.parametrize("goal", ["micro_f1", "macro_f1"])
def test_it_scores_better_on_dev_than_half_everywhere(
    rule: Rule, goal: TuneFor, model: TrainedModel, dev: LabelledTexts
) -> None:
    settings = DecisionSettings(rule=rule, tune=goal, calibration="none")
    decision = tuned(model, dev, settings)
    assert decision.rule == rule
    half = Decision.of_paper(len(TAXONOMY)).changed(TAXONOMY, rule=rule)
    scores = {
        name: getattr(model.evaluate(RECORDS, decision=one), goal)
        for name, one in (("tuned", decision), ("half", half))
    }
    assert scores["tuned"] > scores["half"]


@pytest.mark.parametrize("calibration", get_args(CalibrationKind))
def test_calibration_lowers_the_loss_on_dev(
    calibration: CalibrationKind, model: TrainedModel, dev: LabelledTexts
) -> None:
    decision = tuned(model, dev, DecisionSettings(rule="paper", calibration=calibration))

    def loss(one: Decision) -> float:
        p = model.predict_proba([record.text for record in RECORDS], decision=one)
        p = p.astype(np.float64).clip(1e-7, 1 - 1e-7)
        return float(-np.where(dev.gold.toarray(), np.log(p), np.log1p(-p)).mean())

    plain = dataclasses.replace(decision, calibration=Decision.of_paper(8).calibration)
    assert loss(decision) <= loss(plain) + 1e-6
    if calibration in ("platt", "isotonic"):
        assert loss(decision) < loss(plain) - 1e-3


def test_without_dev_the_rule_alone_is_set(model: TrainedModel) -> None:
    for settings, dev in (
        (DecisionSettings(), None),
        (DecisionSettings(), model.prepare([])),
        (DecisionSettings(tune="none", calibration="none"), model.prepare(RECORDS)),
    ):
        decision = tuned(model, dev, settings)
        assert decision.thresholds.tolist() == [0.5] * 8
        assert decision.calibration.levels == ()
        assert decision.rule == "backoff"


def test_the_report_says_what_was_gained(model: TrainedModel, dev: LabelledTexts) -> None:
    again = dataclasses.replace(model, metrics={})
    again.tune(RECORDS, DecisionSettings(rule="coherent", tune="macro_f1", granularity="level"))
    report = again.metrics["tuning"]
    assert report["documents"] == 120
    paper = model.evaluate(RECORDS, decision=Decision.of_paper(8))
    assert report["before"]["macro_f1"] == pytest.approx(paper.macro_f1)
    assert report["after"]["macro_f1"] == pytest.approx(again.evaluate(RECORDS).macro_f1)
    assert [one["level"] for one in report["levels"]] == [1, 2, 3]
    for one, start in zip(report["levels"], (0, 2, 6), strict=True):
        assert one["threshold"] == pytest.approx(again.decision.thresholds[start])
    assert again.settings.decision.rule == "coherent"


def test_it_is_repeatable(model: TrainedModel, dev: LabelledTexts) -> None:
    one, other = (tuned(model, dev, DecisionSettings()) for _ in range(2))
    assert np.array_equal(one.thresholds, other.thresholds)
    assert one.calibration == other.calibration
