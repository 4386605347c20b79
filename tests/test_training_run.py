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
from hbgl.errors import CorpusError, TrainingError, UsageError
from hbgl.label_embeddings import train_label_vectors
from hbgl.records import Record, write_records
from hbgl.settings import PRESETS, GlobalStage, Settings, TrainingSettings, with_overrides
from hbgl.taxonomy import write_taxonomy
from hbgl.trained_model import TrainedModel
from hbgl.training import Evaluated, Stepped
from hbgl.training_run import RunListener, checkpoint_folder, train_classifier, train_records
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
@pytest.mark.parametrize("method", ["hbgl", "multilabel", "seq2seq"])
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
    assert len(heard.global_steps) == (0 if method == "multilabel" else 4)
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
    assert model.metrics["tuning"]["documents"] == (6 if tuned else 0)
    assert model.predict_proba(["money"]).shape == (1, 8)


def test_labels_beyond_what_seq2seq_generates_are_told_of(corpus: CorpusFolder) -> None:
    """Where eight may be generated none is left out; of the corpus's sets some are above two."""
    long = sum(len(record.labels) > 2 for record in corpus.records("train"))
    assert 0 < long < 12
    for most, expected in ((8, []), (2, [f"{long} training documents have more than 2 labels"])):
        heard = Heard()
        overrides = {"model.method": "seq2seq", "model.most_generated": most}
        train_classifier(corpus, with_overrides(SETTINGS, overrides), listener=heard, load=tiny)
        told = [line.split(";")[0] for line in heard.lines if "have more than" in line]
        assert told == expected


@pytest.mark.parametrize("how", ["mean", "sum"])
@pytest.mark.parametrize("start", ["random", "name", "gat", "global"])
def test_label_vectors_start_as_asked(start: Any, how: Any, corpus: CorpusFolder) -> None:
    """A rate of almost nothing, no decay: the vectors after training are those before it."""
    settings = with_overrides(
        SETTINGS,
        {
            "model.label_vectors": start,
            "model.name_vector": how,
            "training.learning_rate": 1e-12,
            "training.label_learning_rate": None,
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
    has_stage = start in ("gat", "global")
    assert bool(heard.global_steps) == has_stage
    assert bool(model.metrics["global_losses"]) == has_stage


def test_descriptions_come_from_the_corpus_folder(corpus: CorpusFolder, tmp_path: Path) -> None:
    """They move the first vectors, and a run resumes only on the same ones."""
    settings = with_overrides(
        SETTINGS, {"model.description_weight": 1.0, "model.label_vectors": "name"}
    )
    with pytest.raises(CorpusError, match=r"no descriptions\.json \(label -> sentence\)"):
        train_classifier(corpus, settings, load=tiny)
    with pytest.raises(UsageError, match="a description weight needs descriptions"):
        train_records({"train": random_records(4)}, TAXONOMY, settings, load=tiny)
    file = corpus.path / "descriptions.json"
    file.write_text('{"cats": "money of the bank"}', encoding="utf-8")
    still = with_overrides(
        settings,
        {
            "training.learning_rate": 1e-12,
            "training.label_learning_rate": None,
            "training.weight_decay": 0.0,
        },
    )
    model = train_classifier(corpus, still, run_folder=tmp_path / "run", load=tiny)
    words = tiny("").model.get_input_embeddings()
    ids = tiny("").tokenizer.encode("money of the bank").ids[1:-1]
    expected = torch.as_tensor(words.weight)[ids].mean(dim=0)
    found = weights_of(model)["label_vectors"][TAXONOMY.id("cats")]
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0.0)
    file.write_text('{"cats": "money of a bank"}', encoding="utf-8")
    with pytest.raises(TrainingError, match="belongs to a run with other data;"):
        train_classifier(corpus, still, run_folder=tmp_path / "run", resume=True, load=tiny)


@pytest.mark.parametrize("method", ["hbgl", "multilabel"])
def test_everything_beyond_the_paper_together(
    method: Any, corpus: CorpusFolder, tmp_path: Path
) -> None:
    """One run with all of it that goes together; its model folder answers as the model does."""
    chosen = {
        "model.method": method,
        "model.parent_weight": 0.3,
        "model.level_input": "expected",
        "model.own_level_inputs": 0.5,
        "model.loss": "balanced",
        "training.weight_average": 0.5,
        "training.layer_decay": 0.8,
    }
    if method == "hbgl":
        chosen["model.loss_columns"] = "children"
    model = train_classifier(corpus, with_overrides(SETTINGS, chosen), load=tiny)
    model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    texts = ["money bank", "rain"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    assert loaded.settings == model.settings


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
