"""Label sets as paths of equal length, for classifiers that know one path per row.

Taxonomy a > (b, c), d; a document of {a, b, d} becomes two rows, ``a b`` and ``d .``: a path that
ends early goes on with the label ``.``, which says that it has ended. So ending at an inner label
is learnt like any other choice, and a document without labels is the row ``. .``. In a graph there
is a path through every parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from hbgl.taxonomy import Taxonomy

__all__ = ["END", "PathRows", "path_rows"]

END = "."
"""The label that says that a path has ended. Other labels are ids in decimal digits."""


@dataclass(frozen=True, slots=True)
class PathRows:
    """One row per document and path."""

    documents: np.ndarray
    """[rows] which document a row belongs to."""
    paths: np.ndarray
    """[rows, D] label ids as text, top first, ``END`` where a path has ended."""
    most: int
    """The most paths that a document has."""


def path_rows(gold: csr_matrix, taxonomy: Taxonomy) -> PathRows:
    """Every path of every document.

    Args:
        gold: [documents, L] boolean, closed under ancestors.
        taxonomy: Of L labels and D levels.
    """
    documents: list[int] = []
    rows: list[list[str]] = []
    most = 0
    for document in range(gold.shape[0]):
        ids = gold.indices[gold.indptr[document] : gold.indptr[document + 1]]
        paths = taxonomy.paths(ids.tolist()) or [()]
        most = max(most, len(paths))
        for path in paths:
            documents.append(document)
            rows.append([*map(str, path), *[END] * (taxonomy.depth - len(path))])
    return PathRows(np.array(documents, dtype=np.int64), np.array(rows, dtype=np.str_), most)
