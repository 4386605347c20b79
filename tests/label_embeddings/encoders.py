"""The global stage computed the plain way: sentences through the Hugging Face model itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hbgl.attention import global_root_mask, global_self_mask
from hbgl.backbones import Backbone
from hbgl.label_embeddings import global_targets
from hbgl.settings import GlobalMask
from hbgl.taxonomy import Taxonomy


def random_taxonomy(random: np.random.Generator, labels: int, parents: int) -> Taxonomy:
    """A random tree (``parents`` 1) or DAG of at most five levels, with leaves among the roots."""
    depth = {"Root": 0}
    edges = []
    for number in range(labels):
        name = f"label {number}"
        known = [node for node, level in depth.items() if level < 5][:8]
        count = min(len(known), 1 + int(random.integers(parents)))
        chosen = [known[i] for i in random.choice(len(known), size=count, replace=False)]
        if "Root" in chosen:
            chosen = ["Root"]
        edges += [(parent, name) for parent in chosen]
        depth[name] = 1 + max(depth[parent] for parent in chosen)
    return Taxonomy.from_edges(edges)


def word_embeddings(backbone: Backbone) -> torch.Tensor:
    """The table of word embeddings, [V, d]."""
    model: Any = backbone.model
    table: torch.Tensor = model.get_input_embeddings().weight.detach()
    return table


def plain_states(
    backbone: Backbone,
    taxonomy: Taxonomy,
    vectors: torch.Tensor,
    masks: np.ndarray,
    attention: GlobalMask,
    segment: int,
) -> torch.Tensor:
    """Last states of all labels, [B, L, d], for label vectors [L, d] and masks [B, L]."""
    model: Any = backbone.model
    words = word_embeddings(backbone)
    masked = torch.from_numpy(masks)[:, :, None]
    tokens = torch.where(masked, words[backbone.mask_id], vectors)
    levels = torch.from_numpy(taxonomy.levels.astype(np.int64))
    if attention == "self":
        mask = torch.from_numpy(global_self_mask(taxonomy))
        return _through_hugging_face(model, tokens, levels, segment, mask)
    start, end = (
        words[token].expand(len(masks), 1, -1) for token in (backbone.cls_id, backbone.sep_id)
    )
    levels = torch.cat([torch.tensor([0]), levels, torch.tensor([taxonomy.depth + 1])])
    mask = torch.from_numpy(global_root_mask(taxonomy))
    tokens = torch.cat([start, tokens, end], dim=1)
    return _through_hugging_face(model, tokens, levels, segment, mask)[:, 1:-1]


def plain_loss(
    taxonomy: Taxonomy, states: torch.Tensor, vectors: torch.Tensor, masks: np.ndarray
) -> torch.Tensor:
    """Binary cross-entropy with a whole matrix of targets, summed."""
    total = torch.zeros(())
    for mask, state in zip(masks, states, strict=True):
        labels, rows, columns = global_targets(taxonomy, torch.from_numpy(mask))
        targets = torch.zeros(len(labels), len(taxonomy))
        targets[rows, columns] = 1
        scores = state[labels] @ vectors.T
        total = total + functional.binary_cross_entropy_with_logits(
            scores, targets, reduction="sum"
        )
    return total


def _through_hugging_face(
    model: Any, tokens: torch.Tensor, places: torch.Tensor, segment: int, mask: torch.Tensor
) -> torch.Tensor:
    """[B, S, d] through the model; ``forward`` where it lets places and segments be given."""
    batch, size, _ = tokens.shape
    family = model.config.model_type
    visible = mask.expand(batch, 1, size, size)
    places = places.expand(batch, size)
    if family in {"roberta", "mpnet"}:
        places = places + model.config.pad_token_id + 1
    hidden: torch.Tensor
    if family in {"bert", "electra", "roberta"}:
        segment = min(segment, model.config.type_vocab_size - 1)
        hidden = model(
            inputs_embeds=tokens,
            position_ids=places,
            token_type_ids=torch.full((batch, size), segment),
            attention_mask=visible,
        ).last_hidden_state
        return hidden
    bias = torch.zeros(visible.shape).masked_fill(~visible, torch.finfo(torch.float32).min)
    if family == "distilbert":
        hidden = model.embeddings(None, inputs_embeds=tokens, position_ids=places)
        hidden = model.transformer(hidden, attention_mask=bias).last_hidden_state
        return hidden
    # MPNet: relative positions are differences of levels.
    hidden = model.embeddings(inputs_embeds=tokens, position_ids=places)
    relative = places[0][None, :] - places[0][:, None]
    buckets = model.encoder.relative_position_bucket(relative)
    position_bias = model.encoder.relative_attention_bias(buckets).permute(2, 0, 1)[None]
    for layer in model.encoder.layer:
        hidden = layer(hidden, bias, position_bias)[0]
    return hidden
