"""The model cut into graphs of tensors alone, ready to be traced: what an engine runs.

HBGL is two graphs. ``text`` encodes token ids and gives each layer's keys and values; ``step`` runs
one level's label positions over them and gives the state that is scored. Which labels are chosen,
and the vectors they are turned into, stays outside. The flat baseline is one graph, ``flat``.

Shapes: B documents, N text positions, S new label positions (1 on level 1, then 2), P label
positions already there (``u_1 .. u_P``), H heads, k width of a head, d width. All but H, k and d
are dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from hbgl.attending import KeyValue, attend_both
from hbgl.encoder import TwoStreamEncoder
from hbgl.families import Layer
from hbgl.methods.multilabel import Multilabel
from hbgl.model import HBGL

__all__ = ["Graph", "graphs_of"]

_BATCH, _LENGTH, _NEW, _PAST = "batch", "length", "new", "past"
_TEXT_AXES = {0: _BATCH, 2: _LENGTH}
_PAST_AXES = {0: _BATCH, 2: _PAST}


@dataclass(frozen=True, slots=True)
class Graph:
    """A module to trace, and what goes in and out of it."""

    name: str
    module: nn.Module
    inputs: dict[str, torch.Tensor]
    """Example values by name, in the order of the module's arguments."""
    outputs: tuple[str, ...]
    axes: dict[str, dict[int, str]]
    """Which axes of which input or output are dynamic."""


class _TextEncoder(TwoStreamEncoder):
    """The text stream without a question to the data: padding is always masked."""

    def __init__(self, model: nn.Module, *, fused: bool) -> None:
        """``fused``: attention as one operation, for runtimes that have a kernel for it."""
        super().__init__(model)
        self.fused = fused

    def _passes(self, lengths: torch.Tensor, width: int) -> list[tuple[slice, int]]:
        return [(slice(None), width)]

    def embed_text(
        self, words: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        positions = torch.arange(words.shape[1])[None, :]
        return self._embed(words, positions, segment=0), positions < lengths[:, None]

    def text_bias(
        self, width: int, visible: torch.Tensor | None, hide_first: bool = False
    ) -> torch.Tensor | None:
        bias = super().text_bias(width, visible, hide_first)
        if bias is None or bias.is_floating_point():
            return bias
        return torch.zeros(bias.shape).masked_fill(~bias, float("-inf"))

    def known_lengths(self, lengths: torch.Tensor) -> None:
        """Not while a graph is written."""

    def _attend(
        self,
        layer: Layer,
        queries: torch.Tensor,
        key_value: KeyValue,
        bias: torch.Tensor | None,
        lengths: list[int] | None = None,
        guest: bool = False,
    ) -> torch.Tensor:
        query = self.split_heads(layer.query(queries))
        key, value = key_value
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value, bias)
        else:
            scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
            mixed = torch.softmax(scores if bias is None else scores + bias, dim=-1) @ value
        return self.joined(layer, mixed)


class _TextGraph(nn.Module):
    """Token ids [B, N] and lengths [B] -> keys and values of each layer, [B, H, N, k] each."""

    def __init__(self, encoder: _TextEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, ...]:
        words = self.encoder.parts.word_embeddings(ids)
        memory = self.encoder.encode_text(words, lengths)
        return tuple(one for layer in memory.pieces[0].layers for one in layer)


class _StepGraph(nn.Module):
    """One level: new label vectors over text and past -> the last one's state, and a longer past.

    Attention over text and labels is the softmax over both scores; the two parts are multiplied
    with their values apart, so that the text's keys and values are never copied.
    """

    def __init__(self, encoder: _TextEncoder, transform: nn.Module | None) -> None:
        super().__init__()
        self.encoder, self.transform = encoder, transform

    def forward(
        self, vectors: torch.Tensor, lengths: torch.Tensor, *memory: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Take vectors [B, S, d], lengths [B], text [B, H, N, k] and past [B, H, P, k].

        ``memory``: key and value of the text for each layer, then of the past for each layer. The
        new past lacks the last position: m_h is nobody's past.
        """
        encoder, layers = self.encoder, len(self.encoder.parts.layers)
        text, past = _pairs(memory[: 2 * layers]), _pairs(memory[2 * layers :])
        before, new = past[0][0].shape[2], vectors.shape[1]
        hidden, positions = encoder.embed_labels(
            vectors, lengths, torch.arange(before, before + new)
        )
        on_text, on_labels = self._biases(text[0][0].shape[2], lengths, positions, before)
        grown: list[torch.Tensor] = []
        for number, layer in enumerate(encoder.parts.layers):
            key, value = encoder._key_value(layer, hidden)
            key = torch.cat([past[number][0], key], dim=2)
            value = torch.cat([past[number][1], value], dim=2)
            grown += [key[:, :, :-1], value[:, :, :-1]]
            if number == layers - 1:  # of the last layer only m_h is read
                hidden = hidden[:, -1:]
                on_text, on_labels = on_text[:, :, -1:], on_labels[:, :, -1:]
            query = encoder.split_heads(layer.query(hidden))
            mixed = attend_both(query, text[number], (key, value), on_text, on_labels, 0.0)
            hidden = encoder.finish(layer, hidden, encoder.joined(layer, mixed))
        state = hidden[:, -1]
        return state if self.transform is None else self.transform(state), *grown

    def _biases(
        self, width: int, lengths: torch.Tensor, positions: torch.Tensor, before: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What is added to the scores of text [B, 1 or H, S, N] and of labels [.., S, P + S].

        Each label position sees the text, the past, and the new positions up to itself.
        """
        places = torch.arange(width)[None, :]
        hidden_text = (places >= lengths[:, None])[:, None, None, :]
        new = positions.shape[1]
        order = torch.arange(before, before + new)
        later = (torch.arange(before + new)[None, :] > order[:, None])[None, None]
        relative_bias = self.encoder.parts.relative_bias
        if relative_bias is None:
            on_text = torch.zeros(1, 1, new, 1)
            on_labels = torch.zeros(1, 1, new, before + new)
        else:
            to_text = relative_bias(places[:, None, :] - positions[:, :, None])
            to_labels = relative_bias((torch.arange(before + new)[None, :] - order[:, None])[None])
            on_text, on_labels = to_text.permute(0, 3, 1, 2), to_labels.permute(0, 3, 1, 2)
        infinity = float("-inf")
        return (
            on_text + torch.zeros(hidden_text.shape).masked_fill(hidden_text, infinity),
            on_labels + torch.zeros(later.shape).masked_fill(later, infinity),
        )


class _FlatGraph(nn.Module):
    """Token ids [B, N] and lengths [B] -> the logits of all labels, [B, L]."""

    def __init__(self, encoder: _TextEncoder, method: Multilabel) -> None:
        super().__init__()
        self.encoder = encoder
        self.head_weight, self.head_bias = method.head_weight, method.head_bias

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        state = self.encoder.first_state(self.encoder.parts.word_embeddings(ids), lengths)
        return functional.linear(state, self.head_weight, self.head_bias)


def graphs_of(method: HBGL | Multilabel, *, fused: bool) -> list[Graph]:
    """The graphs of a model on the CPU, in eval mode; they share its weights."""
    encoder = _TextEncoder(method.encoder.model, fused=fused).eval()
    parts = encoder.parts
    # The values are of no consequence, the sizes only in that none is 1 (which would look fixed).
    text = {"ids": torch.full((2, 5), method.pad_id), "lengths": torch.tensor([5, 3])}
    text_axes = {"ids": {0: _BATCH, 1: _LENGTH}, "lengths": {0: _BATCH}}
    if isinstance(method, Multilabel):
        flat = _FlatGraph(encoder, method).eval()
        return [Graph("flat", flat, text, ("logits",), text_axes | {"logits": {0: _BATCH}})]

    keys = _layer_names("text", len(parts.layers))
    past = _layer_names("past", len(parts.layers))
    grown = _layer_names("new", len(parts.layers))
    head = (parts.heads, parts.hidden_size // parts.heads)
    step = {"vectors": torch.zeros(2, 2, parts.hidden_size), "lengths": text["lengths"]}
    step |= {name: torch.zeros(2, head[0], 5, head[1]) for name in keys}
    step |= {name: torch.zeros(2, head[0], 3, head[1]) for name in past}
    step_axes = {"vectors": {0: _BATCH, 1: _NEW}, "lengths": {0: _BATCH}, "state": {0: _BATCH}}
    step_axes |= dict.fromkeys(keys, _TEXT_AXES)
    step_axes |= dict.fromkeys(past, _PAST_AXES)
    step_axes |= {name: {0: _BATCH, 2: f"new_{_PAST}"} for name in grown}
    return [
        Graph(
            "text",
            _TextGraph(encoder).eval(),
            text,
            keys,
            text_axes | dict.fromkeys(keys, _TEXT_AXES),
        ),
        Graph(
            "step",
            _StepGraph(encoder, method.transform).eval(),
            step,
            ("state", *grown),
            step_axes,
        ),
    ]


def _layer_names(what: str, layers: int) -> tuple[str, ...]:
    """``text_key_0, text_value_0, text_key_1, ...``."""
    return tuple(f"{what}_{part}_{number}" for number in range(layers) for part in ("key", "value"))


def _pairs(tensors: Sequence[torch.Tensor]) -> list[KeyValue]:
    return list(zip(tensors[::2], tensors[1::2], strict=True))
