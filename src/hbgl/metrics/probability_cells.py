"""Probabilities in a fixed number of cells that are fine near 0 and near 1.

A cell has a relative width of about 2^(shift - 23) of p below one half, and of 1 - p above. All
below 2^-32 is one cell. So millions of probabilities can be put in order, nearly, in the memory of
the cells.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from hbgl.metrics.label_keys import FloatArray

__all__ = ["cell_bounds", "cell_count", "cells"]

# The bits of a positive float32, read as an integer, grow with it.
_SMALLEST, _HALF = (int(np.float32(p).view(np.int32)) for p in (2.0**-32, 0.5))


def cell_count(shift: int) -> int:
    """How many cells there are.

    >>> cell_count(14)
    31745
    """
    return 2 * _low_cells(shift) + 1


def cells(probabilities: npt.NDArray[np.float32], shift: int) -> npt.NDArray[np.int32]:
    """The cell of each probability; a higher one never has a lower cell.

    >>> cells(np.array([0, 0.25, 0.5, 0.75, 1], dtype=np.float32), 23).tolist()
    [0, 30, 31, 32, 62]
    """
    low = probabilities < 0.5
    # 1 - p is exact in float32 from one half on.
    distance = np.where(low, probabilities, 1 - probabilities).astype(np.float32)
    steps = (distance.view(np.int32) >> shift) - (_SMALLEST >> shift)
    np.maximum(steps, 0, out=steps)
    return np.where(low, steps, cell_count(shift) - 1 - steps)


@cache
def cell_bounds(shift: int) -> tuple[FloatArray, FloatArray]:
    """The lower and the upper end of each cell."""
    low = _low_cells(shift)
    edges = (((np.arange(low + 1) + (_SMALLEST >> shift)) << shift).astype(np.int32)).view(
        np.float32
    )
    rising = edges.astype(np.float64)
    rising[0] = 0.0
    falling = 1 - rising[::-1]  # from one half to 1
    lower = np.concatenate([rising[:-1], falling[:1], falling[:-1]])
    upper = np.concatenate([rising[1:], falling[:1], falling[1:]])
    for ends in (lower, upper):
        ends.flags.writeable = False
    return lower, upper


def _low_cells(shift: int) -> int:
    return (_HALF >> shift) - (_SMALLEST >> shift)
