"""A taxonomy of eight labels and texts that spell their labels, small enough to overfit.

animals: cats, dogs (dogs: puppies)      plants: trees, herbs (trees: oaks)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from hbgl.backbones import Backbone
from hbgl.batching import tokenize
from hbgl.decisions import Decider, Decision
from hbgl.evaluation import LabelledTexts, label_matrix
from hbgl.records import Record
from hbgl.taxonomy import Taxonomy
from tests.tiny import WORDS

TAXONOMY = Taxonomy.from_edges(
    [
        ("Root", "animals"),
        ("Root", "plants"),
        ("animals", "cats"),
        ("animals", "dogs"),
        ("plants", "trees"),
        ("plants", "herbs"),
        ("dogs", "puppies"),
        ("trees", "oaks"),
    ]
)
EIGHT = (
    ("money bank", ("cats",)),
    ("bank account money pay", ("dogs",)),
    ("wheat corn", ("puppies",)),
    ("rain snow weather", ("trees",)),
    ("oil gas", ("herbs",)),
    ("sun red green", ("oaks",)),
    ("court police law war peace", ("cats", "oaks")),
    ("blue", ()),
)


def closed(labels: Iterable[str], taxonomy: Taxonomy = TAXONOMY) -> tuple[str, ...]:
    """The labels with all their ancestors, in taxonomy order."""
    return tuple(taxonomy.labels[i] for i in taxonomy.closure(taxonomy.ids(labels).tolist()))


def eight_records() -> list[Record]:
    return [Record(text, closed(labels)) for text, labels in EIGHT]


def random_records(documents: int, seed: int = 0, longest: int = 20) -> list[Record]:
    """Random words with random label sets: nothing to learn, much to get wrong."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(documents):
        words = random.choice(len(WORDS), size=random.integers(1, longest))
        labels = random.choice(len(TAXONOMY), size=random.integers(0, 3), replace=False)
        found.append(
            Record(" ".join(WORDS[i] for i in words), closed(TAXONOMY.labels[i] for i in labels))
        )
    return found


def labelled(records: Iterable[Record], backbone: Backbone, max_length: int = 32) -> LabelledTexts:
    """Records as the training loop takes them."""
    known = list(records)
    texts = tokenize([record.text for record in known], backbone.tokenizer, max_length)
    ids = [TAXONOMY.ids(record.labels) for record in known]
    return LabelledTexts(texts, label_matrix(ids, len(TAXONOMY)))


def deciding(
    threshold: float | torch.Tensor = 0.5, taxonomy: Taxonomy = TAXONOMY, **choices: Any
) -> Decider:
    """The paper's decision, or one with other ``choices``, ready for the CPU."""
    thresholds = torch.as_tensor(threshold).expand(len(taxonomy)).numpy()
    return Decider(taxonomy, Decision(thresholds, **choices), torch.device("cpu"))
