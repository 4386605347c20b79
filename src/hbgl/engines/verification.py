"""An engine beside the model that it came from, on the same documents.

A score of level h is compared where both chose the same labels above it: an other choice, made on a
score that lay on its threshold, is another input to the levels below.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from hbgl.batching import TokenizedTexts
from hbgl.decisions import Decider, Decision, Decoded
from hbgl.engines.engine import Engine
from hbgl.evaluation import predict_batches
from hbgl.methods import Method
from hbgl.taxonomy import Taxonomy

__all__ = ["Agreement", "compare", "random_texts"]

_TOKEN_BUDGET = 4096


@dataclass(frozen=True, slots=True)
class Agreement:
    """How close two sets of answers are."""

    documents: int
    largest_score_difference: float
    """Over all comparable scores, before calibration and sigmoid."""
    mean_probability_difference: float
    """Over all documents and labels."""
    equal_label_sets: float
    """Share of documents with the same labels chosen."""


def compare(method: Method, engine: Engine, texts: TokenizedTexts, decision: Decision) -> Agreement:
    """Both on the same batches, the model in float32."""
    decider = Decider(engine.taxonomy, _as_walked(decision), torch.device("cpu"))
    largest = total = 0.0
    equal = 0
    answers = (
        predict_batches(one, texts, decider, precision="float32", token_budget=_TOKEN_BUDGET)
        for one in (method, engine)
    )
    for (_, expected), (_, found) in zip(*answers, strict=True):
        largest = max(largest, _largest_difference(expected, found, engine.taxonomy))
        total += float((expected.probabilities - found.probabilities).abs().mean(dim=1).sum())
        equal += int((expected.chosen == found.chosen).all(dim=1).sum())
    count = len(texts)
    return Agreement(count, largest, total / count, equal / count)


def random_texts(vocabulary: int, max_length: int, documents: int = 24) -> TokenizedTexts:
    """Random tokens in texts of all lengths, the longest possible among them."""
    random = np.random.default_rng(0)
    lengths = np.unique(np.geomspace(2, max_length, documents).round().astype(np.int64))
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return TokenizedTexts(random.integers(0, vocabulary, offsets[-1], dtype=np.int32), offsets)


def _as_walked(decision: Decision) -> Decision:
    """The decision without what is done to the labels after the last level."""
    rule = "paper" if decision.rule == "closed" else decision.rule
    return dataclasses.replace(decision, rule=rule, most_paths=None)


def _largest_difference(expected: Decoded, found: Decoded, taxonomy: Taxonomy) -> float:
    comparable = torch.ones(len(expected.scores), dtype=torch.bool)
    largest = 0.0
    for level in range(1, taxonomy.depth + 1):
        columns = taxonomy.level_slice(level)
        apart = (expected.scores[:, columns] - found.scores[:, columns]).abs()[comparable]
        if apart.numel():
            # A score that is no number is as far away as can be.
            largest = max(largest, float(apart.nan_to_num(nan=float("inf")).max()))
        comparable &= (expected.chosen[:, columns] == found.chosen[:, columns]).all(dim=1)
    return largest
