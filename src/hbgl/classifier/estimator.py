"""The estimator: fit, predict, predict_proba, score; saving and loading is in persistence.py."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hbgl.backbones import load_backbone
from hbgl.classifier.answers import as_frame_of, as_labels, as_matrix, as_paths, as_sparse
from hbgl.classifier.labels import closed_labels, column_ids
from hbgl.classifier.parameters import decision_of
from hbgl.classifier.persistence import Persistent
from hbgl.classifier.targets import read_targets
from hbgl.classifier.texts import raise_faults, read_texts
from hbgl.classifier.training_data import read_training_data
from hbgl.decisions import Decision
from hbgl.errors import InputError
from hbgl.metrics import Scores
from hbgl.records import Record
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel
from hbgl.training import Evaluated
from hbgl.training_run import RunListener, train_records

__all__ = ["HBGLClassifier"]

_log = logging.getLogger(__name__)


class HBGLClassifier(Persistent, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A hierarchical text classifier with scikit-learn's conventions.

    >>> model = HBGLClassifier(epochs=3)                                     # doctest: +SKIP
    >>> model.fit(["my card was stolen"], ["banking > freeze_account"])      # doctest: +SKIP
    >>> model.predict_paths(["somebody took my card"])[0]                    # doctest: +SKIP
    [('banking', 'freeze_account')]

    Training: what is None is the preset's. Decision: ``rule``, ``threshold``, ``calibrated`` and
    ``most_paths`` hold for the next answer, without fitting again; what is None is the model's own.

    Args:
        taxonomy: a :class:`~hbgl.taxonomy.Taxonomy`, a file of one, or (parent, child) pairs. None:
            the one that the paths in y form, where a label that is in no path is a root.
        preset: ``default``, ``paper`` or ``authors``.
        backbone: a known name, a folder or a hub id.
        epochs: passes over the training texts.
        batch_size: texts per optimisation step.
        learning_rate: the highest one.
        max_length: longest text in tokens.
        seed: of everything random, the split included.
        settings: every other setting by its name, ``{"model.head": "transform"}``.
        dev_size: what ``fit`` keeps apart where it is given no dev texts, to choose the checkpoint
            and to fit calibration and thresholds: a share, or a number of texts; 0: nothing.
        rule: ``paper``, ``closed``, ``coherent``, ``backoff`` or ``leaf``. In ``fit`` also the rule
            that thresholds are fitted for.
        threshold: one for all labels, one per level, or a dict from labels.
        calibrated: False: probabilities are plain sigmoids; in ``fit``, no calibration is fitted.
        most_paths: at most so many paths per text; 0: as many as there are.
        output: what ``predict`` returns: ``matrix``, ``sparse``, ``labels`` or ``paths``.
        scoring: what ``score`` returns: ``micro_f1``, ``macro_f1``, ``macro_f1_supported`` or
            ``exact_match``.

    Attributes:
        model_: the :class:`~hbgl.trained_model.TrainedModel`.
        taxonomy_: its taxonomy.
        classes_: the columns of ``predict`` and ``predict_proba``: those of the matrix that ``fit``
            was given, else the labels of the taxonomy.
        dev_scores_: scores on the dev texts, which calibration and thresholds were fitted on.
    """

    def __init__(
        self,
        taxonomy: Taxonomy | str | Path | Sequence[tuple[str, str]] | None = None,
        *,
        preset: str = "default",
        backbone: str | Path | None = None,
        epochs: float | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        max_length: int | None = None,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        dev_size: float = 0.1,
        rule: str | None = None,
        threshold: float | Sequence[float] | Mapping[str, float] | None = None,
        calibrated: bool = True,
        most_paths: int | None = None,
        output: str = "matrix",
        scoring: str = "micro_f1",
    ) -> None:
        self.taxonomy = taxonomy
        self.preset = preset
        self.backbone = backbone
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_length = max_length
        self.seed = seed
        self.settings = settings
        self.dev_size = dev_size
        self.rule = rule
        self.threshold = threshold
        self.calibrated = calibrated
        self.most_paths = most_paths
        self.output = output
        self.scoring = scoring

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> HBGLClassifier:
        """Train on texts and their labels; progress goes to the logger ``hbgl.classifier``.

        :param X: a list, array, Series or one-column table of texts.
        :param y: of each text a list of labels, a path (``"A > B"`` or a tuple), a list of paths
            or one label; or a matrix or table of 0 and 1 with a column for each label.
        :param X_dev: texts to choose the checkpoint and fit the decision on, instead of a split.
        :raises InputError: with all faults of parameters and data.
        """
        data = read_training_data(self.get_params(deep=False), X, y, X_dev, y_dev)
        model = train_records(
            data.splits, data.taxonomy, data.settings, listener=_Logging(), load=load_backbone
        )
        self._take(model, data.columns)
        if data.splits.get("dev"):
            decision = self._decision()
            scores = model.evaluate(data.splits["dev"], decision=decision)
            model.metrics["dev_scores"] = _kept(scores, decision)
        return self

    def _take(self, model: TrainedModel, columns: Sequence[str] | None) -> None:
        """Become the estimator of a model."""
        faults: list[str] = []
        names = columns or model.taxonomy.labels
        ids = column_ids(names, model.taxonomy, faults)
        raise_faults(faults)
        self.model_, self._columns = model, ids
        self._named = None if columns is None else list(columns)
        self.classes_ = np.array(names, dtype=object)

    # ------------------------------------------------------------------ answers

    def predict(self, X: Any, *, as_frame: bool | str = False) -> Any:
        """The labels of each text, as ``output`` says.

        ``matrix`` and ``sparse``: [texts, classes] of 0 and 1, the form in which scikit-learn's
        metrics take label sets. ``labels``, ``paths``: an array of lists, as ``fit`` takes them.

        :param as_frame: the matrix as a table of pandas (True) or ``"polars"``.
        """
        chosen = self._choose(X)
        if as_frame:
            if self.output != "matrix":
                raise InputError(f"as_frame needs output='matrix', not {self.output!r}")
            matrix = as_matrix(chosen, self._columns)
            return as_frame_of(matrix, self.classes_.tolist(), X, as_frame)
        if self.output == "labels":
            return as_labels(chosen, self.taxonomy_)
        if self.output == "paths":
            return as_paths(chosen, self.taxonomy_)
        if self.output == "sparse":
            return as_sparse(chosen, self._columns)
        if self.output == "matrix":
            return as_matrix(chosen, self._columns)
        raise InputError(f"output {self.output!r} is none of matrix, sparse, labels, paths")

    def predict_paths(self, X: Any) -> npt.NDArray[np.object_]:
        """The paths of each text, whatever ``output`` says: lists of tuples of labels."""
        return as_paths(self._choose(X), self.taxonomy_)

    def predict_proba(self, X: Any, *, as_frame: bool | str = False) -> Any:
        """A probability for each label, [texts, classes]."""
        texts = self._texts(X)
        everything = self.model_.predict_proba(texts, decision=self._decision())
        shares = everything[:, self._columns]
        if as_frame:
            return as_frame_of(shares, self.classes_.tolist(), X, as_frame)
        return shares

    def label_matrix(self, y: Any) -> npt.NDArray[np.int64]:
        """True labels, in any form that ``fit`` takes, as a matrix to compare ``predict`` with.

        [texts, classes] of 0 and 1, closed under ancestors.
        """
        labels = self._labels(y)
        found = np.zeros((len(labels), len(self.taxonomy_)), dtype=np.int64)
        for row, names in zip(found, labels, strict=True):
            row[self.taxonomy_.ids(names)] = 1
        return found[:, self._columns]

    def evaluate(self, X: Any, y: Any, *, keep_as: str | None = None) -> Scores:
        """All scores over labelled texts.

        :param keep_as: ``"test"``: save the scores with the model and show them in its card, as
            long as it is saved with the decision (rule, thresholds ...) that they are of.
        """
        labels, texts = self._labels(y), self._texts(X)
        if len(texts) != len(labels):
            raise InputError(f"X has {len(texts)} texts, but y has labels for {len(labels)}")
        records = [Record(text, names) for text, names in zip(texts, labels, strict=True)]
        decision = self._decision()
        scores = self.model_.evaluate(records, decision=decision)
        if keep_as is not None:
            self.model_.metrics[keep_as] = _kept(scores, decision)
        return scores

    def score(self, X: Any, y: Any) -> float:
        """The score that ``scoring`` names, by default Micro-F1 over all labels."""
        found = self.evaluate(X, y).to_json()
        if not isinstance(found.get(self.scoring), float):
            raise InputError(f"scoring {self.scoring!r} is no score; take micro_f1 or macro_f1")
        return float(found[self.scoring])

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the fitted model."""
        taxonomy: Taxonomy = self.model_.taxonomy
        return taxonomy

    @property
    def dev_scores_(self) -> dict[str, Any] | None:
        """Scores on the dev texts, by the decision that `fit` was told; None without such texts."""
        found: dict[str, Any] | None = self.model_.metrics.get("dev_scores")
        return found and {name: one for name, one in found.items() if name != "decision"}

    def _choose(self, X: Any) -> csr_matrix:
        texts = self._texts(X)
        return self.model_.choose(texts, decision=self._decision())

    def _texts(self, X: Any) -> list[str]:
        check_is_fitted(self, "model_")
        faults: list[str] = []
        texts = read_texts(X, "X", faults)
        raise_faults(faults)
        return texts

    def _labels(self, y: Any) -> list[tuple[str, ...]]:
        check_is_fitted(self, "model_")
        faults: list[str] = []
        targets = read_targets(y, "y", faults, self.classes_.tolist())
        labels = closed_labels(targets, self.taxonomy_, "y", faults)
        raise_faults(faults)
        return labels

    def _decision(self) -> Decision:
        faults: list[str] = []
        parameters = self.get_params(deep=False)
        decision = decision_of(parameters, self.model_.decision, self.taxonomy_, faults)
        raise_faults(faults)
        return decision

    def __sklearn_tags__(self) -> Any:
        """Texts in, label sets out; both are checked here and not by scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        tags.no_validation = True
        return tags


def _kept(scores: Scores, decision: Decision) -> dict[str, Any]:
    """Scores as the model folder has them; they are of this decision and leave with it."""
    return {**scores.to_json(), "decision": decision.fingerprint()}


class _Logging(RunListener):
    """Tells the logger how a run goes on."""

    def said(self, message: str) -> None:
        _log.info("%s", message)

    def evaluated(self, event: Evaluated) -> None:
        _log.info(
            "epoch %.1f: dev Micro-F1 %.2f, Macro-F1 %.2f",
            event.epoch,
            100 * event.scores.micro_f1,
            100 * event.scores.macro_f1,
        )
