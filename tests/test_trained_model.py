"""The trained classifier and its folder."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hbgl.checkpoint import load_tensors, tensors_to_bytes, write_folder
from hbgl.decisions import Decision
from hbgl.errors import ModelFolderError, UsageError
from hbgl.methods import build_method
from hbgl.records import Record
from hbgl.settings import PRESETS, ModelSettings, Settings, TrainingSettings, with_overrides
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel, prepare_records
from tests.small_corpus import TAXONOMY, closed, random_records
from tests.tiny import tiny_backbone

FILES = {
    "model.safetensors",
    "config.json",
    "taxonomy.tsv",
    "names.json",
    "tokenizer.json",
    "calibration.json",
    "thresholds.json",
    "metrics.json",
    "README.md",
    "MANIFEST.json",
}
FLOAT32 = TrainingSettings(precision="float32")
KINDS = {
    "hbgl": Settings(training=FLOAT32),
    "authors": with_overrides(PRESETS["authors"], {"training.precision": "float32"}),
    "multilabel": Settings(model=ModelSettings(method="multilabel"), training=FLOAT32),
    "seq2seq": Settings(model=ModelSettings(method="seq2seq"), training=FLOAT32),
}
TEXTS = [record.text for record in random_records(30, seed=4)]
ODD = {
    "empty": "",
    "spaces": " \n\t",
    "emoji": "🦉",
    "million characters": "rain, snow " * 90_000 + "!" * 10_000,
    "million letters": "a" * 1_000_000,
    "control characters": "\x00\x01\x1b[31m\x7f\x85",
    "lone surrogates": "\ud83d money \udc00",
    "special tokens": "[SEP] [MASK] [CLS] [PAD] [UNK]",
    "right to left": "\u202eabc\u202c שלום",
}


@cache
def classifier(kind: str = "hbgl", family: str = "bert") -> TrainedModel:
    """Random weights, so that every threshold somewhere makes a difference."""
    settings = KINDS[kind]
    torch.manual_seed(0)
    backbone = tiny_backbone(family, with_transform=True)
    vectors = torch.randn(len(TAXONOMY), 16)
    method = build_method(backbone, TAXONOMY, settings.model, vectors).eval()
    for one in method.label_parameters():
        torch.nn.init.normal_(one)
    random = np.random.default_rng(0)
    thresholds = random.uniform(0.2, 0.8, size=len(TAXONOMY)).astype(np.float32)
    metrics = {"corpus": "small", "dev": {"micro_f1": 0.5, "macro_f1": 0.25}}
    return TrainedModel(TAXONOMY, settings, backbone, method, Decision(thresholds), metrics)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    classifier().save(path)
    return path


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


# ---------------------------------------------------------------------- save and load


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_loaded_model_answers_the_same(kind: str, family: str, tmp_path: Path) -> None:
    model = classifier(kind, family)
    model.save(tmp_path / "model")
    again = TrainedModel.load(tmp_path / "model", device="cpu")
    assert np.array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert again.predict(TEXTS, everything=True) == model.predict(TEXTS, everything=True)
    assert again.taxonomy == model.taxonomy
    assert again.settings == model.settings
    assert np.array_equal(again.decision.thresholds, model.decision.thresholds)
    assert again.metrics == model.metrics
    assert again.method.max_length == model.method.max_length
    assert isinstance(model.method, torch.nn.Module)
    assert isinstance(again.method, torch.nn.Module)
    for name, one in model.method.state_dict().items():
        assert torch.equal(again.method.state_dict()[name], one), name


def test_the_folder_has_exactly_its_files(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == FILES
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_saving_twice_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    TrainedModel.load(saved).save(tmp_path / "model")
    for name in FILES:
        assert (tmp_path / "model" / name).read_bytes() == (saved / name).read_bytes(), name


def test_a_saved_model_replaces_a_model_but_nothing_else(folder: Path, tmp_path: Path) -> None:
    classifier("multilabel").save(folder)
    assert TrainedModel.load(folder).settings.model.method == "multilabel"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ModelFolderError, match=r"mine\.txt, which hbgl did not write"):
        classifier().save(tmp_path / "notes")


def test_words_of_labels_come_back(tmp_path: Path) -> None:
    model = classifier()
    named = Taxonomy.from_edges(
        [("Root" if not len(TAXONOMY.parents(i)) else TAXONOMY.labels[TAXONOMY.parents(i)[0]], name)
         for i, name in enumerate(TAXONOMY.labels)],
        names={"oaks": "oak trees"},
    )  # fmt: skip
    dataclasses.replace(model, taxonomy=named).save(tmp_path / "model")
    assert TrainedModel.load(tmp_path / "model").taxonomy.names["oaks"] == "oak trees"


# ---------------------------------------------------------------------- damage


def spoil_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def swap(path: Path) -> None:
    other = path.with_name("README.md" if path.name != "README.md" else "config.json")
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [spoil_byte, truncate, swap, Path.unlink, Path.touch])
@pytest.mark.parametrize("name", sorted(FILES))
def test_the_damaged_file_is_named(name: str, damage: Callable[[Path], None], folder: Path) -> None:
    """A flipped bit, a byte less, another file's content, absent, and empty."""
    if damage is Path.touch:
        (folder / name).write_bytes(b"")
    else:
        damage(folder / name)
    if name == "MANIFEST.json" and damage in (spoil_byte, truncate):
        # It may still be JSON, and then names what no longer fits it, or nothing at all.
        content = (folder / name).read_bytes()
        if damage is truncate:
            assert json.loads(content)
            return
    with pytest.raises(ModelFolderError, match=name):
        TrainedModel.load(folder)


def test_a_file_too_many_is_named(folder: Path) -> None:
    (folder / "extra.py").write_text("", encoding="utf-8")
    with pytest.raises(ModelFolderError, match=r"extra\.py is not listed"):
        TrainedModel.load(folder)


def test_what_is_no_folder_is_refused(folder: Path) -> None:
    with pytest.raises(ModelFolderError, match="does not exist"):
        TrainedModel.load(folder.parent / "nothing")
    with pytest.raises(ModelFolderError, match="is a file"):
        TrainedModel.load(folder / "config.json")


def rewrite(folder: Path, name: str, content: bytes | None) -> None:
    """Replace or leave out a file, with a manifest that fits: a foreign folder, not a damaged."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    del files["MANIFEST.json"], files[name]
    write_folder(folder, {**files, **({} if content is None else {name: content})})


def changed(folder: Path, name: str, change: Callable[[Any], None]) -> bytes:
    value = json.loads((folder / name).read_bytes())
    change(value)
    return json.dumps(value).encode()


def test_a_foreign_format_is_refused_with_its_version(folder: Path) -> None:
    rewrite(folder, "config.json", changed(folder, "config.json", lambda it: it.update(format=2)))
    with pytest.raises(ModelFolderError, match="model format 2, but this version reads 1"):
        TrainedModel.load(folder)


@pytest.mark.parametrize("name", sorted(FILES - {"MANIFEST.json", "README.md", "names.json"}))
@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff\xfe", None])
def test_foreign_content_is_refused(name: str, content: bytes | None, folder: Path) -> None:
    """Never a traceback, whatever a folder with a fitting manifest holds."""
    if name == "metrics.json" and content == b"{}":
        return  # a model without a history
    rewrite(folder, name, content)
    with pytest.raises(ModelFolderError):
        TrainedModel.load(folder)


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("config.json", lambda it: it["settings"]["model"].update(novelty=1), "novelty"),
        ("config.json", lambda it: it["settings"]["model"].update(head="other"), "head"),
        ("config.json", lambda it: it.pop("backbone"), "backbone"),
        ("config.json", lambda it: it["backbone"].pop("encoder"), "encoder"),
        ("config.json", lambda it: it["backbone"]["encoder"].update(hidden_size=32), "size"),
        ("thresholds.json", lambda it: it.pop("rule"), "rule"),
        ("thresholds.json", lambda it: it.update(rule="dice"), "dice"),
        ("thresholds.json", lambda it: it["levels"].pop(), "2 thresholds by level"),
        ("thresholds.json", lambda it: it["labels"].update(elms=0.5), "elms"),
        ("thresholds.json", lambda it: it["labels"].update(oaks="high"), "high"),
        ("thresholds.json", lambda it: it["labels"].update(oaks=2), "0..1"),
        ("calibration.json", lambda it: it["levels"].append({"kind": "none"}), "1 levels"),
        ("calibration.json", lambda it: it["levels"].append({"kind": "magic"}), "magic"),
    ],
)
def test_files_that_do_not_fit_each_other_are_refused(
    name: str, change: Callable[[Any], None], named: str, folder: Path
) -> None:
    rewrite(folder, name, changed(folder, name, change))
    with pytest.raises(ModelFolderError, match=named):
        TrainedModel.load(folder)


def test_weights_of_another_taxonomy_are_refused(folder: Path) -> None:
    weights = load_tensors(folder / "model.safetensors")
    weights["label_vectors"] = weights["label_vectors"][:5]
    rewrite(folder, "model.safetensors", tensors_to_bytes(weights))
    with pytest.raises(ModelFolderError, match="label_vectors"):
        TrainedModel.load(folder)
    rewrite(folder, "taxonomy.tsv", b"Root\ta\na\tb\nb\ta\n")
    with pytest.raises(ModelFolderError, match=r"taxonomy\.tsv"):
        TrainedModel.load(folder)


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_odd_texts_are_answered(kind: str) -> None:
    answers = classifier(kind).predict(list(ODD.values()), everything=True)
    assert len(answers) == len(ODD)
    for found in answers:
        assert len(found.probabilities) == len(TAXONOMY)
        assert all(0 <= share <= 1 for share in found.probabilities.values())


def test_probabilities_of_every_label_for_every_text() -> None:
    shares = classifier().predict_proba(TEXTS)
    assert shares.shape == (30, 8)
    assert shares.dtype == np.float32
    assert ((shares > 0) & (shares < 1)).all()
    assert classifier().predict_proba([]).shape == (0, 8)
    assert classifier().predict([]) == []


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_an_answer_does_not_depend_on_its_neighbours(kind: str, family: str) -> None:
    """Alone, in any order, beside a long text that pads it: the same to 1e-5, in input order."""
    model = classifier(kind, family)
    together = model.predict_proba(TEXTS)
    assert np.abs(together - together[0]).max() > 1e-3
    alone = np.concatenate([model.predict_proba([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    order = np.random.default_rng(1).permutation(len(TEXTS))
    shuffled = model.predict_proba([TEXTS[i] for i in order])
    np.testing.assert_allclose(shuffled, together[order], atol=1e-5)
    padded = model.predict_proba([*TEXTS, "money " * 200])[:-1]
    np.testing.assert_allclose(padded, together, atol=1e-5)


def test_answers_are_those_of_the_probabilities() -> None:
    """Over its threshold, and with a threshold for all: over that one."""
    model = classifier()
    shares = model.predict_proba(TEXTS)
    for found, row in zip(model.predict(TEXTS), shares, strict=True):
        over = [TAXONOMY.labels[i] for i in np.flatnonzero(row > model.decision.thresholds)]
        assert list(found.labels) == over
        assert set(found.probabilities) == set(over)
    assert all(found.labels == () for found in model.predict(TEXTS, threshold=1.0))
    assert all(len(found.labels) == 8 for found in model.predict(TEXTS, threshold=0.0))


def test_top_k_adds_the_likeliest_of_each_level() -> None:
    """Levels of 2, 4 and 2 labels: the first of each is among the probabilities, not chosen."""
    for found in classifier().predict(TEXTS, threshold=1.0, top_k=1):
        assert found.labels == ()
        levels = [int(TAXONOMY.levels[TAXONOMY.id(label)]) for label in found.probabilities]
        assert sorted(levels) == [1, 2, 3]
        shares = list(found.probabilities.values())
        assert shares == sorted(shares, reverse=True)


def test_a_single_text_is_not_taken_for_a_list_of_letters() -> None:
    for call in (classifier().predict, classifier().predict_proba):
        with pytest.raises(UsageError, match=r"one text was given .* write \[text\]"):
            call("money")


def test_scores_are_those_of_the_answers() -> None:
    """The gold labels are the model's own answers: every document is exactly right."""
    model = classifier()
    records = [
        Record(text, found.labels) for text, found in zip(TEXTS, model.predict(TEXTS), strict=True)
    ]
    scores = model.evaluate(records)
    assert scores.micro_f1 == scores.exact_match == 1.0
    assert scores.documents == 30
    assert [level.level for level in scores.levels] == [1, 2, 3]
    assert model.evaluate([]).documents == 0


def test_records_become_a_label_matrix() -> None:
    """Labels of a record in any order and twice are one set."""
    backbone = tiny_backbone()
    records = [
        Record("money", ("cats", "animals", "cats")),
        Record("", ()),
        Record("oil", closed(["oaks"])),
    ]
    corpus = prepare_records(records, TAXONOMY, backbone, 16)
    assert corpus.gold.toarray().tolist() == [
        [True, False, True, False, False, False, False, False],
        [False] * 8,
        [False, True, False, False, True, False, False, True],
    ]
    assert corpus.texts.lengths.tolist() == [3, 2, 3]
    assert len(corpus) == 3


def test_the_model_card_says_what_the_model_is(saved: Path) -> None:
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert "8 labels on 3 levels. Level 1: animals, plants." in card
    assert "Corpus: small." in card
    assert "| 50.00 | 25.00 |" in card
