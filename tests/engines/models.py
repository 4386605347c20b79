"""Tiny models with random weights, and texts of random tokens."""

from __future__ import annotations

import numpy as np
import torch

from hbgl.batching import TokenizedTexts, collate
from hbgl.decisions import Decider, Decision
from hbgl.methods import build_method
from hbgl.settings import PRESETS, ModelSettings, Settings, TrainingSettings, with_overrides
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel
from tests.small_corpus import TAXONOMY
from tests.tiny import tiny_backbone

# bird -> {penguin, sparrow}; swimmer -> {penguin, fish}; fish -> shark: penguin has two parents,
# and shark is three levels deep.
DAG = Taxonomy.from_edges(
    [
        ("Root", "bird"),
        ("Root", "swimmer"),
        ("bird", "penguin"),
        ("bird", "sparrow"),
        ("swimmer", "penguin"),
        ("swimmer", "fish"),
        ("fish", "shark"),
    ]
)
DEEP = Taxonomy.from_edges(
    [("Root", "1"), ("Root", "one")] + [(str(level), str(level + 1)) for level in range(1, 6)]
)
FLOAT32 = TrainingSettings(precision="float32")
KINDS = {
    "hbgl": Settings(training=FLOAT32),
    "authors": with_overrides(PRESETS["authors"], {"training.precision": "float32"}),
    "expected": Settings(
        model=ModelSettings(level_input="expected", level_input_floor=0.3), training=FLOAT32
    ),
    "multilabel": Settings(model=ModelSettings(method="multilabel"), training=FLOAT32),
}


def random_model(
    kind: str = "hbgl", family: str = "bert", taxonomy: Taxonomy = TAXONOMY
) -> TrainedModel:
    """Random weights, and thresholds that about half of 40 random texts are above."""
    settings = KINDS[kind]
    torch.manual_seed(0)
    backbone = tiny_backbone(family, with_transform=True)
    method = build_method(backbone, taxonomy, settings.model, torch.randn(len(taxonomy), 16))
    for one in method.label_parameters():
        torch.nn.init.normal_(one)
    batch = collate(texts_of([6] * 40), np.arange(40), method.pad_id)
    decider = Decider(taxonomy, Decision.of_paper(len(taxonomy)), torch.device("cpu"))
    found = method.eval().predict(batch, decider).probabilities.numpy()
    decision = Decision(np.median(found, axis=0))
    return TrainedModel(taxonomy, settings, backbone, method, decision)


def texts_of(lengths: list[int], seed: int = 0) -> TokenizedTexts:
    """Random tokens of the tiny vocabularies."""
    offsets = np.cumsum([0, *lengths])
    ids = np.random.default_rng(seed).integers(10, 100, offsets[-1], dtype=np.int32)
    return TokenizedTexts(ids, offsets)
