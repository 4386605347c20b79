"""An encoded batch of texts, and who sees what of it.

A batch goes through the text stream in parts that suit a CPU's caches; the label stream takes all
of it at once and attends part by part. Shapes: B documents, N text positions, S new label
positions, P label positions already there, H heads, k width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from hbgl.attending import KeyValue
from hbgl.batching import forward_tokens
from hbgl.families import EncoderParts

__all__ = [
    "TextMemory",
    "TextPiece",
    "all_rows",
    "cut_into_passes",
    "label_attention_biases",
    "last_queries",
    "text_attention_bias",
    "with_guest",
    "without_guest",
]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Consecutive documents of a batch that went through the text stream together."""

    rows: slice
    layers: list[KeyValue]
    visible: torch.Tensor | None
    """[documents, N] which positions labels may see; None where they may see all."""

    @property
    def width(self) -> int:
        """N, padding included."""
        return self.layers[0][0].shape[2]


@dataclass(frozen=True, slots=True)
class TextMemory:
    """An encoded batch of texts: all that the label stream needs of it."""

    pieces: list[TextPiece]
    lengths: torch.Tensor
    """[B] real text positions."""


def cut_into_passes(lengths: torch.Tensor, width: int) -> list[tuple[slice, int]]:
    """Rows of a batch and their width, so that each part suits a CPU's caches.

    The label stream still takes the whole batch at once: its few positions would leave a processor
    waiting for weights. Not in training, where a batch is no larger than a part.
    """
    if lengths.device.type != "cpu" or torch.is_grad_enabled():
        return [(slice(0, len(lengths)), width)]
    parts: list[tuple[slice, int]] = []
    most, start, widest = forward_tokens(lengths.device), 0, 0
    for row, length in enumerate(lengths.tolist()):
        wider = max(widest, length)
        if row > start and (row + 1 - start) * wider > most:
            parts.append((slice(start, row), widest))
            start, wider = row, length
        widest = wider
    return [*parts, (slice(start, len(lengths)), widest)]


def all_rows(parts: list[torch.Tensor]) -> torch.Tensor:
    """What was computed pass by pass, one after the other."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def text_attention_bias(
    parts: EncoderParts, width: int, visible: torch.Tensor | None, hide_first: bool
) -> torch.Tensor | None:
    """The attention mask of text among text: boolean [B, 1, 1, N], MPNet [B, H, N, N] float.

    :param hide_first: position 0 is seen by itself alone: boolean [B or 1, 1, N, N].
    """
    mask = None if visible is None else visible[:, None, None, :]
    device = parts.word_embeddings.weight.device
    if hide_first:
        sees = torch.ones(1, 1, width, width, dtype=torch.bool, device=device)
        sees[:, :, 1:, 0] = False
        return sees if mask is None else sees & mask
    if parts.relative_bias is None:
        return mask
    places = torch.arange(width, device=device)
    relative = parts.relative_bias(places[None, :] - places[:, None])  # [N, N, H]
    bias = relative.permute(2, 0, 1)[None]
    return bias if mask is None else bias.masked_fill(~mask, float("-inf"))


def with_guest(
    hidden: torch.Tensor, visible: torch.Tensor | None, guest: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """A guest [B, 1, d] before the text [B, N, d], and which of the positions are real."""
    together = torch.cat([guest, hidden], dim=1)
    return together, None if visible is None else functional.pad(visible, (1, 0), value=True)


def without_guest(visible: torch.Tensor | None, hidden: torch.Tensor) -> torch.Tensor:
    """Which of the positions of [B, N, d] labels may see, [B or 1, N]: all but the guest.

    Its key and value stay: cut off, those of the text would have to be copied for every product.
    """
    seen = hidden.new_ones(1, hidden.shape[1], dtype=torch.bool) if visible is None else visible
    seen = seen.clone()
    seen[:, 0] = False
    return seen


def label_attention_biases(
    parts: EncoderParts,
    visible: torch.Tensor | None,
    width: int,
    positions: torch.Tensor,
    mask: torch.Tensor,
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """The attention masks of labels over text [B, 1, 1, N] and over labels [1, 1, S, P + S].

    With MPNet's bias [B, H, S, N] and [B, H, S, P + S], float.

    :param visible: [B, N] which text positions they see; None: all.
    :param positions: [B, S] of the new label positions.
    :param mask: [S, P + S] who sees whom among labels.
    """
    on_text = None if visible is None else visible[:, None, None, :]
    on_labels = mask[None, None]
    if parts.relative_bias is None:
        return on_text, on_labels
    own = positions[:, :, None]
    places = torch.arange(width, device=positions.device)
    to_text = parts.relative_bias(places - own).permute(0, 3, 1, 2)
    if on_text is not None:
        to_text = to_text.masked_fill(~on_text, float("-inf"))
    # What is cached, u_1 .. u_P, stands right before the new positions.
    past = mask.shape[1] - mask.shape[0]
    before = positions[:, :1] - past + torch.arange(past, device=positions.device)
    keys = torch.cat([before, positions], dim=1)[:, None, :]
    to_labels = parts.relative_bias(keys - own).permute(0, 3, 1, 2)
    return to_text, to_labels.masked_fill(~on_labels, float("-inf"))


def last_queries(
    on_text: torch.Tensor | None, on_labels: torch.Tensor, count: int
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """Of both masks only the rows of the last ``count`` label positions."""
    # A mask that is one row for all of them stays as it is.
    return None if on_text is None else on_text[:, :, -count:], on_labels[:, :, -count:]
