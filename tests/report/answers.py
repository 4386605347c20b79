"""Tiny models with random weights and records with random labels, over any taxonomy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from hbgl.decisions import Calibration, Decision, LevelMap
from hbgl.methods import build_method
from hbgl.records import Record
from hbgl.settings import ModelSettings, Settings, TrainingSettings
from hbgl.taxonomy import Taxonomy, write_taxonomy
from hbgl.trained_model import TrainedModel
from tests.tiny import WORDS, tiny_backbone

TREE = Taxonomy.from_paths(
    [("a", "a1", "a11"), ("a", "a1", "a12"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("c",)]
)
GRAPH = Taxonomy.from_edges(
    [("Root", "a"), ("Root", "b"), ("a", "x"), ("b", "x"), ("b", "y"), ("x", "z"), ("a", "z")]
)
FLAT = Taxonomy.from_paths([("a",), ("b",), ("c",)])


def model_of(taxonomy: Taxonomy, *, calibrated: bool = True) -> TrainedModel:
    """Random weights, thresholds around one half, rule backoff."""
    torch.manual_seed(0)
    settings = Settings(
        model=ModelSettings(), training=TrainingSettings(precision="float32"), backbone="tiny"
    )
    backbone = tiny_backbone()
    vectors = torch.randn(len(taxonomy), 16) / 4
    method = build_method(backbone, taxonomy, settings.model, vectors).eval()
    thresholds = np.random.default_rng(0).uniform(0.3, 0.6, len(taxonomy)).astype(np.float32)
    maps = Calibration(tuple(LevelMap("platt", 0.8, 0.2) for _ in range(taxonomy.depth)))
    decision = Decision(thresholds, "backoff", maps if calibrated else Calibration())
    return TrainedModel(taxonomy, settings, backbone, method, decision, {"corpus": "small"})


def records_of(taxonomy: Taxonomy, documents: int, seed: int = 0) -> list[Record]:
    """Random words with up to two random labels and their ancestors."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(documents):
        words = random.choice(len(WORDS), size=random.integers(1, 12))
        labels = random.choice(len(taxonomy), size=random.integers(0, 3))
        closed = names(taxonomy, taxonomy.closure(labels.tolist()).tolist())
        text = " ".join(WORDS[i] for i in words)
        found.append(Record(text, closed, id=f"id-{number}", line=number + 1))
    return found


def write_split(folder: Path, taxonomy: Taxonomy, split: str, documents: int) -> None:
    """A new corpus folder with one split of random records."""
    folder.mkdir()
    write_taxonomy(taxonomy, folder / "taxonomy.tsv")
    lines = [
        json.dumps({"text": record.text, "labels": list(record.labels)})
        for record in records_of(taxonomy, documents)
    ]
    (folder / f"{split}.jsonl").write_text("\n".join(lines))


def names(taxonomy: Taxonomy, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(taxonomy.labels[i] for i in ids)
