"""The exported folder: complete, verified, refused where it differs, clear where it cannot run."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hbgl.batching import Batch, TokenizedTexts
from hbgl.checkpoint import MANIFEST, write_folder
from hbgl.decisions import Decider, Decision, Decoded
from hbgl.engines import EngineName, compare, export_graphs
from hbgl.engines import export as export_module
from hbgl.errors import HBGLError, MissingExtraError, ModelFolderError, UsageError
from hbgl.exporting import export_model
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel
from tests.engines.models import random_model, texts_of
from tests.small_corpus import random_records

TEXTS = [record.text for record in random_records(24, seed=4)]
KEPT = {
    "MANIFEST.json", "README.md", "calibration.json", "config.json", "export.json", "metrics.json",
    "names.json", "taxonomy.tsv", "thresholds.json", "tokenizer.json",
}  # fmt: skip


def needs(engine: str) -> None:
    pytest.importorskip({"onnx": "onnxruntime", "openvino": "openvino"}[engine])


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("onnx")
    path = tmp_path_factory.mktemp("exports") / "model-onnx"
    export_model(random_model(), path, "onnx", texts=TEXTS)
    return path


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "model-onnx"))


# ---------------------------------------------------------------------- the folder


def test_the_folder_is_a_model_without_torch_weights(exported: Path) -> None:
    assert {path.name for path in exported.iterdir()} == KEPT | {
        "text.onnx", "step.onnx", "labels.safetensors",
    }  # fmt: skip
    report = json.loads((exported / "export.json").read_bytes())
    assert report["sample"] == "texts"
    assert report["agreement"]["documents"] == 24
    assert report["agreement"]["equal_label_sets"] == 1.0
    loaded, model = TrainedModel.load(exported), random_model()
    found, expected = loaded.predict(TEXTS), model.predict(TEXTS)
    assert [one.paths for one in found] == [one.paths for one in expected]
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-4)
    records = random_records(24, seed=4)
    assert loaded.evaluate(records).micro_f1 == model.evaluate(records).micro_f1
    assert {one.device.type for one in loaded.backbone.model.parameters()} == {"meta"}


def test_an_exported_model_only_predicts(exported: Path, tmp_path: Path) -> None:
    loaded = TrainedModel.load(exported)
    for action in (
        lambda: loaded.save(tmp_path / "again"),
        lambda: export_model(loaded, tmp_path / "again", "onnx"),
    ):
        with pytest.raises(UsageError, match="exported for onnx only predicts; use the model fold"):
            action()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="runs on the CPU, not on cuda"):
        TrainedModel.load(exported, device="cuda")


@pytest.mark.parametrize("name", ["text.onnx", "step.onnx", "labels.safetensors"])
def test_a_damaged_or_missing_file_is_named(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelFolderError, match=f"{name} is damaged: same size, other SHA-256"):
        TrainedModel.load(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=f"{name} is missing"):
        TrainedModel.load(folder)


def rewritten(folder: Path, place: Path, **changed: bytes | None) -> Path:
    """The folder with other content under a manifest that fits."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}
    for key, content in changed.items():
        name = key.replace("__", ".")
        files.pop(name)
        if content is not None:
            files[name] = content
    write_folder(place, files)
    return place


def test_a_graph_that_the_runtime_refuses_is_named(folder: Path, tmp_path: Path) -> None:
    place = rewritten(folder, tmp_path / "other", step__onnx=b"no graph")
    with pytest.raises(ModelFolderError, match=r"step\.onnx: onnxruntime cannot load this graph"):
        TrainedModel.load(place)


def test_a_folder_that_lacks_a_graph_from_the_beginning_is_named(
    folder: Path, tmp_path: Path
) -> None:
    place = rewritten(folder, tmp_path / "other", step__onnx=None)
    with pytest.raises(ModelFolderError, match=r"step\.onnx is missing; export the model again"):
        TrainedModel.load(place)


def test_an_engine_of_a_later_version_is_named(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_bytes())
    config["engine"]["name"] = "tomorrow"
    place = rewritten(folder, tmp_path / "other", config__json=json.dumps(config).encode())
    with pytest.raises(ModelFolderError, match="the engine 'tomorrow', which this version does no"):
        TrainedModel.load(place)


# ---------------------------------------------------------------------- missing packages


@pytest.mark.parametrize(
    ("engine", "int8", "package"),
    [
        ("onnx", False, "onnx"),
        ("onnx", False, "onnxruntime"),
        ("openvino", False, "openvino"),
        ("openvino", True, "nncf"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    engine: EngineName, int8: bool, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide(package, monkeypatch)
    with pytest.raises(MissingExtraError) as refused:
        export_model(random_model(), tmp_path / "out", engine, int8=int8, texts=TEXTS)
    assert str(refused.value) == (
        f"the engine '{engine}' needs the package '{package}', which is not installed; "
        f"install it with: pip install 'hbgl[{engine}]'"
    )
    assert list(tmp_path.iterdir()) == []


def test_predicting_without_the_package_says_so(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("onnxruntime", monkeypatch)
    with pytest.raises(MissingExtraError, match=r"pip install 'hbgl\[onnx\]'"):
        TrainedModel.load(exported)


def hide(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def find_spec(name: str, *more: Any) -> Any:
        return None if name == package else found(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


# ---------------------------------------------------------------------- verification


class Canned:
    """Answers given beforehand."""

    pad_id, max_length = 0, 9

    def __init__(self, taxonomy: Taxonomy, scores: list[list[float]]) -> None:
        self.taxonomy, self.scores = taxonomy, torch.tensor(scores)

    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        walk = decider.begin(len(batch.ids))
        for level in (1, 2):
            walk.take(level, self.scores[:, self.taxonomy.level_slice(level)])
        return walk.decoded()


def agreement(first: list[list[float]], second: list[list[float]], rule: str = "paper") -> Any:
    """Of a taxonomy a -> b and texts of equal length, which keep their order in a batch."""
    taxonomy = Taxonomy.from_edges([("Root", "a"), ("a", "b")])
    decision = Decision(np.full(2, 0.5, dtype=np.float32), rule, most_paths=1)  # type: ignore[arg-type]
    methods = (Canned(taxonomy, first), Canned(taxonomy, second))
    return compare(*methods, texts_of([3] * len(first)), decision)  # type: ignore[arg-type]


def test_agreement_by_hand() -> None:
    """Scores (4, 1) and (4.5, -1): the largest difference is 2, on level 2, where a is chosen by
    both; b is chosen by the first alone. sigmoid: .9820 .7311 against .9890 .2689.
    (-1, 5) and (2, -5): a differs, so b's 10 does not count; a's 3 does. Labels differ too.
    (1, 1) twice: the same. One label set in three is equal.
    """
    found = agreement([[4, 1], [-1, 5], [1, 1]], [[4.5, -1], [2, -5], [1, 1]])
    assert found.documents == 3
    assert found.largest_score_difference == 3.0
    assert found.equal_label_sets == pytest.approx(1 / 3)
    differences = [0.00700, 0.46212, 0.61186, 0.98661, 0, 0]
    assert found.mean_probability_difference == pytest.approx(sum(differences) / 6, abs=1e-4)


def test_what_is_no_number_is_infinitely_far() -> None:
    found = agreement([[1, 1]], [[float("nan"), 1]])
    assert found.largest_score_difference == float("inf")


def test_labels_added_after_the_walk_do_not_hide_a_difference() -> None:
    """Rule closed adds a for b: compared before that, both chose only b, and scores are equal."""
    found = agreement([[-1, 2]], [[-1, 2]], rule="closed")
    assert (found.largest_score_difference, found.equal_label_sets) == (0.0, 1.0)


def test_an_export_that_differs_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another model's label vectors under the same graphs."""
    needs("onnx")
    load = export_module.load_engine

    def wrong(*arguments: Any, **options: Any) -> Any:
        engine: Any = load(*arguments, **options)
        engine.labels = dataclasses.replace(engine.labels, vectors=engine.labels.vectors + 0.1)
        return engine

    monkeypatch.setattr(export_module, "load_engine", wrong)
    with pytest.raises(ModelFolderError, match=r"more than 0\.001; nothing was written"):
        export_model(random_model(), tmp_path / "out", "onnx")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- int8


@pytest.mark.parametrize("kind", ["hbgl", "multilabel"])
def test_int8_of_onnx_runs_and_reports(kind: str, tmp_path: Path) -> None:
    """8-bit products: six in each of two layers and the head's; of a text that only gives keys and
    values, two in the last layer. Half the 24 texts are compared on.
    """
    needs("onnx")
    import onnx

    report = export_model(random_model(kind), tmp_path / "out", "onnx", int8=True, texts=TEXTS)
    assert report.int8
    assert report.agreement.documents == 12
    assert report.agreement.mean_probability_difference < 0.1
    assert report.quantization is not None
    graph, products = ("flat", 13) if kind == "multilabel" else ("text", 8)
    assert graph in report.quantization["graphs"]
    nodes = onnx.load(tmp_path / "out" / f"{graph}.onnx").graph.node
    assert sum(node.op_type == "MatMulInteger" for node in nodes) == products
    assert TrainedModel.load(tmp_path / "out").predict(TEXTS[:2])


def test_int8_of_openvino_runs_and_reports(tmp_path: Path) -> None:
    needs("openvino")
    pytest.importorskip("nncf")
    report = export_model(random_model(), tmp_path / "out", "openvino", int8=True, texts=TEXTS)
    assert report.agreement.documents == 12
    assert report.agreement.mean_probability_difference < 0.2
    assert report.quantization == {
        "activations": "calibrated", "calibrated_on": 12, "graphs": ["text"],
    }  # fmt: skip
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == KEPT | {"labels.safetensors", "step.bin", "step.xml", "text.bin", "text.xml"}
    graph = (tmp_path / "out" / "text.xml").read_text()
    assert graph.count('type="FakeQuantize"') >= 6
    assert 'element_type="i8"' in graph
    assert TrainedModel.load(tmp_path / "out").predict(TEXTS[:2])


@pytest.mark.parametrize("texts", [[], ["only one"]])
def test_int8_without_documents_is_refused(texts: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="int8 needs documents of the training corpus"):
        export_model(random_model(), tmp_path / "out", "onnx", int8=True, texts=texts)


def test_a_model_too_large_for_onnx_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of 2 GB is made for it: the limit is lowered to the tiny model's size."""
    needs("onnx")
    monkeypatch.setattr("hbgl.engines.writing._LARGEST_ONNX", 10_000)
    model = random_model()
    texts = TokenizedTexts(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    with pytest.raises(HBGLError, match="an ONNX file holds less than 2 GB; use --engine openvino"):
        export_graphs(model.torch_method, "onnx", tmp_path, decision=model.decision, texts=texts)
