"""Dropout that draws four decisions from each random number on a CPU.

There the generator, one number after the other, is what dropout costs. A 64-bit draw holds four
16-bit ones, so an element is kept where its 16 bits lie below ``round((1 - p) 2^16)``; what is kept
is divided by that share exactly. Other devices use torch's own.
"""

from __future__ import annotations

import torch
from torch.nn import functional

__all__ = ["dropout"]

_DRAWS = 1 << 16
_LOWEST = -(1 << 63)


def dropout(values: torch.Tensor, chance: float, *, training: bool) -> torch.Tensor:
    """Each element zero with probability ``chance``, the others scaled up; any shape."""
    if not training or chance == 0.0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, chance)
    count = values.numel()
    drawn = torch.empty(-(-count // 4), dtype=torch.int64).random_(_LOWEST, None)
    bits = drawn.view(torch.int16)[:count].view(values.shape)
    kept = round((1.0 - chance) * _DRAWS)
    # Compared straight into the format of the values: booleans are slow to turn into numbers.
    scale = torch.empty(values.shape, dtype=values.dtype)
    torch.lt(bits, kept - _DRAWS // 2, out=scale).mul_(_DRAWS / kept)
    return values * scale
