"""``hbgl export``, and the commands that take what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbgl.trained_model import TrainedModel
from tests.cli.conftest import Command, refused

pytest.importorskip("onnxruntime")

TEXTS = b"bank account money\nfootball team match\n\ntennis player\n"


def paths(out: str) -> list[object]:
    return [json.loads(line)["paths"] for line in out.splitlines()]


def test_an_export_answers_as_the_model(hbgl: Command, model: Path, corpus: Path) -> None:
    """MODEL with --engine, and the folder itself without, give the paths that torch gives."""
    done = hbgl("export", model, "--engine", "onnx")
    assert done.code == 0, done.err
    folder = model.with_name("model-onnx")
    first, second = done.out.splitlines()
    assert first == f"{folder}: onnx, float"
    assert second.startswith("beside torch on ")
    assert "texts of random tokens: same labels 100.0%, largest difference of a score" in second
    expected = hbgl("predict", model, "-", "--engine", "torch", stdin=TEXTS)
    for arguments in ([model, "-", "--engine", "onnx"], [folder, "-"]):
        found = hbgl("predict", *arguments, stdin=TEXTS)
        assert found.code == 0, found.err
        assert paths(found.out) == paths(expected.out)
    scores = [
        json.loads(hbgl("evaluate", model, f"{corpus}:test", "--json", *more).out)
        for more in ([], ["--engine", "onnx"])
    ]
    assert scores[0]["micro_f1"] == scores[1]["micro_f1"] > 0

    refused(hbgl("export", model, "--engine", "onnx"), 2, "exists already", "--force")
    refused(hbgl("export", folder, "--engine", "onnx"), 2, "is an export for onnx itself")
    refused(
        hbgl("predict", folder, "-", "--engine", "torch", stdin=TEXTS),
        2,
        f"{folder} is an export for onnx; for --engine torch name the model folder",
    )


def test_int8_with_the_training_corpus(hbgl: Command, model: Path, corpus: Path) -> None:
    """16 documents drawn from the 40 of its train split: 8 to calibrate on, 8 to compare on."""
    folder = model.with_name("small")
    arguments = ["--engine", "onnx", "--int8", "--calibrate", corpus, "--documents", 16]
    done = hbgl("export", model, *arguments, "-o", folder, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["folder"], report["engine"], report["int8"]) == (str(folder), "onnx", True)
    assert (report["sample"], report["agreement"]["documents"]) == ("texts", 8)
    found = hbgl("predict", folder, "-", "--engine", "onnx", stdin=TEXTS)
    assert len(paths(found.out)) == 3


def test_an_engine_without_its_export_names_the_command(hbgl: Command, model: Path) -> None:
    for command in (["predict", model, "-"], ["evaluate", model, "clinc150:test"]):
        refused(
            hbgl(*command, "--engine", "openvino", stdin=TEXTS),
            2,
            f"{model} has no export for openvino",
            f"hbgl export {model} --engine openvino",
        )


def test_an_export_of_another_state_is_refused(hbgl: Command, model: Path) -> None:
    """The model's thresholds changed after it was exported."""
    assert hbgl("export", model, "--engine", "onnx").code == 0
    changed = TrainedModel.load(model)
    changed.decision = changed.decision.changed(changed.taxonomy, threshold=0.9)
    changed.save(model)
    refused(
        hbgl("predict", model, "-", "--engine", "onnx", stdin=TEXTS),
        2,
        "was exported from another state",
        f"hbgl export {model} --engine onnx --force",
    )
    assert hbgl("export", model, "--engine", "onnx", "--force").code == 0
    assert hbgl("predict", model, "-", "--engine", "onnx", stdin=TEXTS).code == 0


def test_wrong_use_is_refused_before_any_work(hbgl: Command, model: Path, tmp_path: Path) -> None:
    onnx = ["--engine", "onnx"]
    refused(hbgl("export", model, *onnx, "--int8"), 2, "--int8 needs --calibrate CORPUS")
    refused(hbgl("export", model, *onnx, "-o", model, "--force"), 2, "is the model itself")
    refused(hbgl("export", tmp_path / "none", *onnx), 1, "does not exist")
    refused(hbgl("export", model), 2, "--engine")
    refused(hbgl("export", model, "--engine", "abacus"), 2, "abacus")
    (tmp_path / "one.jsonl").write_text('{"text": "a", "labels": []}\n')
    one = ["--calibrate", tmp_path / "one.jsonl"]
    refused(hbgl("export", model, *onnx, *one), 1, "an export needs two or more")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    refused(hbgl("export", model, *onnx, "-o", foreign, "--force"), 1, "thesis.txt")
    assert (foreign / "thesis.txt").read_text() == "mine"
    assert not model.with_name("model-onnx").exists()


def test_a_trailing_slash_or_dot_names_the_same_model(
    hbgl: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hbgl("export", f"{model}/", "--engine", "onnx").code == 0
    monkeypatch.chdir(model)
    found = hbgl("predict", ".", "-", "--engine", "onnx", stdin=TEXTS)
    assert found.code == 0, found.err
