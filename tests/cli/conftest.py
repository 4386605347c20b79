"""A tiny backbone, a tiny corpus and a model trained on them with the real command."""

from __future__ import annotations

import io
import json
import random
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hbgl.cli import main
from tests.tiny import tiny_folder

TAXONOMY = "Root\tmoney\tsport\nmoney\tbank\tcard\nsport\tfootball\ttennis\n"
TOPICS = {
    "bank": "bank account balance transfer money",
    "card": "card payment bill pay price",
    "football": "football team match game walk",
    "tennis": "tennis player game run play",
}
SIZES = {"train": 40, "dev": 12, "test": 20}
QUICK = [
    "--epochs", "4", "--batch-size", "8", "--learning-rate", "2e-2", "--global-steps", "4",
    "--precision", "float32", "--tune", "none", "--calibration", "none", "--rule", "paper",
]  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


Command = Callable[..., Answer]


def write_corpus(folder: Path, **sizes: int) -> Path:
    """Documents of four words from the vocabulary of one of four topics."""
    folder.mkdir(parents=True)
    (folder / "taxonomy.tsv").write_text(TAXONOMY)
    for split, size in (sizes or SIZES).items():
        lines = [json.dumps(document(split, number)) for number in range(size)]
        (folder / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def document(split: str, number: int) -> dict[str, object]:
    draw = random.Random(f"{split} {number}")
    label = draw.choice(sorted(TOPICS))
    words = draw.choices(TOPICS[label].split(), k=draw.randrange(2, 9))
    return {"text": " ".join(words), "labels": [label], "id": f"{split}-{number}"}


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbone") / "tiny"
    tiny_folder(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "topics")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, backbone: Path, corpus: Path) -> Path:
    """A model folder; tests that change it take ``model``."""
    folder = tmp_path_factory.mktemp("models") / "model"
    arguments = ["train", str(corpus), "-o", str(folder), "--backbone", str(backbone), *QUICK]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main.run([*arguments, "--quiet", "--keep-checkpoints"]) == 0
    return folder


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained model, without its checkpoints."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


@pytest.fixture
def hbgl(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process, with ``stdin`` where it reads one."""
    monkeypatch.delenv("HBGL_DEBUG", raising=False)
    monkeypatch.delenv("RANK", raising=False)

    def run(*arguments: object, stdin: bytes | None = None) -> Answer:
        content = io.BufferedReader(io.BytesIO(stdin or b""))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
        capfdbinary.readouterr()
        code = main.run([str(one) for one in arguments])
        out, err = capfdbinary.readouterr()
        return Answer(code, out.decode(), err.decode())

    return run


def refused(answer: Answer, code: int, *words: str) -> None:
    """One clear line on standard error that has all the words, and nothing else anywhere."""
    assert (answer.code, answer.out) == (code, ""), answer
    assert answer.err.startswith("hbgl: error: "), answer.err
    assert "Traceback" not in answer.err
    assert "internal error" not in answer.err
    assert [word for word in words if word not in answer.err] == [], answer.err
