"""The first label vectors: from the tokens of the labels' names, or random."""

from __future__ import annotations

from typing import Literal

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
) -> torch.Tensor:
    """One vector per label, float32 [L, d] on the CPU.

    ``name``: the mean or sum of the backbone's word embeddings of the name's tokens, special tokens
    left out. A name without tokens (empty, or only characters that the tokenizer drops) gets the
    mean of the whole word-embedding table, which says nothing and lies where the words lie.
    ``random``: normal, with the mean-free spread of the word embeddings (``how`` plays no part).
    """
    table = encoder_parts(backbone.model).word_embeddings.weight.detach().float().cpu()
    if kind == "random":
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(len(taxonomy), table.shape[1], generator=generator) * table.std()
    names = [taxonomy.names[label] for label in taxonomy.labels]
    encodings = backbone.tokenizer.encode_batch(names, add_special_tokens=False)
    vectors = table.new_empty(len(taxonomy), table.shape[1])
    nothing = table.mean(dim=0)
    for row, encoding in enumerate(encodings):
        words = table[encoding.ids]
        if not encoding.ids:
            vectors[row] = nothing
        else:
            vectors[row] = words.mean(dim=0) if how == "mean" else words.sum(dim=0)
    return vectors
