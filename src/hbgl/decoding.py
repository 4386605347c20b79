"""From a model's numbers to answers: labels, whole paths, probabilities.

A prediction walks the levels inside the model (:meth:`hbgl.model.HBGL.predict`); what is done here
is per document: naming, drawing paths, keeping probabilities.
"""

from __future__ import annotations

import numpy as np

from hbgl.prediction_output import Prediction
from hbgl.taxonomy import Taxonomy

__all__ = ["Prediction", "answer", "top_of_each_level"]


def answer(
    taxonomy: Taxonomy,
    probabilities: np.ndarray,
    chosen: np.ndarray,
    *,
    top_k: int | None = None,
    everything: bool = False,
) -> Prediction:
    """One document's answer from its probabilities [L] and choices [L].

    :param top_k: keep the probabilities of the k likeliest labels of each level, too.
    :param everything: keep the probabilities of all labels.
    """
    ids = np.flatnonzero(chosen)
    kept = ids
    if everything:
        kept = np.arange(len(taxonomy))
    elif top_k:
        kept = np.union1d(ids, top_of_each_level(taxonomy, probabilities, top_k))
    likeliest = kept[np.argsort(-probabilities[kept], kind="stable")]
    paths = taxonomy.paths(ids.tolist(), closed=False)
    return Prediction(
        labels=tuple(taxonomy.labels[i] for i in ids),
        paths=tuple(tuple(taxonomy.labels[i] for i in path) for path in paths),
        path_probabilities=tuple(float(min(probabilities[i] for i in path)) for path in paths),
        probabilities={taxonomy.labels[i]: float(probabilities[i]) for i in likeliest},
    )


def top_of_each_level(taxonomy: Taxonomy, probabilities: np.ndarray, k: int) -> np.ndarray:
    """Ids of the k likeliest labels of each level."""
    found = []
    for level in range(1, taxonomy.depth + 1):
        part = taxonomy.level_slice(level)
        order = np.argsort(-probabilities[part], kind="stable")[:k]
        found.append(order + part.start)
    return np.concatenate(found)
