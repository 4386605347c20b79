"""The first label vectors: from the tokens of names and descriptions, from parents, or random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import torch

from hbgl.backbones import Backbone
from hbgl.families import encoder_parts
from hbgl.taxonomy import Taxonomy

__all__ = ["initial_vectors"]


def initial_vectors(
    taxonomy: Taxonomy,
    backbone: Backbone,
    kind: Literal["random", "name"] = "name",
    how: Literal["mean", "sum"] = "mean",
    seed: int = 0,
    *,
    descriptions: Mapping[str, str] | None = None,
    description_weight: float = 0.0,
    parent_weight: float = 0.0,
) -> torch.Tensor:
    """One vector per label, float32 [L, d] on the CPU.

    ``name``: the mean or sum of the backbone's word embeddings of the name's tokens, special tokens
    left out. A name without tokens (empty, or only characters that the tokenizer drops) gets the
    mean of the whole word-embedding table, which says nothing and lies where the words lie.
    With weights w and v the name's vector n becomes ``(1 - w) n + w d`` for a label with a
    description, d the mean of that one's tokens, and then, level by level from the second on,
    ``(1 - v) own + v (mean of the parents')``: an ancestor k levels up counts v^k.

    ``random``: normal, with the mean-free spread of the word embeddings (``how`` plays no part).
    """
    table = encoder_parts(backbone.model).word_embeddings.weight.detach().float().cpu()
    if kind == "random":
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(len(taxonomy), table.shape[1], generator=generator) * table.std()
    names = [taxonomy.names[label] for label in taxonomy.labels]
    vectors = _text_vectors(names, backbone, table, how)
    if descriptions and description_weight > 0:
        described = [i for i, label in enumerate(taxonomy.labels) if label in descriptions]
        sentences = [descriptions[taxonomy.labels[i]] for i in described]
        means = _text_vectors(sentences, backbone, table, "mean")
        vectors[described] = torch.lerp(vectors[described], means, description_weight)
    if parent_weight > 0:
        _mix_in_parents(vectors, taxonomy, parent_weight)
    return vectors


def _text_vectors(
    texts: list[str], backbone: Backbone, table: torch.Tensor, how: Literal["mean", "sum"]
) -> torch.Tensor:
    """Mean or sum of each text's word embeddings, [texts, d]."""
    encodings = backbone.tokenizer.encode_batch(texts, add_special_tokens=False)
    vectors = table.new_empty(len(texts), table.shape[1])
    nothing = table.mean(dim=0)
    for row, encoding in enumerate(encodings):
        words = table[encoding.ids]
        if not encoding.ids:
            vectors[row] = nothing
        else:
            vectors[row] = words.mean(dim=0) if how == "mean" else words.sum(dim=0)
    return vectors


def _mix_in_parents(vectors: torch.Tensor, taxonomy: Taxonomy, weight: float) -> None:
    """Each label's vector [L, d] moves to the mean of its parents', which have moved before it."""
    parents, children = torch.from_numpy(taxonomy.edges.astype(np.int64)).T
    levels = torch.from_numpy(taxonomy.levels[taxonomy.edges[:, 1]].astype(np.int64))
    for level in range(2, taxonomy.depth + 1):
        columns, mine = taxonomy.level_slice(level), levels == level
        places = children[mine] - columns.start
        own = vectors[columns]
        sums = torch.zeros_like(own).index_add_(0, places, vectors[parents[mine]])
        counts = torch.bincount(places, minlength=len(own))[:, None]
        vectors[columns] = torch.lerp(own, sums / counts, weight)
