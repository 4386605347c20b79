"""The method computed the plain way: one long sequence through the Hugging Face model itself.

``[text, u_1..u_S, m_1..m_S]`` with explicit positions, segments and a full mask, no cache.
The two streams must give the same numbers.
"""

from __future__ import annotations

from typing import Any

import torch

from hbgl.attention import long_sequence_mask
from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.model import HBGL


def long_states(backbone: Backbone, batch: Batch, labels: torch.Tensor) -> torch.Tensor:
    """States of all 2S label positions, [B, 2S, d], for label vectors [B, 2S, d]."""
    levels = labels.shape[1] // 2
    rows = []
    for row in range(len(batch.ids)):
        ids, length = batch.ids[row : row + 1], batch.lengths[row : row + 1]
        width = ids.shape[1]
        words = backbone.model.get_input_embeddings()(ids)
        label_places = length[:, None] + torch.arange(levels).repeat(2)[None]
        places = torch.cat([torch.arange(width)[None], label_places], dim=1)
        segments = torch.cat(
            [torch.zeros(1, width, dtype=torch.long), torch.ones(1, 2 * levels, dtype=torch.long)],
            1,
        )
        mask = long_sequence_mask(length, width, levels)
        vectors = torch.cat([words, labels[row : row + 1]], dim=1)
        states = _through_hugging_face(backbone.model, vectors, places, segments, mask)
        rows.append(states[:, width:])
    return torch.cat(rows)


def _through_hugging_face(
    model: Any,
    vectors: torch.Tensor,
    places: torch.Tensor,
    segments: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """One [1, T, d] sequence through the model's own modules and forward methods."""
    bias = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)[:, None]
    family = model.config.model_type
    if family in {"roberta", "mpnet"}:
        places = places + 2  # both count positions from padding id + 1 = 2
    # RoBERTa's published checkpoints have a single segment, which labels then share with the text.
    segments = segments.clamp(max=getattr(model.config, "type_vocab_size", 1) - 1)
    hidden: torch.Tensor
    if family in {"bert", "electra", "roberta"}:
        hidden = model.embeddings(
            inputs_embeds=vectors, position_ids=places, token_type_ids=segments
        )
        hidden = model.encoder(hidden, attention_mask=bias).last_hidden_state
    elif family == "distilbert":
        hidden = model.embeddings(None, inputs_embeds=vectors, position_ids=places)
        hidden = model.transformer(hidden, attention_mask=bias).last_hidden_state
    else:
        hidden = model.embeddings(inputs_embeds=vectors, position_ids=places)
        relative = places[0][None, :] - places[0][:, None]
        buckets = model.encoder.relative_position_bucket(relative)
        position_bias = model.encoder.relative_attention_bias(buckets).permute(2, 0, 1)[None]
        for layer in model.encoder.layer:
            hidden = layer(hidden, bias, position_bias)[0]
    return hidden


def long_training_states(backbone: Backbone, method: HBGL, batch: Batch) -> torch.Tensor:
    """States of m_1 .. m_S in training, [B, S, d]."""
    assert batch.gold is not None
    words = torch.as_tensor(backbone.model.get_input_embeddings().weight)
    mask, sep = words[backbone.mask_id], words[backbone.sep_id]
    known = method.teacher_inputs(batch.gold, mask, sep)
    masked = mask.expand_as(known)
    states = long_states(backbone, batch, torch.cat([known, masked], dim=1))
    return states[:, method.levels :]


def long_prediction(
    backbone: Backbone, method: HBGL, batch: Batch, threshold: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities and choices, every level from a whole new long sequence."""
    size = len(method.label_vectors)
    probabilities = torch.zeros(len(batch.ids), size)
    chosen = torch.zeros(len(batch.ids), size, dtype=torch.bool)
    going_on = torch.ones(len(batch.ids), 1, dtype=torch.bool)
    for level, columns in enumerate(method.slices):
        states = long_training_states(
            backbone, method, Batch(batch.ids, batch.lengths, gold=chosen)
        )[:, level]
        scores = torch.sigmoid(method.logits(states))
        probabilities[:, columns] = scores[:, columns]
        chosen[:, columns] = (scores[:, columns] > threshold) & going_on
        if method.sep_class:
            going_on = going_on & (scores[:, -1:] <= 0.5)
    return probabilities, chosen
