"""A tiny backbone and a tiny corpus as folders, and workloads over them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hbgl.bench.spec import WorkloadSpec
from hbgl.bench.workload import Workload, open_workload
from tests.tiny import WORDS, tiny_folder

TAXONOMY = "Root\tmoney\tsport\nmoney\tbank\tcard\nsport\tball\ttennis\nball\tfootball\tgolf\n"
LEAVES = ("bank", "card", "football", "golf", "tennis")
SIZES = {"train": 40, "test": 24}

Workloads = Callable[..., Workload]


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backbone") / "tiny"
    tiny_folder(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of 2 to 30 words with one or two labels of three levels."""
    folder = tmp_path_factory.mktemp("corpus") / "topics"
    folder.mkdir()
    (folder / "taxonomy.tsv").write_text(TAXONOMY)
    for split, size in SIZES.items():
        draw = random.Random(split)
        documents = [
            {
                "text": " ".join(draw.choices(WORDS, k=draw.randrange(2, 30))),
                "labels": draw.sample(LEAVES, draw.randrange(1, 3)),
            }
            for _ in range(size)
        ]
        (folder / f"{split}.jsonl").write_text("".join(f"{json.dumps(d)}\n" for d in documents))
    return folder


@pytest.fixture
def workload(backbone: Path, corpus: Path) -> Workloads:
    """Open a workload anew, in float32, with whatever the test wants changed."""

    def build(**changes: object) -> Workload:
        values: dict[str, object] = {
            "corpus": str(corpus),
            "documents": 24,
            "backbone": str(backbone),
            "precision": "float32",
        }
        return open_workload(WorkloadSpec(**{**values, **changes}))  # type: ignore[arg-type]

    return build
