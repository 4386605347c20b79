"""The training loop: learning, accumulation, evaluation, resuming, several processes."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hbgl.batching import Batch
from hbgl.checkpoint import TrainingFolder, load_tensors
from hbgl.decisions import Decider, Decoded
from hbgl.errors import ModelFolderError, TrainingError
from hbgl.evaluation import LabelledTexts
from hbgl.losses import balanced_weights
from hbgl.methods.multilabel import Multilabel
from hbgl.model import HBGL
from hbgl.settings import ModelSettings, TrainingSettings
from hbgl.training import Evaluated, Listener, Stepped, TrainingResult, fit
from tests.small_corpus import TAXONOMY, labelled, random_records
from tests.tiny import tiny_backbone
from tests.two_processes import EXACT, Gradients, exact_run, learning_run, model

ROOT = Path(__file__).parents[1]
SETTINGS = TrainingSettings(
    epochs=3, batch_size=4, learning_rate=3e-3, hidden_dropout=0.1, precision="float32"
)
Weights = dict[str, torch.Tensor]


def corpus_of(documents: int, seed: int = 0) -> LabelledTexts:
    return labelled(random_records(documents, seed), tiny_backbone())


def hbgl(start: float = 1.0, **settings: Any) -> HBGL:
    vectors = start * torch.randn(len(TAXONOMY), 16, generator=torch.Generator().manual_seed(1))
    return HBGL(tiny_backbone(), TAXONOMY, ModelSettings(**settings), vectors)


def weights_of(method: HBGL | Multilabel) -> Weights:
    return {name: one.detach().clone() for name, one in method.state_dict().items()}


def assert_equal_bits(found: Weights, expected: Weights) -> None:
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        assert torch.equal(found[name], one), name


def assert_close(found: Weights, expected: Weights, tolerance: float) -> None:
    """But for the biases of keys: attention does not depend on them, so that their gradient is
    rounding noise, which Adam blows up to steps of full size.
    """
    for name, one in expected.items():
        if not name.endswith("key.bias"):
            torch.testing.assert_close(found[name], one, atol=tolerance, rtol=0.0, msg=name)


class Recorder(Listener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.steps: list[Stepped] = []
        self.evaluations: list[Evaluated] = []
        self.went_on: list[int] = []

    def stepped(self, event: Stepped) -> None:
        self.steps.append(event)

    def evaluated(self, event: Evaluated) -> None:
        self.evaluations.append(event)

    def resumed(self, step: int, total: int) -> None:
        self.went_on.append(step)


# ---------------------------------------------------------------------- learning


@pytest.mark.parametrize("flat", [False, True], ids=["hbgl", "multilabel"])
def test_eight_documents_are_learnt_by_heart(flat: bool) -> None:
    method, result = learning_run(flat=flat)
    assert result.best_score == 1.0
    assert result.evaluations[-1]["micro_f1"] == 1.0
    assert not method.training
    losses = [loss for _, loss, _ in result.losses]
    assert losses[-1] < losses[0] / 10


def test_accumulated_gradients_equal_those_of_one_batch() -> None:
    """16 documents under 60 tokens are many parts, under 10,000 one: equal gradients, 1e-6."""
    gradients: list[Weights] = []
    for budget in (60, 10_000):
        method = hbgl(teacher_masking=0.0)
        parts: list[torch.Tensor] = []
        method.register_forward_pre_hook(lambda _, given, parts=parts: parts.append(given[0].ids))
        found: Weights = {}
        gradients.append(found)

        class Catch(Listener):
            def stepped(
                self, event: Stepped, method: HBGL = method, found: Weights = found
            ) -> None:
                found.update(
                    (name, one.grad.clone())
                    for name, one in method.named_parameters()
                    if one.grad is not None
                )

        once = dataclasses.replace(
            SETTINGS, epochs=1, batch_size=16, token_budget=budget, hidden_dropout=0.0
        )
        fit(method, corpus_of(16), None, once, listener=Catch())
        assert (len(parts) > 2) if budget == 60 else (len(parts) == 1)
        assert all(ids.numel() <= budget for ids in parts)
    assert gradients[0].keys() == gradients[1].keys()
    for name, one in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], one, atol=1e-6, rtol=1e-5, msg=name)


def test_the_token_budget_counts_padding_to_the_longest_length() -> None:
    """Each text takes 20 tokens, so 3 fit into 60, however short they are."""
    method, shapes = hbgl(pad_to_max=True, max_length=20), []
    method.register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0].ids.shape)))
    short = labelled(random_records(8, longest=4), tiny_backbone())
    fit(method, short, None, dataclasses.replace(SETTINGS, epochs=1, token_budget=60))
    assert shapes == [(3, 20), (1, 20)] * 2


def test_without_a_length_texts_are_padded_to_what_the_positions_leave() -> None:
    """64 positions less 3 levels."""
    method, shapes = hbgl(pad_to_max=True), []
    method.register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0].ids.shape)))
    fit(method, corpus_of(4), None, dataclasses.replace(SETTINGS, epochs=1))
    assert shapes == [(4, 61)]


def test_padding_to_the_longest_length_changes_no_gradient() -> None:
    ends = []
    for padded in (False, True):
        method = hbgl(pad_to_max=padded, max_length=30, teacher_masking=0.0)
        still = dataclasses.replace(SETTINGS, hidden_dropout=0.0, epochs=1)
        fit(method, corpus_of(8), None, still)
        ends.append(weights_of(method))
    assert_close(ends[0], ends[1], 1e-5)


@pytest.mark.parametrize("clip", [0.0, 0.01])
def test_gradients_are_clipped(clip: float) -> None:
    """0.01: no gradient is longer, nor, since all are too long, shorter; 0: as they are."""
    method = hbgl()
    heard = Gradients(method)
    fit(method, corpus_of(8), None, dataclasses.replace(SETTINGS, clip=clip), listener=heard)
    assert len(heard.norms) == 6
    if clip:
        assert heard.norms == pytest.approx([clip] * 6, rel=1e-3)
    else:
        assert min(heard.norms) > 0.1


def test_dropout_is_that_of_the_settings() -> None:
    """In attention 0 unless asked for; elsewhere the backbone's own 0.1 unless asked for."""
    ends = []
    for chosen, expected in (
        ({"hidden_dropout": None}, (0.0, 0.1)),
        ({"hidden_dropout": 0.0}, (0.0, 0.0)),
        ({"hidden_dropout": 0.0, "attention_dropout": 0.5}, (0.5, 0.0)),
    ):
        method = hbgl(teacher_masking=0.0)
        settings: Any = {**chosen, "epochs": 1}
        fit(method, corpus_of(8), None, dataclasses.replace(SETTINGS, **settings))
        parts = method.encoder.parts
        for layer in parts.layers:
            assert (layer.attention_dropout.p, layer.hidden_dropout.p) == expected
        assert parts.embedding_dropout.p == expected[1]
        ends.append(weights_of(method)["label_vectors"])
    for one, other in itertools.combinations(ends, 2):
        assert not torch.allclose(one, other, atol=1e-4)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_the_encoder_computes_in_the_chosen_precision(precision: Any, dtype: torch.dtype) -> None:
    """Training and evaluation; weights, gradients and the loss stay in float32."""
    method = hbgl()
    seen: set[tuple[bool, torch.dtype]] = set()
    for layer in method.encoder.parts.layers:
        layer.query.register_forward_hook(
            lambda _, __, made: seen.add((torch.is_inference_mode_enabled(), made.dtype))
        )
    settings = dataclasses.replace(SETTINGS, precision=precision, epochs=1)
    fit(method, corpus_of(8), corpus_of(4, 1), settings)
    assert seen == {(False, dtype), (True, dtype)}
    assert {one.dtype for one in method.parameters()} == {torch.float32}


# ---------------------------------------------------------------------- evaluation


def test_dev_is_evaluated_every_epoch_and_at_the_end() -> None:
    """18 documents in batches of 4 are 5 steps; 2.4 epochs are 12: evaluations at 5, 10, 12."""
    heard = Recorder()
    settings = dataclasses.replace(SETTINGS, epochs=2.4)
    result = fit(hbgl(), corpus_of(18), corpus_of(6, 1), settings, listener=heard)
    assert [one["step"] for one in result.evaluations] == [5, 10, 12]
    assert [one.step for one in heard.evaluations] == [5, 10, 12]
    assert [one.step for one in heard.steps] == list(range(1, 13))
    assert heard.steps[-1].total == 12
    assert heard.steps[-1].epoch == 2.4
    assert [step for step, _, _ in result.losses] == list(range(1, 13))


def test_dev_is_evaluated_every_so_many_steps() -> None:
    settings = dataclasses.replace(SETTINGS, evaluate_every=4, epochs=2)
    result = fit(hbgl(), corpus_of(18), corpus_of(6, 1), settings)
    assert [one["step"] for one in result.evaluations] == [4, 8, 10]


def test_steps_take_the_place_of_epochs() -> None:
    """18 documents in batches of 4 are 5 steps an epoch; 7 steps are 1.4 epochs."""
    heard = Recorder()
    settings = dataclasses.replace(SETTINGS, steps=7)
    result = fit(hbgl(), corpus_of(18), corpus_of(6, 1), settings, listener=heard)
    assert [one.total for one in heard.steps] == [7] * 7
    assert heard.steps[-1].epoch == 1.4
    assert [one["step"] for one in result.evaluations] == [5, 7]


@pytest.mark.parametrize("empty", [False, True], ids=["no dev", "empty dev"])
def test_without_dev_the_last_weights_stay(empty: bool, tmp_path: Path) -> None:
    """And checkpoints are kept every epoch all the same."""
    folder, saved = TrainingFolder(tmp_path), []

    class Watch(Listener):
        def stepped(self, event: Stepped) -> None:
            state = folder.load_last()
            saved.append(None if state is None else state.progress["step"])

    dev = corpus_of(0) if empty else None
    method = hbgl()
    result = fit(method, corpus_of(8), dev, SETTINGS, folder=folder, listener=Watch())
    assert saved == [None, None, 2, 2, 4, 4]
    assert result.evaluations == []
    last = folder.load_last()
    assert last is not None
    assert_equal_bits(weights_of(method), last.model)
    assert folder.load_best() is None


def test_training_stops_when_dev_no_longer_improves() -> None:
    """A rate of almost nothing: the first evaluation is the best, two more are not: step 3."""
    settings = dataclasses.replace(
        SETTINGS, learning_rate=1e-12, evaluate_every=1, patience=2, epochs=9
    )
    result = fit(hbgl(), corpus_of(8), corpus_of(6, 1), settings)
    assert result.step == 3
    assert result.best_step == 1
    assert result.stale == 2


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
def test_the_best_weights_come_back(metric: Any, on_disk: bool, tmp_path: Path) -> None:
    """After step 4 the model is spoilt: it answers nothing, and the best one was before."""
    method = hbgl()
    best: Weights = {}

    class Spoil(Listener):
        def stepped(self, event: Stepped) -> None:
            assert method.label_bias is not None
            if event.step >= 4:
                with torch.no_grad():
                    method.label_bias.fill_(-100.0)

        def evaluated(self, event: Evaluated) -> None:
            if event.best:
                best.clear()
                best.update(weights_of(method))

    settings = dataclasses.replace(SETTINGS, evaluate_every=1, metric=metric)
    folder = TrainingFolder(tmp_path) if on_disk else None
    corpus = corpus_of(8)
    result = fit(method, corpus, corpus, settings, folder=folder, listener=Spoil())
    assert 1 <= result.best_step < 4
    scores = [one[metric] for one in result.evaluations]
    assert result.best_score == max(scores) == scores[result.best_step - 1]
    assert scores[-1] == 0.0
    assert_equal_bits(weights_of(method), best)


# ---------------------------------------------------------------------- refusals


def test_nothing_to_learn_from() -> None:
    with pytest.raises(TrainingError, match="no training documents; give a corpus whose train"):
        fit(hbgl(), corpus_of(0), None, SETTINGS)


def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path) -> None:
    """Nothing of it is saved; the message says what to change."""
    method = hbgl()
    with torch.no_grad():
        method.label_vectors[0, 0] = float("nan")
    folder = TrainingFolder(tmp_path)
    with pytest.raises(TrainingError, match=r"the loss is nan at step 1; lower the learning rate"):
        fit(method, corpus_of(8), None, SETTINGS, folder=folder)
    assert not folder.exists()


def test_checkpoints_of_other_options_are_refused_by_name(tmp_path: Path) -> None:
    """Down to the single option, and the data by its fingerprint."""
    then = {"training": {"seed": 0, "clip": 1.0}, "backbone": "minilm", "data": "abc"}
    folder, corpus = TrainingFolder(tmp_path), corpus_of(8)
    fit(hbgl(), corpus, None, SETTINGS, folder=folder, fingerprint=then)
    for change, named in (
        ({"training": {"seed": 0, "clip": 2.0}}, "training.clip;"),
        ({"training": {"seed": 1, "clip": 2.0}}, "training.clip, training.seed;"),
        ({"data": "abd"}, "data;"),
        ({"backbone": "other", "new": 1}, "backbone, new;"),
    ):
        with pytest.raises(TrainingError, match=f"belongs to a run with other {named}"):
            fit(
                hbgl(), corpus, None, SETTINGS, folder=folder, fingerprint={**then, **change},
                resume=True,
            )  # fmt: skip
    assert (
        fit(hbgl(), corpus, None, SETTINGS, folder=folder, fingerprint=then, resume=True).step == 6
    )


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path) -> None:
    folder, method = TrainingFolder(tmp_path), hbgl()
    optimizer = torch.optim.AdamW(method.parameters())
    folder.save_last(method.state_dict(), optimizer, {"step": 1, "fingerprint": {}})
    with pytest.raises((TrainingError, ModelFolderError)):
        fit(method, corpus_of(8), None, SETTINGS, folder=folder, resume=True)


# ---------------------------------------------------------------------- resuming


class InterruptedRun(Exception):  # noqa: N818 - like a killed process, not an error of hbgl
    pass


class Interrupt(Recorder):
    """Ends the run at a step, or between the writing of the best and of the last checkpoint."""

    def __init__(self, step: int, *, at_evaluation: bool) -> None:
        super().__init__()
        self.step, self.at_evaluation = step, at_evaluation

    def stepped(self, event: Stepped) -> None:
        if event.step == self.step and not self.at_evaluation:
            raise InterruptedRun

    def evaluated(self, event: Evaluated) -> None:
        super().evaluated(event)
        if event.step == self.step and self.at_evaluation:
            raise InterruptedRun


Started = Callable[[Path, Listener, bool], tuple[HBGL, TrainingResult]]


def resumable(settings: TrainingSettings, **chosen: Any) -> Started:
    """A run of 15 steps with dropout and teacher masking; a resumed one starts from other weights
    and random numbers, so that all of the state must come from the checkpoint.
    """
    train, dev = corpus_of(20), corpus_of(8, 1)

    def start(place: Path, listener: Listener, resume: bool) -> tuple[HBGL, TrainingResult]:
        method = hbgl(0.0 if resume and TrainingFolder(place).exists() else 1.0, **chosen)
        torch.manual_seed(99 if resume else 0)
        result = fit(
            method, train, dev, settings, folder=TrainingFolder(place), fingerprint={"a": 1},
            resume=resume, listener=listener,
        )  # fmt: skip
        return method, result

    return start


@pytest.mark.parametrize("save_every", [None, 3])
def test_a_resumed_run_ends_with_the_same_bits(save_every: int | None, tmp_path: Path) -> None:
    """15 steps, evaluated every 4. Interrupted before the first checkpoint, between the best and
    the last one, off every boundary, at the last step, and several times in a row.
    """
    settings = dataclasses.replace(SETTINGS, evaluate_every=4, save_every=save_every)
    start = resumable(settings)
    method, result = start(tmp_path / "whole", Listener(), False)
    expected = weights_of(method)
    assert result.step == 15
    for number, interruptions in enumerate(
        [
            [(1, False)],
            [(4, True)],
            [(6, False), (7, False), (12, True)],
            [(8, True), (8, True), (15, True)],
            [(15, False)],
        ]
    ):
        place = tmp_path / str(number)
        for count, (step, at_evaluation) in enumerate(interruptions):
            with pytest.raises(InterruptedRun):
                start(place, Interrupt(step, at_evaluation=at_evaluation), count > 0)
        heard = Recorder()
        method, resumed = start(place, heard, True)
        assert_equal_bits(weights_of(method), expected)
        assert resumed.losses == result.losses
        assert resumed.evaluations == result.evaluations
        assert (resumed.best_step, resumed.best_score) == (result.best_step, result.best_score)
        assert heard.went_on == ([] if interruptions[-1][0] == 1 else heard.went_on[:1])


def test_best_weights_keep_their_own_step_and_score(tmp_path: Path) -> None:
    """Killed between the best weights of step 4 and the last ones; then, as if on a machine that
    rounds otherwise, step 4 is no longer the best: the weights are still those of step 4.
    """
    settings = dataclasses.replace(SETTINGS, evaluate_every=2, epochs=3, metric="macro_f1")
    corpus = corpus_of(8)

    class Score(Listener):
        """Labels are chosen at random but for some steps, where none are."""

        def __init__(self, bad: tuple[int, ...], method: HBGL, stop: int | None = None) -> None:
            self.bad, self.method, self.stop = bad, method, stop

        def stepped(self, event: Stepped) -> None:
            assert self.method.label_bias is not None
            with torch.no_grad():
                self.method.label_bias.fill_(-100.0 if event.step in self.bad else 5.0)

        def evaluated(self, event: Evaluated) -> None:
            if event.step == self.stop:
                raise InterruptedRun

    folder = TrainingFolder(tmp_path)
    method = hbgl()
    with pytest.raises(InterruptedRun):
        fit(method, corpus, corpus, settings, folder=folder, listener=Score((2,), method, 4))
    kept = folder.load_best()
    assert kept is not None
    method = hbgl()
    result = fit(
        method, corpus, corpus, settings, folder=folder, resume=True,
        listener=Score((4, 6), method),
    )  # fmt: skip
    assert_equal_bits(weights_of(method), kept)
    assert result.best_step == 4
    found = {one["step"]: one["macro_f1"] for one in result.evaluations}
    assert found[4] == result.best_score > 0.0
    assert sorted(found) == [2, 4, 6]


def test_resuming_a_finished_run_gives_its_best_weights(tmp_path: Path) -> None:
    start = resumable(dataclasses.replace(SETTINGS, evaluate_every=4))
    method, result = start(tmp_path, Listener(), False)
    heard = Recorder()
    again, resumed = start(tmp_path, heard, True)
    assert_equal_bits(weights_of(again), weights_of(method))
    assert heard.went_on == [15]
    assert heard.steps == []
    assert resumed.evaluations == result.evaluations


def test_a_run_that_ran_out_of_patience_is_not_trained_further(tmp_path: Path) -> None:
    start = resumable(
        dataclasses.replace(SETTINGS, learning_rate=1e-12, evaluate_every=1, patience=2)
    )
    assert start(tmp_path, Listener(), False)[1].step == 3
    assert start(tmp_path, Listener(), True)[1].step == 3


def test_a_new_run_forgets_the_checkpoints_of_another(tmp_path: Path) -> None:
    """Interrupted before its own first checkpoint, it must not go on from the other's."""
    start = resumable(SETTINGS)
    start(tmp_path, Listener(), False)
    with pytest.raises(InterruptedRun):
        start(tmp_path, Interrupt(2, at_evaluation=False), False)
    heard = Recorder()
    start(tmp_path, heard, True)
    assert heard.went_on == []


# ---------------------------------------------------------------------- what is beyond the paper


class Followed(Listener):
    """Keeps the weights after each step over ``corpus``, to average them by hand."""

    def __init__(self, method: HBGL, corpus: LabelledTexts) -> None:
        self.method = method
        self.words = method.encoder.parts.word_embeddings.weight.detach().clone()
        self.used = np.union1d(corpus.texts.ids, method.special_ids)
        self.steps: list[Weights] = []

    def stepped(self, event: Stepped) -> None:
        weights = weights_of(self.method)
        name = next(one for one in weights if one.endswith("word_embeddings.weight"))
        self.words[self.used] = weights[name]  # a step has only the rows that it trains
        self.steps.append({**weights, name: self.words.clone()})


def averaged(steps: list[Weights], decay: float) -> Weights:
    """a_1 = w_1; a_t = d a + (1 - d) w_t with d = min(decay, (1 + t) / (10 + t))."""
    found = dict(steps[0])
    for step, weights in enumerate(steps[1:], start=2):
        d = min(decay, (1 + step) / (10 + step))
        found = {name: d * found[name] + (1 - d) * one for name, one in weights.items()}
    return found


@pytest.mark.parametrize("with_dev", [False, True])
def test_the_average_takes_the_place_of_the_weights(with_dev: bool, tmp_path: Path) -> None:
    """At the end, and wherever dev is evaluated; training itself goes on from the raw weights."""
    settings = dataclasses.replace(SETTINGS, weight_average=0.3, evaluate_every=2)
    plain, method = hbgl(), hbgl()
    dev = corpus_of(8, 1) if with_dev else None
    fit(plain, corpus_of(12), None, SETTINGS, listener=(raw := Followed(plain, corpus_of(12))))
    folder, seen = TrainingFolder(tmp_path), Followed(method, corpus_of(12))
    result = fit(method, corpus_of(12), dev, settings, folder=folder, listener=seen)
    for ours, theirs in zip(seen.steps, raw.steps, strict=True):
        assert_equal_bits(ours, theirs)
    kept = result.best_step if with_dev else result.step
    expected = averaged(raw.steps[:kept], 0.3)
    torch.testing.assert_close(weights_of(method), expected, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(weights_of(method)["label_vectors"], raw.steps[-1]["label_vectors"])
    last = folder.load_last()
    assert last is not None
    assert last.average is not None
    assert_equal_bits(last.model, raw.steps[-1])
    best = folder.load_best()
    assert (best is None) != with_dev
    if best is not None:
        assert_equal_bits(best, weights_of(method))


def test_dev_scores_are_those_of_the_average() -> None:
    """The weights at the time of an evaluation, as the listener finds them there."""
    method = hbgl()
    found: list[Weights] = []

    class Look(Followed):
        def evaluated(self, event: Evaluated) -> None:
            found.append(weights_of(method))

    settings = dataclasses.replace(SETTINGS, weight_average=0.9, evaluate_every=3)
    heard = Look(method, corpus_of(12))
    fit(method, corpus_of(12), corpus_of(8, 1), settings, listener=heard)
    assert len(found) == 3
    for number, weights in enumerate(found, start=1):
        expected = averaged(heard.steps[: 3 * number], 0.9)
        torch.testing.assert_close(weights, expected, atol=1e-6, rtol=1e-5)


BEYOND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "average": ({"weight_average": 0.9}, {}),
    "layer decay": ({"layer_decay": 0.7}, {}),
    "own inputs": ({}, {"level_input": "expected", "own_level_inputs": 0.8}),
    "asymmetric": ({}, {"loss": "asymmetric"}),
    "balanced": ({}, {"loss": "balanced", "balanced_beta": 0.9}),
    "children": ({}, {"loss_columns": "children"}),
}


@pytest.mark.parametrize("name", BEYOND)
def test_with_each_option_a_resumed_run_ends_with_the_same_bits(name: str, tmp_path: Path) -> None:
    """Interrupted between the best and the last checkpoint, off every boundary, and at the end.

    And the option does something: other weights than without it.
    """
    training, chosen = BEYOND[name]
    settings = dataclasses.replace(SETTINGS, evaluate_every=4, **training)
    start = resumable(settings, **chosen)
    method, result = start(tmp_path / "whole", Listener(), False)
    plain, _ = resumable(dataclasses.replace(SETTINGS, evaluate_every=4))(
        tmp_path / "plain", Listener(), False
    )
    assert not torch.equal(weights_of(method)["label_vectors"], weights_of(plain)["label_vectors"])
    for count, (step, at_evaluation) in enumerate([(4, True), (7, False), (15, False)]):
        with pytest.raises(InterruptedRun):
            start(tmp_path / "run", Interrupt(step, at_evaluation=at_evaluation), count > 0)
    again, resumed = start(tmp_path / "run", Listener(), True)
    assert_equal_bits(weights_of(again), weights_of(method))
    assert resumed.evaluations == result.evaluations
    finished, _ = start(tmp_path / "run", Listener(), True)
    assert_equal_bits(weights_of(finished), weights_of(method))


def test_a_checkpoint_without_the_average_is_refused(tmp_path: Path) -> None:
    folder, corpus = TrainingFolder(tmp_path), corpus_of(8)
    fit(hbgl(), corpus, None, SETTINGS, folder=folder)
    averaging = dataclasses.replace(SETTINGS, weight_average=0.9)
    with pytest.raises(TrainingError, match="does not hold this run's average of the weights"):
        fit(hbgl(), corpus, None, averaging, folder=folder, resume=True)


def test_the_balanced_loss_counts_the_training_documents() -> None:
    corpus = corpus_of(12)
    method = hbgl(loss="balanced", balanced_beta=0.9)
    fit(method, corpus, None, dataclasses.replace(SETTINGS, epochs=1))
    counts = corpus.gold.toarray().sum(axis=0)
    expected = torch.from_numpy(balanced_weights(counts, TAXONOMY, 0.9))
    assert method.label_loss.weights is not None
    torch.testing.assert_close(method.label_loss.weights, expected)


@pytest.mark.parametrize(("columns", "rule"), [("level", "paper"), ("children", "coherent")])
def test_the_loss_over_children_is_judged_by_coherent_answers(columns: str, rule: str) -> None:
    """Of a child whose parents are not true, that loss says nothing."""
    method, seen = hbgl(loss_columns=columns), set()
    plain = method.predict

    def predict(batch: Batch, decider: Decider) -> Decoded:
        seen.add(decider.decision.rule)
        return plain(batch, decider)

    method.predict = predict  # type: ignore[method-assign]
    fit(method, corpus_of(4), corpus_of(4, 1), dataclasses.replace(SETTINGS, epochs=1))
    assert seen == {rule}


# ---------------------------------------------------------------------- several processes


def test_two_processes_train_the_same_model(tmp_path: Path) -> None:
    """``torchrun`` over gloo: without dropout the weights of one process, with it its scores.

    The second process starts without label vectors: it is given the first one's.
    """
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "-m", "tests.two_processes", str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    method, alone, norms = exact_run(None)
    for number in range(2):
        found = json.loads((tmp_path / f"{number}.json").read_text(encoding="utf-8"))
        assert found["processes"] == 2
        assert found["hours_of_waiting"] == 24  # the first one may do a long global stage alone
        assert found["exact"] == alone.evaluations
        for theirs, ours in zip(found["losses"], alone.losses, strict=True):
            assert theirs == pytest.approx(ours, abs=1e-4)
        assert found["norms"] == pytest.approx(norms, rel=1e-3)
        assert found["learnt"][-1]["micro_f1"] == 1.0
        weights = load_tensors(tmp_path / f"{number}.safetensors")
        assert_close(weights, weights_of(method), 1e-5)
    assert EXACT.hidden_dropout == 0.0
    assert isinstance(model(), HBGL)
