"""The states of all masked levels at once, given what stands in each level: a training step.

``[u_1 .. u_{S-1}, m_1 .. m_S]`` after the text; u_S is left out, because no masked level sees it,
and in the last layer only the m_h are computed in full. Where text and labels are both new they go
through the layers together: one product per matrix over all positions of both, of which only
attention keeps them apart. Over short texts that is half the operations. Same numbers either way.

Shapes: B documents, N text positions, S levels (or labels to generate), d width.
"""

from __future__ import annotations

import torch

from hbgl.attending import attend, attend_both
from hbgl.attention import label_training_mask
from hbgl.encoder import TwoStreamEncoder
from hbgl.text_memory import TextMemory, label_attention_biases, last_queries

__all__ = ["states_after_text", "states_with_text"]


def states_after_text(
    encoder: TwoStreamEncoder, memory: TextMemory, known: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """States of m_1 .. m_S [B, S, d] after an encoded text.

    :param known: [B, S, d] u_1 .. u_S, or single labels; the last one is not used.
    :param mask: [d] the [MASK] embedding.
    """
    vectors, offsets, visible = _label_positions(known, mask)
    states, _ = encoder.encode_labels(memory, vectors, offsets, visible, asked=known.shape[1])
    return states


def states_with_text(
    encoder: TwoStreamEncoder,
    words: torch.Tensor,
    lengths: torch.Tensor,
    known: torch.Tensor,
    mask: torch.Tensor,
) -> torch.Tensor:
    """The same after :meth:`TwoStreamEncoder.encode_text` of [B, N, d] words, in one pass."""
    batch, width, size = words.shape
    vectors, offsets, visible = _label_positions(known, mask)
    asked, new = known.shape[1], vectors.shape[1]
    text, seen = encoder.embed_text(words, lengths)
    labels, positions = encoder.embed_labels(vectors, lengths, offsets)
    text_bias = encoder.text_bias(width, seen)
    label_biases = label_attention_biases(encoder.parts, seen, width, positions, visible)
    rows = [batch * width, batch * new]
    hidden = torch.cat([text.reshape(-1, size), labels.reshape(-1, size)])

    def apart(projected: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of both -> of text [B, H, N, k], laid out for its products, and of labels."""
        of_text, of_labels = torch.split(projected, rows)
        return (
            encoder.split_heads(of_text.view(batch, width, size)).contiguous(),
            encoder.split_heads(of_labels.view(batch, new, size)),
        )

    known_lengths = encoder.known_lengths(lengths)
    *layers, last = encoder.parts.layers
    for layer in layers:
        chance = layer.attention_dropout.p if encoder.training else 0.0
        query, key, value = (apart(one(hidden)) for one in (layer.query, layer.key, layer.value))
        of_text = attend(query[0], key[0], value[0], text_bias, chance, known_lengths)
        of_labels = attend_both(
            query[1], (key[0], value[0]), (key[1], value[1]), *label_biases, chance
        )
        mixed = [one.transpose(1, 2).reshape(-1, size) for one in (of_text, of_labels)]
        hidden = encoder.finish(layer, hidden, layer.attention_output(torch.cat(mixed)))
    key, value = apart(last.key(hidden)), apart(last.value(hidden))
    labels = torch.split(hidden, rows)[1].view(batch, new, size)[:, -asked:]
    chance = last.attention_dropout.p if encoder.training else 0.0
    query_of_labels = encoder.split_heads(last.query(labels))
    label_biases = last_queries(*label_biases, asked)
    mixed_labels = attend_both(
        query_of_labels, (key[0], value[0]), (key[1], value[1]), *label_biases, chance
    )
    return encoder.finish(last, labels, encoder.joined(last, mixed_labels))


def _label_positions(
    known: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors [B, 2S - 1, d], offsets [2S - 1] and who sees whom [2S - 1, 2S - 1]."""
    levels, device = known.shape[1], known.device
    vectors = torch.cat([known[:, :-1], mask.expand_as(known)], dim=1)
    offsets = torch.arange(levels, device=device)
    kept = torch.cat([offsets[:-1], levels + offsets])
    visible = label_training_mask(levels, device)[kept][:, kept]
    return vectors, torch.cat([offsets[:-1], offsets]), visible
