"""Label sets of many documents as sorted integer keys: ``document * L + label``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "FloatArray",
    "IntArray",
    "LabelMatrix",
    "are_among",
    "common_keys",
    "distinct_keys",
    "label_keys",
    "pieces",
    "ratio",
]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
LabelMatrix: TypeAlias = "npt.NDArray[Any] | csr_matrix"

_CELLS = 1 << 24  # of a dense matrix looked at in one piece
_ENTRIES = 1 << 18  # of a sparse matrix


def ratio(numerator: npt.NDArray[Any], denominator: npt.NDArray[Any]) -> FloatArray:
    """Divide, and 0 where the denominator is 0."""
    shares: FloatArray = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=shares, where=denominator > 0)
    return shares


def pieces(*matrices: LabelMatrix, cells: int | None = None) -> Iterator[slice]:
    """Slices of rows, so that the keys of a slice take some tens of megabytes.

    Args:
        matrices: Of the same documents.
        cells: How many cells of a dense matrix a slice may have.
    """
    documents, labels = matrices[0].shape
    width = max(1, labels)
    start = 0
    while start < documents:
        end = min(_end(matrix, start, width, cells or _CELLS) for matrix in matrices)
        yield slice(start, end)
        start = end


def _end(matrix: LabelMatrix, start: int, labels: int, cells: int) -> int:
    """The row before which a piece from ``start`` on ends; at least one row."""
    documents: int = matrix.shape[0]
    if isinstance(matrix, np.ndarray):
        return min(documents, start + max(1, cells // labels))
    last = int(np.searchsorted(matrix.indptr, matrix.indptr[start] + _ENTRIES, side="right")) - 1
    return min(documents, max(start + 1, last))


def label_keys(matrix: LabelMatrix, rows: slice) -> IntArray:
    """``row * L + label`` of what is not zero in a slice of rows, sorted, each once."""
    if isinstance(matrix, np.ndarray):
        return np.flatnonzero(matrix[rows]).astype(np.int64, copy=False)
    pointers = matrix.indptr[rows.start : rows.stop + 1].astype(np.int64)
    entries = slice(pointers[0], pointers[-1])
    row = np.repeat(np.arange(len(pointers) - 1, dtype=np.int64), np.diff(pointers))
    keys: IntArray = row * matrix.shape[1] + matrix.indices[entries]
    keys = keys[matrix.data[entries] != 0]
    if np.all(keys[1:] > keys[:-1]):
        return keys
    return distinct_keys(keys)


def distinct_keys(keys: IntArray) -> IntArray:
    """The keys sorted, each once."""
    keys = np.sort(keys)
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    distinct: IntArray = keys[first]
    return distinct


def common_keys(one: IntArray, other: IntArray) -> IntArray:
    """The keys that are in both, sorted; each holds a key once and is sorted."""
    # Two sorted runs are merged in linear time; a key that is twice there is common.
    merged = np.concatenate([one, other])
    merged.sort(kind="stable")
    common: IntArray = merged[:-1][merged[1:] == merged[:-1]]
    return common


def are_among(wanted: IntArray, keys: IntArray) -> npt.NDArray[np.bool_]:
    """Which of the wanted keys are among the sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=bool)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: npt.NDArray[np.bool_] = keys[place] == wanted
    return found
