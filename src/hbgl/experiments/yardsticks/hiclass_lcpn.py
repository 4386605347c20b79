"""``hiclass-lcpn``: HiClass, a local classifier per parent node, on sentence embeddings.

HiClass trains a multi-class classifier for every label with children, on rows of one path each.
Its classes for several labels per document ended with version 4; their rule lives on here: of a
parent's children, those whose probability is at least the highest one's less a tolerance. At
tolerance 0 the answer is HiClass's own, one path per document.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from hbgl.backbones import load_backbone
from hbgl.corpora import CorpusFolder
from hbgl.errors import MissingExtraError
from hbgl.experiments.yardsticks.documents import dev_documents, read_documents
from hbgl.experiments.yardsticks.fitted import FittedYardstick
from hbgl.experiments.yardsticks.label_paths import END, PathRows, path_rows
from hbgl.experiments.yardsticks.options import (
    YardstickOptions,
    length,
    name,
    numbers,
    option,
    read_options,
    whole,
)
from hbgl.experiments.yardsticks.search import choose_on_dev
from hbgl.experiments.yardsticks.sentence_vectors import SentenceEncoder
from hbgl.taxonomy import Taxonomy

__all__ = ["HiClassOptions", "LocalClassifiers", "fit_hiclass_lcpn"]


@dataclass(frozen=True)
class HiClassOptions(YardstickOptions):
    """The options of ``hiclass-lcpn``."""

    backbone: str = option("minilm", name)
    """Whose sentence embeddings; it must be on this machine already."""
    max_length: int = option(256, length)
    """Longest text in tokens."""
    c: tuple[float, ...] = option((1.0, 10.0, 100.0), numbers())
    """Inverse strength of the regularisation of the logistic regressions; tried on dev."""
    tolerance: tuple[float, ...] = option((0.0, 0.1, 0.2, 0.3, 0.4, 0.5), numbers(least_too=True))
    """How much less likely than the likeliest a child may be; several are tried on dev."""
    max_iterations: int = option(1000, whole)
    """Steps of the solver, of each local classifier."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A node with children: its classifier, and the label of each class, None where paths end."""

    classifier: Any
    labels: list[int | None]

    def children(self) -> tuple[list[str], list[int | None]]:
        """The children's keys and labels."""
        return self.classifier.classes_.tolist(), self.labels


class LocalClassifiers:
    """What HiClass fitted: for each node, how likely each child is given the node."""

    def __init__(self, fitted: Any, labels: int) -> None:
        """Take a fitted ``LocalClassifierPerParentNode`` over paths of :func:`path_rows`."""
        self._root: str = fitted.root_
        self._labels = labels
        self._nodes: dict[str, _Node] = {}
        for key, found in fitted.hierarchy_.nodes.items():
            if "classifier" in found:  # all but those of the last level
                names = [child.split(fitted.separator_) for child in found["classifier"].classes_]
                ids = [None if label[-1] == END else int(label[-1]) for label in names]
                self._nodes[key] = _Node(found["classifier"], ids)

    def chosen(self, vectors: np.ndarray, tolerance: float) -> csr_matrix:
        """[documents, L] boolean: down from the root through every child within the tolerance."""
        rows, columns = [], []
        waiting = [(self._root, np.arange(len(vectors)))]
        while waiting:
            key, here = waiting.pop()
            if key not in self._nodes or not len(here):
                continue
            node = self._nodes[key]
            shares = node.classifier.predict_proba(vectors[here])
            near = shares >= shares.max(axis=1, keepdims=True) - tolerance
            for child, label, inside in zip(*node.children(), near.T, strict=True):
                if label is not None:
                    rows.append(here[inside])
                    columns.append(np.full(len(rows[-1]), label))
                    waiting.append((child, rows[-1]))
        nothing = np.zeros(0, dtype=np.int64)
        places = np.concatenate([nothing, *rows]), np.concatenate([nothing, *columns])
        shape = (len(vectors), self._labels)
        # A label below two parents may be reached twice; a sum of booleans is an or.
        return csr_matrix((np.ones(len(places[0]), dtype=bool), places), shape=shape)

    def probabilities(self, vectors: np.ndarray) -> np.ndarray:
        """[documents, L] float32: the product of the children's shares along each path, summed."""
        found = np.zeros((len(vectors), self._labels), dtype=np.float32)
        waiting = [(self._root, np.ones(len(vectors)))]
        while waiting and len(vectors):
            key, share = waiting.pop()
            if key not in self._nodes:
                continue
            node = self._nodes[key]
            shares = node.classifier.predict_proba(vectors)
            for child, label, of_child in zip(*node.children(), shares.T, strict=True):
                if label is not None:
                    found[:, label] += share * of_child
                    waiting.append((child, share * of_child))
        return found.clip(0.0, 1.0)


class _HiClass(FittedYardstick):
    def __init__(
        self,
        taxonomy: Taxonomy,
        report: dict[str, Any],
        encoder: SentenceEncoder,
        model: LocalClassifiers,
        tolerance: float,
        *,
        one_path: bool,
    ) -> None:
        super().__init__(taxonomy, report)
        self._encoder, self._model, self._tolerance = encoder, model, tolerance
        self._one_path = one_path

    def _chosen(self, texts: Sequence[str]) -> csr_matrix:
        return self._model.chosen(self._encoder.vectors(texts), self._tolerance)

    def _probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        """None where documents have several paths: what children share is no probability then."""
        if not self._one_path:
            return None
        return self._model.probabilities(self._encoder.vectors(texts))


def fit_hiclass_lcpn(
    corpus: CorpusFolder,
    *,
    seed: int,
    options: Mapping[str, Any],
    said: Callable[[str], None],
) -> FittedYardstick:
    """Embed the texts, fit; C and the tolerance by their score on dev.

    Raises:
        UsageError: options that cannot be.
        CorpusError: a split is missing or empty.
        BackboneError: the backbone is not on this machine.
        MissingExtraError: HiClass is not installed.
    """
    start = time.monotonic()
    given = read_options("hiclass-lcpn", HiClassOptions, options)
    _hiclass()
    candidates = [
        {"c": c, "tolerance": tolerance} for c, tolerance in product(given.c, given.tolerance)
    ]
    dev = dev_documents(corpus, len(candidates))
    train = read_documents(corpus, "train")
    encoder = SentenceEncoder(load_backbone(given.backbone, offline=True), given.max_length)
    rows = path_rows(train.gold, corpus.taxonomy)
    vectors = encoder.vectors(train.texts)[rows.documents]
    dev_vectors = np.zeros((0, 0)) if dev is None else encoder.vectors(dev.texts)
    said(f"sentence embeddings: {len(train)} training documents, {len(vectors)} paths")
    embedding_seconds = time.monotonic() - start

    @lru_cache(maxsize=1)  # candidates of one C follow each other
    def fit_local(c: float) -> tuple[LocalClassifiers, bool]:
        local = LogisticRegression(C=c, max_iter=given.max_iterations, random_state=seed)
        return _fit_local(local, vectors, rows, len(corpus.taxonomy))

    found = choose_on_dev(
        candidates,
        lambda values: (*fit_local(values["c"]), values["tolerance"]),
        lambda model: model[0].chosen(dev_vectors, model[2]),
        dev=dev,
        taxonomy=corpus.taxonomy,
        metric=given.metric,
        said=said,
    )
    model, converged, tolerance = found.model
    report = {
        "yardstick": "hiclass-lcpn",
        "options": asdict(given),
        "seed": seed,
        **found.report,
        "hiclass": version("hiclass"),
        "backbone_sha256": encoder.backbone.sha256,
        "most_paths": rows.most,
        "converged": converged,
        "embedding_seconds": round(embedding_seconds, 3),
        "seconds": round(time.monotonic() - start, 3),
    }
    one_path = rows.most <= 1
    return _HiClass(corpus.taxonomy, report, encoder, model, tolerance, one_path=one_path)


def _hiclass() -> Any:
    """The class that fits, or what to install."""
    try:
        from hiclass import LocalClassifierPerParentNode
    except ImportError as error:
        raise MissingExtraError("the yardstick 'hiclass-lcpn'", "hiclass", "experiments") from error
    return LocalClassifierPerParentNode


def _fit_local(
    local: LogisticRegression, vectors: np.ndarray, rows: PathRows, labels: int
) -> tuple[LocalClassifiers, bool]:
    """The classifiers, and whether the solvers of all came to their end."""
    hierarchical = _hiclass()(local_classifier=local, verbose=logging.WARNING)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        hierarchical.fit(vectors, rows.paths)
    converged = not any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return LocalClassifiers(hierarchical, labels), converged
