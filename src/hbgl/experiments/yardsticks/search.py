"""The choice among candidates by their score on dev; test is never looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scipy.sparse import csr_matrix

from hbgl.experiments.yardsticks.documents import Documents
from hbgl.experiments.yardsticks.fitted import close_ancestors
from hbgl.metrics.flat import LabelCounts
from hbgl.taxonomy import Taxonomy

__all__ = ["Chosen", "choose_on_dev", "in_words"]

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class Chosen(Generic[Model]):
    """The candidate that won."""

    model: Model
    values: dict[str, Any]
    """The values that it was fitted with."""
    report: dict[str, Any]
    """JSON: ``chosen``, ``metric`` and, where there was a choice, ``tried`` with dev scores."""


def choose_on_dev(
    candidates: Sequence[Mapping[str, Any]],
    fit: Callable[[Mapping[str, Any]], Model],
    answers: Callable[[Model], csr_matrix],
    *,
    dev: Documents | None,
    taxonomy: Taxonomy,
    metric: str,
    said: Callable[[str], None],
) -> Chosen[Model]:
    """Fit each candidate and keep the best; of equals the first. Two are in memory at a time.

    Args:
        candidates: Values to fit with, one or more.
        fit: Fits one.
        answers: [dev documents, L], the labels that a fitted candidate chooses on dev.
        dev: None where there is nothing to choose.
        taxonomy: Of L labels.
        metric: ``micro_f1``, ``macro_f1`` or ``mean``.
        said: Hears a line for each candidate.
    """
    if dev is None:
        (values,) = candidates
        return Chosen(fit(values), dict(values), {"chosen": dict(values), "metric": metric})
    tried: list[dict[str, Any]] = []
    best: tuple[float, Model, dict[str, Any]] | None = None
    for values in candidates:
        start = time.monotonic()
        model = fit(values)
        counts = LabelCounts(len(taxonomy))
        counts.update(dev.gold, close_ancestors(answers(model), taxonomy))
        scores = counts.scores()
        found = {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1}
        found["mean"] = (scores.micro_f1 + scores.macro_f1) / 2
        tried.append({**values, **found, "seconds": round(time.monotonic() - start, 3)})
        said(
            f"{in_words(values)}: dev Micro-F1 {scores.micro_f1:.4f}, "
            f"Macro-F1 {scores.macro_f1:.4f}"
        )
        if best is None or found[metric] > best[0]:
            best = (found[metric], model, dict(values))
    if best is None:
        raise ValueError("there must be a candidate")
    _, model, chosen = best
    return Chosen(model, chosen, {"chosen": chosen, "metric": metric, "tried": tried})


def in_words(values: Mapping[str, Any]) -> str:
    """``c 1, tolerance 0.2``; without the values that are None."""
    return ", ".join(f"{key} {value:g}" for key, value in values.items() if value is not None)
