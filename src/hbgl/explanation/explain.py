"""Why a label was given: the probabilities along its path, its siblings, and the words behind it.

:func:`explain` is all of it; the numbers come from ``gradients``, the words from ``words``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hbgl.errors import UsageError
from hbgl.explanation.gradients import (
    MOST_STEPS,
    Integrals,
    explainable_method,
    integrate,
    is_complete,
)
from hbgl.explanation.words import ReadText, read_text
from hbgl.model import HBGL
from hbgl.taxonomy import PATH_SEPARATOR, Taxonomy
from hbgl.trained_model import TrainedModel

__all__ = ["Explanation", "LabelExplanation", "PathNode", "Word", "explain", "likeliest_path"]

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the text and what it did to a label."""

    text: str
    start: int
    end: int
    """``text[start:end]`` of the explained text."""
    attribution: float
    """Change of the label's logit; positive: towards the label."""


@dataclass(frozen=True, slots=True)
class PathNode:
    """One label on the way down."""

    label: str
    probability: float
    predicted: bool
    siblings: Mapping[str, float]
    """The likeliest other labels below the same parent, with their probabilities."""


@dataclass(frozen=True, slots=True)
class LabelExplanation:
    """Why one label was given, or was not."""

    label: str
    path: tuple[PathNode, ...]
    """From a root to the label; where several lead there, the likeliest."""
    path_probability: float
    """The least of the probabilities on the path, as a prediction gives it."""
    joint_probability: float
    """Their product: that of the path if each is taken as given all those above it."""
    logit: float
    """The label's score before the sigmoid (and before calibration), given the levels above."""
    baseline_logit: float
    """The same with [MASK] in the place of every word."""
    words: tuple[Word, ...]
    other: float
    """What tokens that are part of no word did; their share of the sum."""
    delta: float
    """All attributions minus the logit's difference: the error of the integral."""

    @property
    def complete(self) -> bool:
        """Whether the attributions sum to the logit's difference, to 5 %."""
        return is_complete(self.delta, self.logit - self.baseline_logit)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "label": self.label,
            "path": [
                {
                    "label": node.label,
                    "probability": _rounded(node.probability),
                    "predicted": node.predicted,
                    "siblings": {name: _rounded(one) for name, one in node.siblings.items()},
                }
                for node in self.path
            ],
            "path_probability": _rounded(self.path_probability),
            "joint_probability": _rounded(self.joint_probability),
            "logit": _rounded(self.logit),
            "baseline_logit": _rounded(self.baseline_logit),
            "words": [
                {
                    "word": word.text,
                    "start": word.start,
                    "end": word.end,
                    "attribution": _rounded(word.attribution),
                }
                for word in self.words
            ],
            "other": _rounded(self.other),
            "delta": _rounded(self.delta),
            "complete": self.complete,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a text got its labels."""

    text: str
    labels: tuple[str, ...]
    """The predicted ones, in taxonomy order."""
    paths: tuple[tuple[str, ...], ...]
    """What they form."""
    explained: tuple[LabelExplanation, ...]
    tokens: int
    """How many the model read."""
    truncated: bool
    """Whether the text goes on after them, unread."""
    steps: int
    """Points at which the gradients were taken."""

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "text": self.text,
            "labels": list(self.labels),
            "paths": [PATH_SEPARATOR.join(path) for path in self.paths],
            "tokens": self.tokens,
            "truncated": self.truncated,
            "steps": self.steps,
            "explained": [one.to_json() for one in self.explained],
        }


def explain(
    model: TrainedModel,
    text: str,
    labels: Sequence[str] | None = None,
    steps: int = 32,
    *,
    siblings: int = 3,
) -> Explanation:
    """Explain the predicted labels of a text, or the labels named.

    :param labels: any labels of the taxonomy, predicted or not; None: the predicted ones.
    :param steps: points of the integral; taken anew with twice as many where it is not exact.
    :param siblings: how many to give beside each label of a path, the likeliest first.
    :raises TaxonomyError: for a label that the taxonomy does not have.
    :raises UsageError: for a model that was exported for an engine (it has no gradients), and for
        the method seq2seq.
    """
    if not 1 <= steps <= MOST_STEPS:
        raise UsageError(f"steps must be 1 to {MOST_STEPS}, not {steps}")
    if isinstance(labels, str):
        raise UsageError("one label was given where a list of labels belongs; write [label]")
    method, taxonomy = explainable_method(model), model.taxonomy
    wanted = None if labels is None else taxonomy.ids(dict.fromkeys(labels)).tolist()
    [found] = model.predict([text], everything=True)
    chosen = _mask(taxonomy, found.labels)
    probabilities = np.array([found.probabilities[label] for label in taxonomy.labels])
    ids = np.flatnonzero(chosen).tolist() if wanted is None else wanted
    read = read_text(text, model.backbone.tokenizer, method.max_length)
    explained: list[LabelExplanation] = []
    if ids:
        inputs = _handed_down(model, text, found.labels)
        integrals = integrate(model, read, ids, inputs, steps)
        steps = integrals.steps
        for number, label in enumerate(ids):
            path = [
                PathNode(
                    taxonomy.labels[node],
                    float(probabilities[node]),
                    bool(chosen[node]),
                    _likeliest_siblings(taxonomy, probabilities, node, siblings),
                )
                for node in likeliest_path(taxonomy, probabilities, label)
            ]
            explained.append(_label_explanation(read, integrals, number, tuple(path)))
    return Explanation(
        text=read.text,
        labels=found.labels,
        paths=found.paths,
        explained=tuple(explained),
        tokens=len(read.ids),
        truncated=read.truncated,
        steps=steps,
    )


def _mask(taxonomy: Taxonomy, labels: Sequence[str]) -> np.ndarray:
    """[L] boolean."""
    mask = np.zeros(len(taxonomy), dtype=bool)
    mask[taxonomy.ids(labels)] = True
    return mask


def _handed_down(model: TrainedModel, text: str, labels: tuple[str, ...]) -> np.ndarray:
    """[L] what each level was told of those above it: labels, or probabilities."""
    method = model.torch_method
    if not isinstance(method, HBGL) or method.settings.level_input == "chosen":
        return _mask(model.taxonomy, _walked(model, text, labels))
    # Plain sigmoids, as the levels are told, come out where nothing calibrates or lowers them.
    plain = model.decision.changed(model.taxonomy, rule="paper", calibrated=False)
    shares = model.predict_proba([text], decision=plain)[0]
    floor = method.settings.level_input_floor
    return np.where(shares > floor, shares, np.float32(0.0))


def _walked(model: TrainedModel, text: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    """What was chosen level by level and fed into the levels below.

    That is the answer, but where labels are added or dropped once the walk is over.
    """
    decision = model.decision
    if decision.rule != "closed" and decision.most_paths is None:
        return labels
    rule = "paper" if decision.rule == "closed" else decision.rule
    plain = dataclasses.replace(decision, rule=rule, most_paths=None)
    return model.predict([text], decision=plain)[0].labels


def likeliest_path(taxonomy: Taxonomy, probabilities: np.ndarray, label: int) -> list[int]:
    """Ids from a root to a label: of all the ways, the one with the largest product."""
    best: dict[int, tuple[float, int | None]] = {}
    for node in [*taxonomy.ancestors(label).tolist(), label]:  # parents come before children
        above = [(best[parent][0], parent) for parent in taxonomy.parents(node).tolist()]
        product, first = max(above) if above else (1.0, None)
        best[node] = (product * float(probabilities[node]), first)
    path: list[int] = []
    step: int | None = label
    while step is not None:
        path.append(step)
        step = best[step][1]
    return path[::-1]


def _label_explanation(
    read: ReadText, integrals: Integrals, number: int, path: tuple[PathNode, ...]
) -> LabelExplanation:
    summed, other = read.sum_by_word(integrals.attributions[number])
    words = tuple(
        Word(read.text[start:end], start, end, float(value))
        for (start, end), value in zip(read.words, summed, strict=True)
    )
    return LabelExplanation(
        label=path[-1].label,
        path=path,
        path_probability=min(node.probability for node in path),
        joint_probability=math.prod(node.probability for node in path),
        logit=float(integrals.logits[number]),
        baseline_logit=float(integrals.baselines[number]),
        words=words,
        other=other,
        delta=float(integrals.deltas[number]),
    )


def _likeliest_siblings(
    taxonomy: Taxonomy, probabilities: np.ndarray, label: int, count: int
) -> dict[str, float]:
    beside = taxonomy.siblings(label)
    order = beside[np.argsort(-probabilities[beside], kind="stable")][:count]
    return {taxonomy.labels[i]: float(probabilities[i]) for i in order.tolist()}


def _rounded(value: float) -> float:
    return round(value, _DIGITS)
