"""``hbgl inspect``: what is shown of a model folder, and folders that cannot be shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hbgl.checkpoint import json_bytes, write_folder
from hbgl.cli.plots import bar, curve
from hbgl.decisions import Calibration, Decision, LevelMap
from hbgl.trained_model import TrainedModel
from tests.cli.conftest import Command, refused

LABELS = {"money", "sport", "bank", "card", "football", "tennis"}


def rewrite(folder: Path, name: str, change: Any) -> None:
    """The folder with one JSON file changed and a manifest that fits."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    del files["MANIFEST.json"]
    data = json.loads(files[name])
    files[name] = json_bytes(change(data) or data)
    write_folder(folder, files)


def test_sections(hbgl: Command, trained: Path) -> None:
    done = hbgl("inspect", trained)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{trained}: hbgl over ")
    for words in (
        "\ntaxonomy\n  6 labels, by level 2, 4; 4 leaves\n",
        "nearest preset: default; * differs",
        "*batch_size 8 (32)",
        "*learning_rate 0.02 (",
        "loss over training steps",
        "dev Macro-F1 over epochs",
        "\nfiles (bytes, SHA-256)\n",
        "corpus topics",
        "documents 40",
    ):
        assert words in done.out, words
    assert "█" in done.out
    assert "├──" not in done.out
    assert all(len(line) < 120 for line in done.out.splitlines()[1:])


def test_json_says_what_the_model_is(hbgl: Command, trained: Path) -> None:
    facts = json.loads(hbgl("inspect", trained, "--json").out)
    model = TrainedModel.load(trained)
    state = model.torch_method.state_dict()
    assert facts["parameters"]["total"] == sum(one.numel() for one in state.values())
    assert facts["parameters"]["labels"] == 6 * 16 + 6
    assert facts["taxonomy"] == {
        "labels": 6,
        "depth": 2,
        "labels_per_level": [2, 4],
        "leaves": 4,
        "most_children": 2,
        "several_parents": 0,
        "words_of_their_own": 0,
    }
    assert facts["backbone"]["width"] == 16
    assert facts["backbone"]["layers"] == 2
    assert facts["settings"]["training.epochs"] == 4.0
    assert facts["preset_differs"]["training.learning_rate"] == 2e-4
    assert "model.head" not in facts["preset_differs"]
    assert facts["training"]["corpus"] == "topics"
    assert facts["training"]["dev"] == model.metrics["dev"]
    counts = model.metrics["label_documents"]
    assert facts["label_documents"] == dict(zip(model.taxonomy.labels, counts, strict=True))
    assert len(facts["curves"]["dev_macro_f1"]) == 4
    assert facts["curves"]["loss"][-1][0] == model.metrics["training"]["step"]
    manifest = json.loads((trained / "MANIFEST.json").read_bytes())["files"]
    assert {one["name"]: one["sha256"] for one in facts["files"]} == {
        name: entry["sha256"] for name, entry in manifest.items()
    }


def test_the_tree(hbgl: Command, trained: Path) -> None:
    whole = hbgl("inspect", trained, "--tree").out
    assert "  money\n  ├── bank\n  └── card\n  sport\n" in whole
    top = hbgl("inspect", trained, "--tree", "--levels", "1").out
    assert "  money (2 below)\n  sport (2 below)\n" in top


def test_thresholds_and_calibration(hbgl: Command, trained: Path, tmp_path: Path) -> None:
    """Level 1 at 0.4; level 2 at 0.5 but for bank, 0.25, and tennis, 0.75."""
    model = TrainedModel.load(trained)
    by_label = {"bank": 0.25, "tennis": 0.75}
    thresholds = [
        by_label.get(label, 0.4 if level == 1 else 0.5)
        for label, level in zip(model.taxonomy.labels, model.taxonomy.levels, strict=True)
    ]
    maps = (
        LevelMap("temperature", slope=0.5),
        LevelMap("isotonic", knots=((-1.0, 0.1), (1.0, 0.9))),
    )
    model.decision = Decision(
        np.array(thresholds, dtype=np.float32), "closed", Calibration(maps), most_paths=3
    )
    model.metrics["tuning"] = {
        "documents": 12,
        "before": {"micro_f1": 0.5},
        "after": {"micro_f1": 0.625},
    }
    model.save(tmp_path / "model")
    facts = json.loads(hbgl("inspect", tmp_path / "model", "--json").out)
    assert facts["decision"]["labels"] == by_label
    assert facts["decision"]["levels"] == [
        {"level": 1, "threshold": 0.4, "of_their_own": 0},
        {"level": 2, "threshold": 0.5, "of_their_own": 2, "lowest": 0.25, "highest": 0.75},
    ]
    assert [one["kind"] for one in facts["calibration"]] == ["temperature", "isotonic"]
    shown = hbgl("inspect", tmp_path / "model").out
    for words in (
        "rule closed, at most 3 paths",
        "level 1: threshold 0.4\n",
        "level 2: threshold 0.5; 2 labels have their own, 0.25 to 0.75",
        "      0.2500  bank\n      0.7500  tennis\n",
        "level 1: temperature 2\n",
        "level 2: isotonic through 2 points\n",
        "on 12 dev documents",
        "before: Micro-F1 50.00",
        "after: Micro-F1 62.50",
    ):
        assert words in shown, words


def test_a_model_without_a_history_is_shown(hbgl: Command, model: Path) -> None:
    rewrite(model, "metrics.json", lambda _: {"corpus": "small"})
    done = hbgl("inspect", model)
    assert done.code == 0, done.err
    assert "\ncurves\n" not in done.out
    assert "corpus small" in done.out


def test_an_exported_model_is_shown(hbgl: Command, model: Path) -> None:
    """Its folder holds the graphs of an engine in the place of the weights."""
    files = {path.name: path.read_bytes() for path in model.iterdir()}
    del files["MANIFEST.json"], files["model.safetensors"]
    engine = {"name": "onnx", "int8": True, "versions": {"onnx": "1.0"}, "shape": {}}
    files["config.json"] = json_bytes({**json.loads(files["config.json"]), "engine": engine})
    write_folder(model, {**files, "text.onnx": b"graph"})
    facts = json.loads(hbgl("inspect", model, "--json").out)
    assert facts["parameters"] is None
    assert facts["engine"] == {"name": "onnx", "int8": True, "versions": {"onnx": "1.0"}}
    shown = hbgl("inspect", model).out
    assert "exported for onnx (int8), by onnx 1.0" in shown
    assert "text.onnx" in shown


def test_wrong_use(hbgl: Command, trained: Path, tmp_path: Path, corpus: Path) -> None:
    refused(hbgl("inspect"), 2, "Missing argument")
    refused(hbgl("inspect", tmp_path / "none"), 1, "none does not exist")
    refused(hbgl("inspect", corpus), 1, "has no MANIFEST.json")
    refused(hbgl("inspect", corpus / "taxonomy.tsv"), 1, "taxonomy.tsv")
    refused(hbgl("inspect", trained, "--levels", "1"), 2, "--levels needs --tree")
    refused(hbgl("inspect", trained, "--levels", "0", "--tree"), 2, "--levels")
    refused(hbgl("inspect", trained, "--tree", "--json"), 2, "--tree draws for people")


def test_damaged_files_are_named(hbgl: Command, model: Path) -> None:
    content = bytearray((model / "thresholds.json").read_bytes())
    content[3] ^= 1
    (model / "thresholds.json").write_bytes(content)
    refused(hbgl("inspect", model), 1, "thresholds.json is damaged")
    (model / "thresholds.json").unlink()
    refused(hbgl("inspect", model, "--json"), 1, "thresholds.json is missing")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("config.json", lambda it: it.pop("settings") and None),
        ("config.json", lambda it: it["backbone"].update(encoder=3)),
        ("config.json", lambda it: it["settings"]["training"].update(novelty=1)),
        ("thresholds.json", lambda it: it["labels"].update(chess=0.5)),
        ("thresholds.json", lambda it: it["levels"].pop() and None),
        ("thresholds.json", lambda it: it.update(levels=["high", 0.5])),
        ("calibration.json", lambda it: it.update(levels=3)),
        ("calibration.json", lambda it: it.clear()),
        ("metrics.json", lambda it: it.update(training=[1])),
        ("metrics.json", lambda it: it["training"].update(losses=[[1, 2]])),
        ("metrics.json", lambda _: [1]),
    ],
)
def test_folders_that_do_not_hold_together_are_refused(
    name: str, change: Any, hbgl: Command, model: Path
) -> None:
    """Their manifest fits, what they say does not."""
    rewrite(model, name, change)
    refused(hbgl("inspect", model), 1, str(model))


def test_it_is_quick_because_torch_stays_away(trained: Path) -> None:
    script = (
        "import sys\nfrom hbgl.cli.main import run\n"
        f"code = run(['inspect', {str(trained)!r}])\n"
        "sys.exit(code or 'torch' in sys.modules or 'transformers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_without_unicode_everything_is_drawn_in_ascii(trained: Path) -> None:
    command = [sys.executable, "-m", "hbgl", "inspect", str(trained), "--tree"]
    done = subprocess.run(
        command,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"|-- bank" in done.stdout
    assert b"###" in done.stdout


# ---------------------------------------------------------------------- plots


def test_curves_by_hand() -> None:
    """Four points on four columns of 2 x 8 eighths: from one eighth up to all sixteen."""
    points = [(0.0, 0.0), (1.0, 7.0), (2.0, 15.0), (3.0, 3.0)]
    assert list(curve(points, width=4, height=2)) == ["15 |  █", " 0 |▁██▄", "    0  3"]
    assert list(curve(points, width=4, height=2, ascii_only=True)) == [
        "15 |  #",
        " 0 | ###",
        "    0  3",
    ]


def test_curves_of_few_and_of_many_points() -> None:
    assert list(curve([(1.0, 0.5)], height=2))[1] == "0.5 |▁▁▁▁▁▁▁▁"
    many = list(curve([(float(x), float(x % 2)) for x in range(1000)], width=50, height=3))
    assert all(len(line) <= 60 for line in many)
    uneven = list(curve([(0.0, 1.0), (1.0, 2.0), (3.0, 3.0)], width=9, height=1))
    assert uneven[0] == "1 |▁▁▅▅▅▅███"


def test_bars_by_hand() -> None:
    assert bar(0.0, 4) == bar(0.0, 4, ascii_only=True) == ""
    assert bar(1.0, 4) == "████"
    assert bar(1 / 32, 4) == "▏"
    assert bar(0.5, 4, ascii_only=True) == "##"
