"""From a corpus folder to a trained classifier."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hbgl.backbones import Backbone
from hbgl.checkpoint import TrainingFolder
from hbgl.corpora import CorpusFolder, open_corpus
from hbgl.errors import CorpusError, TrainingError
from hbgl.label_embeddings import train_label_vectors
from hbgl.records import Record, write_records
from hbgl.settings import PRESETS, GlobalStage, Settings, TrainingSettings, with_overrides
from hbgl.taxonomy import write_taxonomy
from hbgl.trained_model import TrainedModel
from hbgl.training import Evaluated, Stepped
from hbgl.training_run import RunListener, checkpoint_folder, train_classifier
from tests.small_corpus import TAXONOMY, closed, random_records
from tests.tiny import tiny_backbone

SETTINGS = Settings(
    backbone="tiny",
    global_stage=GlobalStage(steps=4, masks_per_step=2),
    training=TrainingSettings(
        epochs=2, batch_size=4, learning_rate=3e-3, precision="float32", evaluate_every=2
    ),
)


def weights_of(model: TrainedModel) -> dict[str, torch.Tensor]:
    assert isinstance(model.method, torch.nn.Module)
    return model.method.state_dict()


def tiny(name: str) -> Backbone:
    return tiny_backbone(with_transform=name != "bare")


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusFolder:
    return corpus_in(tmp_path / "corpus", random_records(12))


def corpus_in(path: Path, train: list[Record], dev: int = 6) -> CorpusFolder:
    path.mkdir()
    write_taxonomy(TAXONOMY, path / "taxonomy.tsv")
    write_records(train, path / "train.jsonl")
    if dev:
        write_records(random_records(dev, seed=1), path / "dev.jsonl")
    return open_corpus(path)


class Heard(RunListener):
    def __init__(self, stop_at: int | None = None) -> None:
        self.lines: list[str] = []
        self.global_steps: list[int] = []
        self.steps: list[int] = []
        self.went_on: list[int] = []
        self.stop_at = stop_at

    def said(self, message: str) -> None:
        self.lines.append(message)

    def global_step(self, step: int, total: int, loss: float) -> None:
        self.global_steps.append(step)
        assert total == 4
        assert np.isfinite(loss)

    def stepped(self, event: Stepped) -> None:
        self.steps.append(event.step)
        if event.step == self.stop_at:
            raise KeyboardInterrupt

    def evaluated(self, event: Evaluated) -> None:
        assert event.scores.documents == 6

    def resumed(self, step: int, total: int) -> None:
        self.went_on.append(step)


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("method", ["hbgl", "multilabel"])
def test_every_preset_trains(preset: str, method: Any, corpus: CorpusFolder) -> None:
    """12 documents in batches of 4, two epochs: six steps, evaluated every second one."""
    settings = with_overrides(
        PRESETS[preset],
        {
            "backbone": "tiny",
            "model.method": method,
            "global_stage.steps": 4,
            "training.epochs": 2.0,
            "training.batch_size": 4,
            "training.evaluate_every": 2,
            "training.precision": "float32",
        },
    )
    heard = Heard()
    model = train_classifier(corpus, settings, listener=heard, load=tiny)
    assert heard.steps == [1, 2, 3, 4, 5, 6]
    assert len(heard.global_steps) == (4 if method == "hbgl" else 0)
    assert "12 training documents, 6 dev documents, 8 labels on 3 levels" in heard.lines
    assert [one["step"] for one in model.metrics["training"]["evaluations"]] == [2, 4, 6]
    assert model.metrics["dev"] in model.metrics["training"]["evaluations"]
    assert model.metrics["documents"] == 12
    named = [label for record in corpus.records("train") for label in record.labels]
    counts = [named.count(label) for label in corpus.taxonomy.labels]
    assert model.metrics["label_documents"] == counts
    assert 0 < max(counts) <= 12
    tuned = preset == "default"
    assert model.decision.rule == ("backoff" if tuned else "paper")
    assert (model.decision.thresholds.tolist() == [0.5] * 8) != tuned
    assert model.metrics["tuning"]["documents"] == (6 if tuned else 0)
    assert model.predict_proba(["money"]).shape == (1, 8)


@pytest.mark.parametrize("how", ["mean", "sum"])
@pytest.mark.parametrize("start", ["random", "name", "global"])
def test_label_vectors_start_as_asked(start: Any, how: Any, corpus: CorpusFolder) -> None:
    """A rate of almost nothing, no decay: the vectors after training are those before it."""
    settings = with_overrides(
        SETTINGS,
        {
            "model.label_vectors": start,
            "model.name_vector": how,
            "training.learning_rate": 1e-12,
            "training.weight_decay": 0.0,
            "training.epochs": 1.0,
        },
    )
    heard = Heard()
    model = train_classifier(corpus, settings, listener=heard, load=tiny)
    vectors = weights_of(model)["label_vectors"]
    words = tiny("").model.get_input_embeddings()
    tokens = torch.as_tensor(words.weight)[tiny("").tokenizer.encode("cats").ids[1:-1]]
    assert len(tokens) > 1
    cats = tokens.mean(dim=0) if how == "mean" else tokens.sum(dim=0)
    near = torch.allclose(vectors[TAXONOMY.id("cats")], cats, atol=1e-6)
    assert near == (start == "name")
    assert bool(heard.global_steps) == (start == "global")
    assert bool(model.metrics["global_losses"]) == (start == "global")


def test_the_global_stage_computes_where_training_does(
    corpus: CorpusFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the accelerator's device, not where the backbone was loaded: a GPU, where there is one."""
    seen: list[object] = []

    def note(*given: Any, **options: Any) -> Any:
        seen.append(options["device"])
        return train_label_vectors(*given, **options)

    monkeypatch.setattr("hbgl.training_run.train_label_vectors", note)
    model = train_classifier(corpus, SETTINGS, load=tiny)
    assert seen == [model.device]


def test_a_missing_transform_is_said(corpus: CorpusFolder) -> None:
    heard = Heard()
    settings = with_overrides(SETTINGS, {"backbone": "bare", "model.head": "transform"})
    train_classifier(corpus, settings, listener=heard, load=tiny)
    assert any("has no masked-LM transform" in line for line in heard.lines)


def test_an_interrupted_run_goes_on_to_the_same_weights(
    corpus: CorpusFolder, tmp_path: Path
) -> None:
    """The global stage is not repeated: what it made is in the checkpoint."""
    whole = train_classifier(corpus, SETTINGS, run_folder=tmp_path / "whole", load=tiny)
    place = checkpoint_folder(tmp_path / "model")
    assert place.name == "model.training"
    with pytest.raises(KeyboardInterrupt):
        train_classifier(corpus, SETTINGS, run_folder=place, listener=Heard(5), load=tiny)
    heard = Heard()
    again = train_classifier(
        corpus, SETTINGS, run_folder=place, resume=True, listener=heard, load=tiny
    )
    assert heard.went_on == [4]
    assert heard.steps == [5, 6]
    assert heard.global_steps == []
    for name, one in weights_of(whole).items():
        assert torch.equal(weights_of(again)[name], one), name
    assert again.metrics["dev"] == whole.metrics["dev"]
    assert again.metrics["training"]["losses"] == whole.metrics["training"]["losses"]
    # Whether a run was interrupted must not show in the model: its global stage neither.
    assert again.metrics["global_losses"] == whole.metrics["global_losses"]


def test_resuming_before_the_first_checkpoint_begins_anew(
    corpus: CorpusFolder, tmp_path: Path
) -> None:
    heard = Heard()
    train_classifier(
        corpus, SETTINGS, run_folder=tmp_path / "run", resume=True, listener=heard, load=tiny
    )
    assert heard.went_on == []
    assert len(heard.global_steps) == 4


def test_other_settings_or_data_are_refused_by_name(corpus: CorpusFolder, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train_classifier(corpus, SETTINGS, run_folder=run, load=tiny)
    for changed, named in (
        ({"training.learning_rate": 1e-3}, "training.learning_rate"),
        ({"model.label_bias": False, "global_stage.steps": 5}, "global_stage.steps, model.label"),
    ):
        settings = with_overrides(SETTINGS, changed)
        with pytest.raises(TrainingError, match=f"belongs to a run with other {named}"):
            train_classifier(corpus, settings, run_folder=run, resume=True, load=tiny)
    relabelled = random_records(12)
    relabelled[3] = dataclasses.replace(relabelled[3], labels=closed(["herbs"]))
    others = [
        corpus_in(tmp_path / "text", [*random_records(11), Record("other text")]),
        corpus_in(tmp_path / "labels", relabelled),
        corpus_in(tmp_path / "dev", random_records(12), dev=5),
        corpus_in(tmp_path / "no dev", random_records(12), dev=0),
    ]
    for other in others:
        with pytest.raises(TrainingError, match="belongs to a run with other data;"):
            train_classifier(other, SETTINGS, run_folder=run, resume=True, load=tiny)
    assert TrainingFolder(run).latest() is not None
    same = corpus_in(tmp_path / "copy", random_records(12))
    train_classifier(same, SETTINGS, run_folder=run, resume=True, load=tiny)


def test_a_corpus_without_training_documents_is_refused(tmp_path: Path) -> None:
    """Before the backbone is loaded or the global stage takes its time."""
    path = tmp_path / "corpus"
    path.mkdir()
    write_taxonomy(TAXONOMY, path / "taxonomy.tsv")
    write_records(random_records(3), path / "dev.jsonl")
    heard = Heard()
    with pytest.raises(CorpusError, match=r"no train split; add train\.jsonl"):
        train_classifier(open_corpus(path), SETTINGS, listener=heard, load=tiny)
    assert heard.global_steps == []


def test_bad_records_are_refused_before_the_global_stage(tmp_path: Path) -> None:
    """A fault in line 9,000 of dev must not cost the minutes before it."""
    corpus = corpus_in(tmp_path / "corpus", random_records(12))
    corpus.splits["dev"].write_text('{"text": "a", "labels": ["elms"]}\n', encoding="utf-8")
    heard = Heard()
    with pytest.raises(Exception, match=r"dev\.jsonl.*\n?.*elms"):
        train_classifier(corpus, SETTINGS, listener=heard, load=tiny)
    assert heard.global_steps == []
