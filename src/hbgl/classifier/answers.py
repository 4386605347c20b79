"""Chosen labels in the form that was asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hbgl.errors import InputError
from hbgl.taxonomy import Taxonomy

__all__ = ["FRAMES", "as_frame_of", "as_labels", "as_matrix", "as_paths", "as_sparse"]

FRAMES = ("pandas", "polars")


def as_sparse(chosen: csr_matrix, columns: npt.NDArray[np.int64]) -> csr_matrix:
    """[texts, columns] of 0 and 1 as a CSR matrix, which scikit-learn's metrics take too."""
    return chosen[:, columns].astype(np.int64)


def as_matrix(chosen: csr_matrix, columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """[texts, columns] of 0 and 1, in the type that scikit-learn gives such matrices."""
    matrix: npt.NDArray[np.int64] = as_sparse(chosen, columns).toarray()
    return matrix


def as_labels(chosen: csr_matrix, taxonomy: Taxonomy) -> npt.NDArray[np.object_]:
    """[texts] lists of labels, parents before children."""
    return _rows([[taxonomy.labels[i] for i in ids] for ids in _ids(chosen)])


def as_paths(chosen: csr_matrix, taxonomy: Taxonomy) -> npt.NDArray[np.object_]:
    """[texts] lists of paths, each a tuple of labels from a root down."""
    return _rows(
        [
            [tuple(taxonomy.labels[i] for i in path) for path in taxonomy.paths(ids, closed=False)]
            for ids in _ids(chosen)
        ]
    )


def as_frame_of(
    values: npt.NDArray[Any], columns: Sequence[str], X: Any, library: bool | str
) -> Any:
    """A table with a column for each label; in pandas with the index that X has.

    :param library: True is pandas.
    :raises InputError: for another library, or one that is not installed.
    """
    name = "pandas" if library is True else library
    if name not in FRAMES:
        raise InputError(f"as_frame must be True, False, 'pandas' or 'polars', not {library!r}")
    try:
        frames = importlib.import_module(str(name))
    except ImportError:
        raise InputError(f"as_frame needs {name}; install it: pip install {name}") from None
    if name == "polars":
        return frames.DataFrame(values, schema=list(columns))
    index = X.index if hasattr(X, "iloc") else None
    return frames.DataFrame(values, columns=list(columns), index=index)


def _ids(chosen: csr_matrix) -> list[list[int]]:
    return [chosen.indices[a:b].tolist() for a, b in pairwise(chosen.indptr)]


def _rows(rows: list[Any]) -> npt.NDArray[np.object_]:
    """One object per row, even where all rows are equally long."""
    found = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        found[place] = row
    return found
