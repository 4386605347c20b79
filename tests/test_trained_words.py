"""Word embeddings in training: rows in use are trained as ever, the others stay as they are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hbgl.checkpoint import TrainingFolder
from hbgl.evaluation import LabelledTexts, count_labels
from hbgl.methods import TorchMethod, build_method
from hbgl.settings import ModelSettings, TrainingSettings
from hbgl.training import Evaluated, Listener, Stepped, fit
from hbgl.training.trained_words import TrainedWords
from tests.small_corpus import TAXONOMY, deciding, labelled, random_records
from tests.tiny import tiny_backbone

SETTINGS = TrainingSettings(
    epochs=2, batch_size=4, learning_rate=3e-3, hidden_dropout=0.1, precision="float32"
)
WITHOUT_DECAY = dataclasses.replace(SETTINGS, weight_decay=0.0)


def made(family: str = "bert", **settings: Any) -> TorchMethod:
    vectors = torch.randn(len(TAXONOMY), 16, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)  # of multilabel's head
    backbone = tiny_backbone(family, with_transform="head" in settings)
    return build_method(backbone, TAXONOMY, ModelSettings(**settings), vectors)


def corpus(documents: int, seed: int = 0, family: str = "bert") -> LabelledTexts:
    return labelled(random_records(documents, seed, longest=6), tiny_backbone(family))


def words_of(method: TorchMethod) -> torch.Tensor:
    return method.encoder.parts.word_embeddings.weight.detach().clone()


def used_by(method: TorchMethod, texts: LabelledTexts) -> np.ndarray:
    return np.union1d(texts.texts.ids, method.special_ids)


class AllWords(TrainedWords):
    """The dense way: every word is trained."""

    def __init__(self, embeddings: nn.Embedding, ids: np.ndarray, special: list[int]) -> None:
        super().__init__(embeddings, np.arange(embeddings.num_embeddings), special)


# ---------------------------------------------------------------------- the rows by themselves


def test_inside_the_block_there_are_only_the_rows_in_use() -> None:
    """Of six words 1 (padding), 4, 2 and 5: their rows are 0, 2, 1 and 3."""
    embeddings = nn.Embedding(6, 3, padding_idx=1)
    before, whole = embeddings.weight.detach().clone(), embeddings.weight
    with TrainedWords(embeddings, np.array([4, 2, 4]), [5, 1]) as words:
        assert words.used.tolist() == [1, 2, 4, 5]
        assert embeddings.weight is words.rows
        assert [tuple(one.shape) for one in embeddings.parameters()] == [(4, 3)]
        found = embeddings(torch.tensor([[4, 1], [5, 2]]))
        assert torch.equal(found, before[torch.tensor([[4, 1], [5, 2]])])
        found.sum().backward()
        assert words.rows.grad is not None
        assert words.rows.grad[:, 0].tolist() == [0.0, 1.0, 1.0, 1.0]  # padding learns nothing
        with pytest.raises(IndexError):
            embeddings(torch.tensor([3]))
        with torch.no_grad():
            words.rows.add_(1.0)
    assert embeddings.weight is whole
    assert embeddings.padding_idx == 1
    assert torch.equal(embeddings.weight[[0, 3]], before[[0, 3]])
    assert torch.equal(embeddings.weight[[1, 2, 4, 5]], before[[1, 2, 4, 5]] + 1.0)
    assert torch.equal(embeddings(torch.tensor(3)), before[3])


def test_whole_shows_all_rows_as_trained_and_takes_up_what_changes() -> None:
    embeddings = nn.Embedding(5, 2)
    before = embeddings.weight.detach().clone()
    with TrainedWords(embeddings, np.array([3]), [0]) as words, torch.no_grad():
        words.rows.add_(1.0)
        with words.whole():
            assert torch.equal(embeddings(torch.arange(5))[[0, 3]], before[[0, 3]] + 1.0)
            assert torch.equal(embeddings(torch.arange(5))[[1, 2, 4]], before[[1, 2, 4]])
            embeddings.weight.mul_(2.0)  # as loading a checkpoint does
        assert embeddings.weight is words.rows
        assert torch.equal(words.rows, 2.0 * (before[[0, 3]] + 1.0))
    assert torch.equal(embeddings.weight[[1, 2, 4]], 2.0 * before[[1, 2, 4]])


# ---------------------------------------------------------------------- in training

KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "hbgl": ({}, {}),
    "sep class": ({"end_of_hierarchy": "sep-class", "loss_columns": "all"}, {}),
    "transform": ({"head": "transform"}, {}),
    "own inputs": ({"own_level_inputs": 0.5}, {}),
    "multilabel": ({"method": "multilabel"}, {}),
    "seq2seq": ({"method": "seq2seq"}, {}),
    "layer decay": ({}, {"layer_decay": 0.5}),
    "average": ({}, {"weight_average": 0.5}),
    "adam": ({}, {"optimizer": "adam"}),
    "accumulated": ({}, {"token_budget": 12}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_training_all_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without weight decay, in float32, to the rounding of the gradient's norm."""
    chosen, training = KINDS[kind]
    settings = dataclasses.replace(WITHOUT_DECAY, **training)
    ours, dense = made(**chosen), made(**chosen)
    start = words_of(ours)
    result = fit(ours, corpus(12), corpus(6, 1), settings)
    monkeypatch.setattr("hbgl.training.loop.TrainedWords", AllWords)
    expected = fit(dense, corpus(12), corpus(6, 1), settings)
    assert result.evaluations == expected.evaluations
    for name, one in dense.state_dict().items():
        if not name.endswith("key.bias"):  # nothing depends on it: its gradient is rounding noise
            torch.testing.assert_close(ours.state_dict()[name], one, atol=1e-5, rtol=0, msg=name)
    used = used_by(ours, corpus(12))
    assert len(used) < len(start) / 2
    assert not torch.allclose(words_of(ours)[used], start[used], atol=1e-4)


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert", "mpnet"])
def test_words_that_are_not_in_use_stay_bit_by_bit(family: str) -> None:
    """Weight decay would shrink them; rows in use are trained, but for padding's: it is decayed."""
    method = made(family)
    start, texts = words_of(method), corpus(12, family=family)
    settings = dataclasses.replace(SETTINGS, weight_decay=0.1)
    fit(method, texts, corpus(6, 1, family), settings)
    used = used_by(method, texts)
    others = np.setdiff1d(np.arange(len(start)), used)
    assert len(others) > len(start) / 2
    assert torch.equal(words_of(method)[others], start[others])
    moved = (words_of(method)[used] - start[used]).abs().amax(dim=1)
    assert bool((moved > 0).all())


def test_dev_is_judged_with_trained_rows_and_with_words_of_its_own() -> None:
    """An evaluation's scores are those of the finished model, which has all rows."""
    method, texts, dev = made(), corpus(12), corpus(40, 1)
    settings = dataclasses.replace(SETTINGS, epochs=8, learning_rate=1e-2)
    assert len(np.setdiff1d(dev.texts.ids, used_by(method, texts))) > 10
    widths: list[tuple[str, int]] = []

    class Look(Listener):
        def stepped(self, event: Stepped) -> None:
            widths.append(("step", len(words_of(method))))

        def evaluated(self, event: Evaluated) -> None:
            widths.append(("dev", len(words_of(method))))

    start = len(words_of(method))
    result = fit(method, texts, dev, settings, listener=Look())
    counts = count_labels(method, dev, deciding(), precision="float32", token_budget=4096)
    best = next(one for one in result.evaluations if one["step"] == result.best_step)
    assert best["step"] > 0
    assert counts.scores().micro_f1 == best["micro_f1"] > 0
    assert {width for kind, width in widths if kind == "dev"} == {start}
    assert {width for kind, width in widths if kind == "step"} == {len(used_by(method, texts))}


def test_checkpoints_hold_all_rows_and_the_moments_of_those_in_use(tmp_path: Path) -> None:
    method, texts, folder = made(), corpus(12), TrainingFolder(tmp_path)
    start = words_of(method)
    fit(method, texts, corpus(6, 1), dataclasses.replace(SETTINGS, epochs=3), folder=folder)
    last, best = folder.load_last(), folder.load_best()
    assert last is not None
    assert best is not None
    name = next(one for one in best if one.endswith("word_embeddings.weight"))
    used = used_by(method, texts)
    others = np.setdiff1d(np.arange(len(start)), used)
    for found in (best[name], last.model[name], words_of(method)):
        assert found.shape == start.shape
        assert torch.equal(found[others], start[others])
    moments = [tuple(one["exp_avg"].shape) for one in last.optimizer_state["state"].values()]
    assert (len(used), 16) in moments
    assert tuple(start.shape) not in moments


class Killed(Exception):  # noqa: N818 - like a killed process, not an error of hbgl
    pass


class KillAt(Listener):
    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, event: Stepped) -> None:
        if event.step == self.step:
            raise Killed


@pytest.mark.parametrize("kind", ["hbgl", "multilabel", "seq2seq", "average"])
def test_a_resumed_run_has_all_rows_from_its_checkpoint(kind: str, tmp_path: Path) -> None:
    """It ends with the same bits even where the model it is given has other words; and a run that
    is interrupted leaves a model with all its rows.
    """
    chosen, training = KINDS[kind]
    settings = dataclasses.replace(SETTINGS, epochs=4, evaluate_every=2, **training)
    texts, dev = corpus(12), corpus(6, 1)
    whole = made(**chosen)
    fit(whole, texts, dev, settings, folder=TrainingFolder(tmp_path / "whole"))
    method, folder = made(**chosen), TrainingFolder(tmp_path / "run")
    with pytest.raises(Killed):
        fit(method, texts, dev, settings, folder=folder, listener=KillAt(5))
    assert words_of(method).shape == words_of(whole).shape
    again = made(**chosen)
    with torch.no_grad():
        again.encoder.parts.word_embeddings.weight.normal_()
    fit(again, texts, dev, settings, folder=folder, resume=True)
    for name, one in whole.state_dict().items():
        assert torch.equal(again.state_dict()[name], one), name
