"""Every contender does the job that it is compared in, and the same answers come out of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from hbgl.batching import tokenize
from hbgl.bench.hugging_face import PipelinePrediction, TrainerTraining
from hbgl.bench.predicting import OurPrediction, StraightforwardPrediction
from hbgl.bench.registry import (
    ENGINES,
    PREDICTION,
    TRAINING,
    chosen_contenders,
    documents_of,
    prediction_contender,
    training_contender,
)
from hbgl.bench.training import (
    OurTraining,
    PlainTraining,
    StraightforwardTraining,
    _labelled_batch,
)
from hbgl.errors import UsageError
from hbgl.hf_trainer import fast_tokenizer
from tests.bench.conftest import Workloads


def test_ours_and_the_straightforward_one_answer_alike(workload: Workloads) -> None:
    """All 24 documents, tokenised, batched and padded each their own way."""
    ours, straightforward = OurPrediction(workload()), StraightforwardPrediction(workload())
    texts = ours.workload.texts
    for contender in (ours, straightforward):
        contender.prepare()
        contender.run(texts)
    assert len(ours.answers) == len(straightforward.answers) == 24
    for mine, theirs in zip(ours.answers, straightforward.answers, strict=True):
        assert mine.paths == theirs.paths
        assert mine.probabilities == pytest.approx(theirs.probabilities, abs=1e-4)
    # An untrained model answers as a trained one does: neither everything nor nothing.
    counts = [len(answer.labels) for answer in ours.answers]
    assert 0.5 < np.mean(counts) < 5


def test_the_flat_contender_answers(workload: Workloads) -> None:
    flat = OurPrediction(workload(), "flat")
    flat.prepare()
    flat.run(flat.workload.texts)
    assert len(flat.answers) == 24
    assert 0.5 < np.mean([len(answer.labels) for answer in flat.answers]) < 6


def test_sorting_changes_the_speed_of_a_pipeline_and_not_its_answers(workload: Workloads) -> None:
    """The same random head; bfloat16 moves a probability in the third digit."""
    found: list[Any] = []
    for improved in (False, True):
        contender = PipelinePrediction(workload(), improved=improved)
        torch.manual_seed(0)
        contender.prepare()
        contender.run(contender.workload.texts)
        found.append(contender.answers)
        assert len(contender.answers) == 24
    for plain, improved in zip(*found, strict=True):
        assert plain["score"] == pytest.approx(improved["score"], abs=0.03)


def test_hugging_face_gets_the_tokens_that_we_take(workload: Workloads) -> None:
    work = workload(max_length=12)
    theirs = fast_tokenizer(work.backbone, work.max_length)(work.texts, truncation=True)
    ours = tokenize(work.texts, work.backbone.tokenizer, work.max_length)
    rows = [ours.ids[a:b].tolist() for a, b in zip(ours.offsets, ours.offsets[1:], strict=False)]
    assert theirs["input_ids"] == rows
    assert max(map(len, rows)) == 12


def test_every_training_contender_learns_all_documents(workload: Workloads) -> None:
    """40 documents: 8 in a batch of ours are 5 steps, 8 of the Trainer's 5, 32 of the plain
    loop's 2, 12 of the paper's 4.
    """
    work = workload(training=True, documents=100)
    documents = work.labelled()
    assert len(documents) == 40
    ours, flat = OurTraining(work, "hbgl", 8), OurTraining(workload(training=True), "flat", 8)
    plain = PlainTraining(workload(training=True))
    long = StraightforwardTraining(workload(training=True))
    contenders: list[Any] = [ours, flat, plain, long]
    for contender, steps in zip(contenders, (5, 5, 2, 4), strict=True):
        contender.prepare()
        before = parameters(contender)
        contender.run(documents)
        assert len(contender.losses) == steps
        assert np.isfinite(contender.losses).all()
        assert not torch.equal(before, parameters(contender))
    trainer = TrainerTraining(workload(training=True))
    trainer.prepare()
    before = trainer._model.classifier.weight.detach().clone()
    trainer.run(documents)
    assert trainer.steps == 5
    assert not torch.equal(before, trainer._model.classifier.weight)


def parameters(contender: Any) -> torch.Tensor:
    return torch.cat([one.detach().flatten().clone() for one in contender.model.parameters()])


def test_before_any_step_both_ways_to_train_see_the_same_loss(workload: Workloads) -> None:
    """The workload's model, in evaluation mode, on the very documents of the benchmark."""
    ours = OurTraining(workload(training=True))
    long = StraightforwardTraining(workload(training=True))
    contenders: list[tuple[Any, int | None]] = [(ours, None), (long, 40)]
    losses = []
    for contender, pad_to in contenders:
        contender.prepare()
        documents = contender.workload.labelled()
        batch = _labelled_batch(documents, np.arange(12), 0, pad_to)
        with torch.no_grad():
            losses.append(float(contender.model.eval()(batch)))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("name", PREDICTION)
def test_prediction_by_name(name: str, workload: Workloads) -> None:
    contender = prediction_contender(name, workload())
    assert contender.name == name
    assert contender.precision in ("float32", "bfloat16")
    assert contender.what


@pytest.mark.parametrize("name", TRAINING)
def test_training_by_name(name: str, workload: Workloads) -> None:
    contender = training_contender(name, workload(training=True), 8)
    assert contender.name == name
    assert contender.precision in ("float32", "bfloat16")
    assert contender.what


def test_an_engine_can_be_plugged_in(workload: Workloads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "mine", lambda work: OurPrediction(work, "flat"))
    assert prediction_contender("mine", workload()).what.startswith("hbgl, flat")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["onnx", "openvino"])
def test_an_engine_answers_as_torch_does(name: str, workload: Workloads) -> None:
    pytest.importorskip({"onnx": "onnxruntime"}.get(name, name))
    ours, engine = OurPrediction(workload()), prediction_contender(name, workload())
    for contender in (ours, engine):
        contender.prepare()
        contender.run(ours.workload.texts)
    answers = getattr(engine, "answers")  # noqa: B009 - not of every contender
    assert [one.paths for one in answers] == [one.paths for one in ours.answers]


def test_unknown_contenders(workload: Workloads) -> None:
    with pytest.raises(UsageError, match="no contender 'fast'; there are: hbgl, flat, trainer"):
        training_contender("fast", workload(training=True), 8)
    with pytest.raises(UsageError, match="'fast'; engines are: onnx, onnx-int8, openvino"):
        prediction_contender("fast", workload())
    with pytest.raises(UsageError, match="no contender 'fast'; there are: hbgl, flat, pipeline"):
        chosen_contenders(PREDICTION, "flat,fast")


def test_ours_is_always_measured_and_nothing_twice() -> None:
    assert chosen_contenders(PREDICTION, None) == list(PREDICTION)
    assert chosen_contenders(PREDICTION, " long, flat,long") == ["hbgl", "long", "flat"]
    assert chosen_contenders(PREDICTION, "") == ["hbgl"]


def test_the_slow_contender_runs_an_eighth_in_whole_batches() -> None:
    """1,024 documents are 128; 100 in batches of 12 are 24 (12.5 rounded up to whole batches)."""
    assert documents_of("predict", "long", 1024) == 128
    assert documents_of("train", "long", 100) == 24
    assert documents_of("predict", "long", 10) == 10
    assert documents_of("predict", "pipeline", 1024) == 1024
