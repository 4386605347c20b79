"""``tfidf-svm``: a linear support vector machine per label on TF-IDF of words and word pairs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from hbgl.corpora import CorpusFolder
from hbgl.errors import UsageError
from hbgl.experiments.yardsticks.documents import dev_documents, read_documents
from hbgl.experiments.yardsticks.fitted import FittedYardstick
from hbgl.experiments.yardsticks.options import (
    YardstickOptions,
    numbers,
    option,
    read_options,
    whole,
)
from hbgl.experiments.yardsticks.search import choose_on_dev
from hbgl.taxonomy import Taxonomy

__all__ = ["TfidfSvmOptions", "fit_tfidf_svm"]

_ROWS = 4096
"""Documents whose [rows, L] scores are in memory at once."""


@dataclass(frozen=True)
class TfidfSvmOptions(YardstickOptions):
    """The options of ``tfidf-svm``."""

    c: tuple[float, ...] = option((0.3, 1.0, 3.0, 10.0), numbers())
    """Inverse strength of the regularisation; several are tried on dev."""
    ngrams: int = option(2, whole)
    """Words in a row up to which sequences of words are features."""
    min_df: int = option(2, whole)
    """Training documents that a feature must occur in."""
    max_iterations: int = option(1000, whole)
    """Passes of the solver over the documents, of each label."""


@dataclass(slots=True)
class _LinearScores:
    """Scores of all labels: ``features weights + biases``; a label is chosen above 0."""

    weights: np.ndarray  # [features, L]
    biases: np.ndarray  # [L]
    unconverged: int

    def chosen(self, features: csr_matrix) -> csr_matrix:
        """[documents, L] boolean."""
        features = features.astype(self.weights.dtype)
        parts = []
        for start in range(0, features.shape[0], _ROWS):
            scores = features[start : start + _ROWS] @ self.weights + self.biases
            parts.append(csr_matrix(scores > 0))
        return vstack(parts, format="csr")


class _TfidfSvm(FittedYardstick):
    def __init__(
        self,
        taxonomy: Taxonomy,
        report: dict[str, Any],
        vectorizer: TfidfVectorizer,
        scores: _LinearScores,
    ) -> None:
        super().__init__(taxonomy, report)
        self._vectorizer, self._scores = vectorizer, scores

    def _chosen(self, texts: Sequence[str]) -> csr_matrix:
        return self._scores.chosen(self._vectorizer.transform(texts))

    def _probabilities(self, texts: Sequence[str]) -> None:
        """None: the distance from a hyperplane is no probability."""


def fit_tfidf_svm(
    corpus: CorpusFolder,
    *,
    seed: int,
    options: Mapping[str, Any],
    said: Callable[[str], None],
) -> FittedYardstick:
    """Fit, with C by its score on dev.

    Raises:
        UsageError: options that cannot be, or no feature left by ``min_df``.
        CorpusError: a split is missing or empty.
    """
    start = time.monotonic()
    chosen_options = read_options("tfidf-svm", TfidfSvmOptions, options)
    dev = dev_documents(corpus, len(chosen_options.c))
    train = read_documents(corpus, "train")
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, chosen_options.ngrams), min_df=chosen_options.min_df
    )
    try:
        features = vectorizer.fit_transform(train.texts)
    except ValueError as error:
        raise UsageError(
            f"yardstick tfidf-svm: {corpus.path}: no word occurs in {chosen_options.min_df} "
            "training documents; set min_df to 1"
        ) from error
    said(f"TF-IDF: {features.shape[0]} documents, {features.shape[1]} features")
    dev_features = None if dev is None else vectorizer.transform(dev.texts)
    found = choose_on_dev(
        [{"c": c} for c in chosen_options.c],
        lambda values: _fit_columns(
            features, train.gold, values["c"], seed, chosen_options.max_iterations
        ),
        lambda model: model.chosen(dev_features),
        dev=dev,
        taxonomy=corpus.taxonomy,
        metric=chosen_options.metric,
        said=said,
    )
    report = {
        "yardstick": "tfidf-svm",
        "options": asdict(chosen_options),
        "seed": seed,
        **found.report,
        "features": features.shape[1],
        "unconverged_labels": found.model.unconverged,
        "seconds": round(time.monotonic() - start, 3),
    }
    return _TfidfSvm(corpus.taxonomy, report, vectorizer, found.model)


def _fit_columns(
    features: csr_matrix, gold: csr_matrix, c: float, seed: int, max_iterations: int
) -> _LinearScores:
    """One machine per label. A label of no document is never chosen, of every document always."""
    documents, labels = gold.shape
    columns = gold.tocsc()
    counts = np.diff(columns.indptr)
    weights = np.zeros((features.shape[1], labels), dtype=np.float32)
    biases = np.where(counts == documents, 1.0, -1.0).astype(np.float32)
    unconverged = 0
    for label in np.flatnonzero((counts > 0) & (counts < documents)):
        machine = LinearSVC(C=c, dual="auto", random_state=seed, max_iter=max_iterations)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            machine.fit(features, columns[:, [label]].toarray()[:, 0])
        unconverged += any(issubclass(one.category, ConvergenceWarning) for one in caught)
        weights[:, label], biases[label] = machine.coef_[0], machine.intercept_[0]
    return _LinearScores(weights, biases, unconverged)
