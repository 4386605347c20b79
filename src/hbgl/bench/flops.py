"""Floating-point operations that an answer needs, for real tokens only.

A multiplication and its addition are two operations. A token costs each layer two for every weight
of its matrices, ``2 (4 d^2 + 2 d i)``, and ``4 d`` for every token that it attends to. Padding,
levels computed anew, vocabulary columns and the dead part of the last layer are not needed: a
contender that computes them spends time on them, and its share of the machine falls. Training
counts three times the forward pass (forward, gradients of activations, gradients of weights).

Symbols: n tokens of a text, D levels, L labels, d width, i inner width, K layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hbgl.families import EncoderParts

__all__ = ["EncoderShape", "all_layers_flops", "needed_flops"]

_TRAINING = 3


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """The sizes of an encoder."""

    layers: int
    width: int
    inner: int

    @classmethod
    def of(cls, parts: EncoderParts) -> EncoderShape:
        """Those of a loaded encoder."""
        return cls(len(parts.layers), parts.hidden_size, parts.layers[0].widen.out_features)

    def token(self) -> int:
        """One token through the matrices of one layer."""
        return 2 * (4 * self.width**2 + 2 * self.width * self.inner)

    def key_value(self) -> int:
        """One token's key and value in one layer."""
        return 4 * self.width**2

    def attention(self, queries: int, keys: int) -> int:
        """Scores and mixing in one layer."""
        return 4 * queries * keys * self.width


def needed_flops(
    shape: EncoderShape,
    lengths: Sequence[int],
    levels: int,
    labels: int,
    *,
    method: str,
    training: bool,
) -> int:
    """What texts of these lengths need; in the last layer only keys and values of the text.

    ``hbgl``: D masked label positions and D - 1 seen ones, all at once in training; a prediction
    takes one at level 1 and two at each later one. ``flat``: [CLS] alone in the last layer.
    """
    forward = sum(_text(shape, n) for n in lengths)
    for n in lengths:
        if method == "flat":
            forward += shape.token() - shape.key_value() + shape.attention(1, n)
        else:
            forward += _label_positions(shape, n, levels)
        forward += 2 * shape.width * labels
    return forward * (_TRAINING if training else 1)


def all_layers_flops(shape: EncoderShape, lengths: Sequence[int], *, training: bool) -> int:
    """Every text token through every whole layer, the usual count; nothing for labels."""
    forward = sum(shape.layers * (n * shape.token() + shape.attention(n, n)) for n in lengths)
    return forward * (_TRAINING if training else 1)


def _text(shape: EncoderShape, n: int) -> int:
    whole = (shape.layers - 1) * (n * shape.token() + shape.attention(n, n))
    return whole + n * shape.key_value()


def _label_positions(shape: EncoderShape, n: int, levels: int) -> int:
    """m_h sees h label positions, u_{h-1} sees h - 1; of u the last layer needs keys and values."""
    total = 0
    for level in range(1, levels + 1):
        total += shape.layers * (shape.token() + shape.attention(1, n + level))
        if level > 1:
            whole = shape.token() + shape.attention(1, n + level - 1)
            total += (shape.layers - 1) * whole + shape.key_value()
    return total
