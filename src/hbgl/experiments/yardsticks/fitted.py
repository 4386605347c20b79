"""What a fitted yardstick answers, closed under ancestors whatever the method behind it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from hbgl.errors import UsageError
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import label_keys
from hbgl.taxonomy import Taxonomy

__all__ = ["FittedYardstick", "close_ancestors"]


class FittedYardstick(ABC):
    """A method that has seen its training documents."""

    def __init__(self, taxonomy: Taxonomy, report: dict[str, Any]) -> None:
        self.taxonomy = taxonomy
        self.report = report
        """JSON: the options, what was tried and chosen on dev, seconds."""

    def choose(self, texts: Sequence[str]) -> csr_matrix:
        """The labels of each text and all their ancestors, [texts, L] boolean, taxonomy order."""
        _refuse_one_text(texts)
        if not len(texts):
            return csr_matrix((0, len(self.taxonomy)), dtype=bool)
        return close_ancestors(self._chosen(texts), self.taxonomy)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        """A probability for every label, [texts, L] float32; None where the method has none."""
        _refuse_one_text(texts)
        return self._probabilities(texts)

    @abstractmethod
    def _chosen(self, texts: Sequence[str]) -> csr_matrix:
        """The labels that the method itself chooses, [texts, L]; of one text or more."""

    @abstractmethod
    def _probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        """The probabilities that the method itself gives."""


def close_ancestors(chosen: csr_matrix, taxonomy: Taxonomy) -> csr_matrix:
    """The labels of each row with all their ancestors, through every parent.

    Args:
        chosen: [documents, L]; what is not zero is a label.
        taxonomy: Of L labels.

    Returns:
        [documents, L] boolean, columns sorted within each row.
    """
    documents, labels = chosen.shape
    keys = LabelGraph(taxonomy).closure(label_keys(chosen, slice(0, documents)))
    offsets = np.searchsorted(keys, np.arange(documents + 1, dtype=np.int64) * labels)
    return csr_matrix(
        (np.ones(len(keys), dtype=bool), keys % labels, offsets), shape=(documents, labels)
    )


def _refuse_one_text(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise UsageError("one text was given where a list of texts belongs; write [text]")
