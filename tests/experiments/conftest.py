"""A tiny backbone and corpora, experiments of seconds, and a yardstick that answers by words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hbgl.corpora import CorpusFolder
from hbgl.evaluation import label_matrix
from hbgl.experiments.plan import Plan
from hbgl.experiments.plan_reader import read_plan
from hbgl.taxonomy import Taxonomy
from tests.cli.conftest import write_corpus
from tests.tiny import tiny_folder

QUICK: dict[str, Any] = {
    "training": {
        "epochs": 2, "batch_size": 8, "learning_rate": 2e-2, "precision": "float32",
        "save_every": 2,
    },
    "global_stage": {"steps": 2},
    "decision": {"calibration": "none", "granularity": "level"},
}  # fmt: skip
METHODS: dict[str, Any] = {
    "local": {"preset": "default", "published": "HBGL"},
    "flat": {"settings": {"model": {"method": "multilabel"}}},
}


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbone") / "tiny"
    tiny_folder(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "wos", train=24, dev=8, test=12)


Maker = Callable[..., dict[str, Any]]


@pytest.fixture
def table(tmp_path: Path, backbone: Path, corpus: Path) -> Maker:
    """The nested tables of an experiment, with what a test changes."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "output": str(tmp_path / "out"),
            "corpora": [str(corpus)],
            "seeds": [0, 1],
            "baseline": "flat",
            "settings": {"backbone": str(backbone), **QUICK},
            "methods": METHODS,
            **changes,
        }

    return make


@pytest.fixture
def plan(table: Maker) -> Callable[..., Plan]:
    return lambda **changes: read_plan(table(**changes), "test")


class KnownWords:
    """Gives a text the labels of the training documents that have its first word."""

    def __init__(self, corpus: CorpusFolder, *, has_probabilities: bool) -> None:
        self.taxonomy: Taxonomy = corpus.taxonomy
        self.has_probabilities = has_probabilities
        self.labels: dict[str, tuple[str, ...]] = {}
        for record in corpus.records("train"):
            self.labels.setdefault(record.text.split()[0], record.labels)
        self.report: dict[str, Any] = {"words": len(self.labels)}

    def choose(self, texts: Sequence[str]) -> csr_matrix:
        found = [self.taxonomy.ids(self.labels.get(text.split()[0], ())) for text in texts]
        return label_matrix(found, len(self.taxonomy))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        return self.choose(texts).toarray() * 0.8 if self.has_probabilities else None


@pytest.fixture
def yardsticks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Registers ``known-words`` and ``sure-words``; the list hears how they were asked."""
    asked: list[dict[str, Any]] = []

    def fit_yardstick(
        name: str,
        corpus: CorpusFolder,
        *,
        seed: int,
        options: Mapping[str, Any],
        said: Callable[[str], None],
    ) -> KnownWords:
        asked.append({"name": name, "seed": seed, "options": dict(options)})
        said(f"fitting {name}")
        return KnownWords(corpus, has_probabilities=name == "sure-words")

    module = ModuleType("hbgl.experiments.yardsticks")
    module.YARDSTICKS = {"known-words": "labels of known words", "sure-words": "with numbers"}  # type: ignore[attr-defined]
    module.fit_yardstick = fit_yardstick  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return asked
