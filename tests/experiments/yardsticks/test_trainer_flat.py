"""The flat classifier through Hugging Face's Trainer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from hbgl import hf_trainer
from hbgl.backbones import load_backbone
from hbgl.corpora import CorpusFolder
from hbgl.errors import BackboneError
from hbgl.experiments.yardsticks import FittedYardstick, fit_yardstick
from hbgl.hf_trainer import fast_tokenizer, train_by_trainer
from tests.experiments.yardsticks.corpora import DEV, closed_sets, corpus_folder
from tests.small_corpus import eight_records, labelled
from tests.tiny import tiny_folder

_HEAD = ("classifier", "bert.pooler.dense")
TEXTS = [text for text, _ in DEV]
LEARNING = {"learning_rate": 0.003, "head_learning_rate": 0.03}
"""Rates at which a tiny encoder with random weights overfits."""


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbone") / "tiny"
    tiny_folder(folder, hidden=64)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusFolder:
    return corpus_folder(tmp_path / "c")


def fit(corpus: CorpusFolder, backbone: Path, **options: Any) -> FittedYardstick:
    options = {"backbone": str(backbone), "epochs": 1, **options}
    return fit_yardstick("trainer-flat", corpus, seed=3, options=options, said=lambda line: None)


def test_learns_and_closes(corpus: CorpusFolder, backbone: Path) -> None:
    """Most of the seven texts get their labels: what exceeds 0.5, with its ancestors."""
    fitted = fit(corpus, backbone, epochs=40, **LEARNING)
    shares = fitted.probabilities(TEXTS)
    assert shares is not None
    assert shares.shape == (7, 8)
    assert shares.dtype == np.float32
    labels = corpus.taxonomy.labels
    sure = [[labels[i] for i in np.flatnonzero(row > 0.5)] for row in shares]
    chosen = fitted.choose(TEXTS)
    found = [{labels[i] for i in row.indices} for row in chosen]
    assert found == closed_sets(corpus, sure)
    gold = closed_sets(corpus, [labels for _, labels in DEV])
    assert sum(one == other for one, other in zip(found, gold, strict=True)) > 3
    assert not chosen[:, corpus.taxonomy.id("herbs")].nnz
    # 14 documents in batches of 8 are two steps an epoch.
    assert fitted.report["steps"] == 80
    assert "tried" not in fitted.report
    json.dumps(fitted.report)


def test_ancestors_are_added_to_what_exceeds_one_half(
    corpus: CorpusFolder, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probabilities of puppies 0.9, dogs 0.2, animals 0.1, oaks 0.5: {animals, dogs, puppies}."""
    fitted = fit(corpus, backbone)
    row = np.zeros((1, 8), dtype=np.float32)
    for label, share in (("puppies", 0.9), ("dogs", 0.2), ("animals", 0.1), ("oaks", 0.5)):
        row[0, corpus.taxonomy.id(label)] = share
    monkeypatch.setattr(
        type(vars(fitted)["_flat"]), "probabilities", lambda flat, tokens: row[: len(tokens)]
    )
    chosen = fitted.choose(["corn"])
    assert {corpus.taxonomy.labels[i] for i in chosen.indices} == {"animals", "dogs", "puppies"}


def test_probabilities_are_those_of_the_plain_model(corpus: CorpusFolder, backbone: Path) -> None:
    """Text by text without padding gives what batches by length give."""
    fitted = fit(corpus, backbone)
    flat = vars(fitted)["_flat"]
    tokenizer = fast_tokenizer(load_backbone(str(backbone)), 64)
    texts = ["snow", "bank money account pay law", "", "the film music game"]
    expected = []
    for text in texts:
        with torch.no_grad():
            logits = flat.model(**tokenizer(text, return_tensors="pt")).logits
        expected.append(torch.sigmoid(logits)[0].numpy())
    found = fitted.probabilities(texts)
    assert found == pytest.approx(np.array(expected), abs=1e-5)


def test_the_same_seed_gives_the_same_weights(corpus: CorpusFolder, backbone: Path) -> None:
    one, other = (fit(corpus, backbone, learning_rate=0.01) for _ in range(2))
    first, second = one.probabilities(TEXTS), other.probabilities(TEXTS)
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)
    options = {"backbone": str(backbone), "epochs": 1, "learning_rate": 0.01}
    third = fit_yardstick("trainer-flat", corpus, seed=4, options=options, said=print)
    another = third.probabilities(TEXTS)
    assert another is not None
    assert not np.array_equal(first, another)


def test_starts_from_the_checkpoint(corpus: CorpusFolder, backbone: Path) -> None:
    """One step at a rate of next to nothing leaves the backbone's weights as they are."""
    model = vars(fit(corpus, backbone, learning_rate=1e-30))["_flat"].model
    automatic: Any = AutoModelForSequenceClassification
    own = automatic.from_pretrained(backbone).base_model.encoder.state_dict()
    found = model.base_model.encoder.state_dict()
    assert own.keys() == found.keys()
    assert all(torch.equal(own[key], found[key]) for key in own)


def test_the_grid_is_tried_on_dev(corpus: CorpusFolder, backbone: Path) -> None:
    """Two rates, of which one learns nothing; the other options stay as they are."""
    grid = {"learning_rate": [1e-9, 0.003], "epochs": [40]}
    fitted = fit(corpus, backbone, head_learning_rate=0.03, grid=grid, batch_size=7)
    report = json.loads(json.dumps(fitted.report))
    assert [one["learning_rate"] for one in report["tried"]] == [1e-9, 0.003]
    assert report["chosen"] == {"epochs": 40, **LEARNING}
    assert report["tried"][1]["mean"] > report["tried"][0]["mean"]
    assert report["steps"] == 80


def test_texts_are_cut_off(corpus: CorpusFolder, backbone: Path) -> None:
    """Of three tokens [CLS], one word and [SEP] remain."""
    fitted = fit(corpus, backbone, max_length=3)
    found = fitted.probabilities(["bank snow law", "bank"])
    assert found is not None
    assert np.array_equal(found[0], found[1])
    assert fitted.report["max_length"] == 3
    assert fit(corpus, backbone, max_length=1000).report["max_length"] == 64


def test_nothing_is_downloaded(corpus: CorpusFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HBGL_CACHE", str(corpus.path / "cache"))
    monkeypatch.delenv("HBGL_BACKBONES", raising=False)
    with pytest.raises(BackboneError, match="not asked: offline"):
        fit(corpus, Path("nobody/nothing"))


def test_nothing_is_written(
    corpus: CorpusFolder, backbone: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("tempfile.tempdir", str(here))
    fit(corpus, backbone)
    assert list(here.iterdir()) == []


@pytest.fixture
def flat_model(backbone: Path) -> Callable[[], Any]:
    def build() -> Any:
        torch.manual_seed(0)
        automatic: Any = AutoModelForSequenceClassification
        return automatic.from_pretrained(
            backbone, num_labels=8, problem_type="multi_label_classification"
        )

    return build


def test_the_head_may_have_its_own_rate(backbone: Path, flat_model: Callable[[], Any]) -> None:
    """At next to no rate for the encoder, only the head and BERT's pooler move."""
    model, before = flat_model(), flat_model()
    own = load_backbone(str(backbone))
    steps = train_by_trainer(
        model,
        fast_tokenizer(own, 64),
        labelled(eight_records(), own),
        seed=0,
        head_learning_rate=0.1,
        learning_rate=1e-30,
        num_train_epochs=1,
    )
    assert steps == 1
    moved = {
        key
        for key, value in model.state_dict().items()
        if not torch.equal(value, before.state_dict()[key])
    }
    assert moved == {f"{part}.{kind}" for part in _HEAD for kind in ("weight", "bias")}


def test_without_it_there_is_one_rate(
    backbone: Path, flat_model: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defaults reach the optimiser: 5e-5 for every group, of all parameters once."""
    rates: list[list[float]] = []
    counts: list[int] = []
    create = hf_trainer._TwoRates.create_optimizer

    def watched(trainer: Any, *arguments: Any, **options: Any) -> torch.optim.Optimizer:
        optimizer = create(trainer, *arguments, **options)
        rates.append([group["lr"] for group in optimizer.param_groups])
        counts.append(sum(len(group["params"]) for group in optimizer.param_groups))
        return optimizer

    monkeypatch.setattr(hf_trainer._TwoRates, "create_optimizer", watched)
    own = load_backbone(str(backbone))
    for head in (None, 1e-3):
        train_by_trainer(
            flat_model(),
            fast_tokenizer(own, 64),
            labelled(eight_records(), own),
            seed=0,
            head_learning_rate=head,
            num_train_epochs=1,
        )
    assert set(rates[0]) == {5e-5}
    assert set(rates[1]) == {5e-5, 1e-3}
    assert counts[0] == counts[1] == len(list(flat_model().parameters()))
