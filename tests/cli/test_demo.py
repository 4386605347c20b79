"""``hbgl demo`` with a tiny backbone and a tiny corpus in place of the bundled one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hbgl import corpora
from hbgl.cli import demo as demo_module
from hbgl.corpora import open_corpus
from hbgl.trained_model import TrainedModel
from tests.cli.conftest import Command, refused

PATH = re.compile(r"  (money|sport) \d+%( > (bank|card|football|tennis) \d+%)?")


@pytest.fixture
def demo(
    hbgl: Command,
    backbone: Path,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    monkeypatch.chdir(tmp_path)
    opened = open_corpus(corpus)
    monkeypatch.setattr(corpora, "open_corpus", lambda _: opened)
    for name, value in (("global_stage.steps", 4), ("training.batch_size", 8),
                        ("training.learning_rate", 2e-2)):  # fmt: skip
        monkeypatch.setitem(demo_module._CHOICES, name, value)
    return lambda *more: hbgl("demo", "--backbone", backbone, *more)


def test_the_demo_ends_with_predictions_and_what_to_type_next(
    demo: Command, tmp_path: Path
) -> None:
    done = demo("--epochs", "8")
    assert done.code == 0, done.err
    assert "Scores on the test split:" in done.out
    shown = re.findall(r"^“.+”\n((?:  .+\n)+)", done.out, re.MULTILINE)
    assert len(shown) == 5
    drawn = [line for lines in shown for line in lines.splitlines() if line != "  (no label)"]
    assert drawn
    assert [line for line in drawn if not PATH.fullmatch(line)] == []
    assert "The model is in demo-model (its README.md describes it). Now try:" in done.out
    assert 'echo "how do i freeze my account" | hbgl predict demo-model -' in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["demo-model"]
    metrics = TrainedModel.load(tmp_path / "demo-model").metrics
    assert metrics["corpus"] == "clinc150"
    assert set(metrics["test"]) == {"micro_f1", "macro_f1"}
    again = demo("--json", "-q", "--epochs", "8")  # an earlier demo is replaced
    assert (again.code, again.err) == (0, "")
    assert json.loads(again.out)["test"] == metrics["test"]


def test_other_models_and_folders_are_not_replaced(
    demo: Command, model: Path, tmp_path: Path
) -> None:
    refused(demo("-o", model), 2, "is not from an earlier demo")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    refused(demo("-o", tmp_path / "mine"), 1, "thesis.tex, which hbgl did not write")
    refused(demo("-o", "mine/thesis.tex/model"), 1, "thesis.tex is a file")
    refused(demo("--epochs", "0"), 2, "epochs must be positive")
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "model"}
