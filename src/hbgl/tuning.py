"""Fit on dev what a trained model decides by: calibration and thresholds, level by level.

What is chosen on one level is the model's input for the next, so tuning changes the scores below.
Hence two rounds: walk dev with 0.5 everywhere and fit, walk it again as fitted and fit anew. Inside
a round the levels are fitted from the top down, each under the choices of those above it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from hbgl.decisions import (
    Calibration,
    Decider,
    Decision,
    LevelMap,
    Walk,
    fit_level_map,
    fit_thresholds,
)
from hbgl.evaluation import LabelledTexts, count_labels, predict_batches
from hbgl.methods import Method
from hbgl.settings import DecisionSettings
from hbgl.taxonomy import Taxonomy

__all__ = ["TuningReport", "decision_of_scores", "dev_scores", "tune_decision"]

_ROUNDS = 2
_CELLS = 50_000_000
"""Most scores (documents x labels) that are kept; beyond, dev documents are left out at random."""


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What tuning did, for ``metrics.json``."""

    documents: int
    before: dict[str, float] = field(default_factory=dict)
    """dev scores by the paper's decision"""
    after: dict[str, float] = field(default_factory=dict)
    """dev scores as tuned: on the documents it was tuned on"""
    levels: list[dict[str, Any]] = field(default_factory=list)
    """of each level: its calibration, threshold, and how many labels have their own"""


def tune_decision(
    method: Method,
    dev: LabelledTexts | None,
    settings: DecisionSettings,
    *,
    device: torch.device,
    precision: str,
    seed: int,
    token_budget: int | None = None,
) -> tuple[Decision, TuningReport]:
    """The decision that the settings ask for; without dev documents nothing can be fitted."""
    taxonomy = method.taxonomy
    plain = Decision(
        np.full(len(taxonomy), 0.5, dtype=np.float32),
        settings.rule,
        most_paths=settings.most_paths,
    )
    wanted = settings.tune != "none" or settings.calibration != "none"
    if dev is None or len(dev) == 0 or not wanted:
        return plain, TuningReport(0)
    dev = _at_most(dev, seed)
    gold = dev.gold.toarray()
    decision = plain
    for _ in range(_ROUNDS):
        scores = dev_scores(method, dev, decision, device, precision, token_budget)
        decision, levels = decision_of_scores(taxonomy, settings, scores, gold, seed)

    def scored(one: Decision) -> dict[str, float]:
        decider = Decider(taxonomy, one, device)
        found = count_labels(
            method, dev, decider, precision=precision, token_budget=token_budget
        ).scores()
        return {"micro_f1": found.micro_f1, "macro_f1": found.macro_f1}

    before = scored(Decision.of_paper(len(taxonomy)))
    return decision, TuningReport(len(dev), before, scored(decision), levels)


def dev_scores(
    method: Method,
    dev: LabelledTexts,
    decision: Decision,
    device: torch.device,
    precision: str,
    token_budget: int | None = None,
) -> torch.Tensor:
    """[documents, L] on the CPU: the scores of a walk in which ``decision`` chooses."""
    found = torch.zeros(dev.gold.shape)
    decider = Decider(method.taxonomy, decision, device)
    for indices, decoded in predict_batches(
        method, dev.texts, decider, precision=precision, token_budget=token_budget
    ):
        found[torch.from_numpy(indices)] = decoded.scores
    return found


def decision_of_scores(
    taxonomy: Taxonomy,
    settings: DecisionSettings,
    scores: torch.Tensor,
    gold: npt.NDArray[np.bool_],
    seed: int,
) -> tuple[Decision, list[dict[str, Any]]]:
    """Calibration and thresholds from the top down, from scores and truth [documents, L].

    :returns: the decision, and of each level what was fitted.
    """
    thresholds = np.full(len(taxonomy), 0.5, dtype=np.float32)
    maps = [LevelMap()] * taxonomy.depth
    decider = _decider(taxonomy, settings, thresholds, maps)
    walk = Walk(decider, len(scores))
    report = []
    for level in range(1, taxonomy.depth + 1):
        columns = taxonomy.level_slice(level)
        here, truth = scores[:, columns], gold[:, columns]
        maps[level - 1] = fit_level_map(here.numpy(), truth, settings.calibration, seed)
        # What 0.5 is before calibration: the map changes what a probability means, not yet what
        # is chosen.
        untuned = float(maps[level - 1](torch.zeros(1)))
        thresholds[columns] = untuned
        walk.decider = _decider(taxonomy, settings, thresholds, maps, decider)
        own = 0
        if settings.tune != "none":
            judged = walk.judge(level, here)[1].numpy()
            fitted = fit_thresholds(
                judged, truth, settings.tune, settings.granularity, seed, untuned
            )
            thresholds[columns], own = fitted.labels, fitted.own
            walk.decider = _decider(taxonomy, settings, thresholds, maps, decider)
        walk.take(level, here)
        report.append(
            {
                "level": level,
                "calibration": maps[level - 1].kind,
                "threshold": float(np.median(thresholds[columns])),
                "labels_with_own": own,
            }
        )
    return walk.decider.decision, report


def _decider(
    taxonomy: Taxonomy,
    settings: DecisionSettings,
    thresholds: np.ndarray,
    maps: list[LevelMap],
    like: Decider | None = None,
) -> Decider:
    decision = Decision(
        thresholds.copy(),
        settings.rule,
        Calibration(tuple(maps)) if any(one.kind != "none" for one in maps) else Calibration(),
        settings.most_paths,
    )
    edges = None if like is None else like.edges
    return Decider(taxonomy, decision, torch.device("cpu"), edges)


def _at_most(dev: LabelledTexts, seed: int) -> LabelledTexts:
    """Dev, or a random part of it whose scores fit in memory."""
    most = max(1, _CELLS // dev.gold.shape[1])
    if len(dev) <= most:
        return dev
    kept = np.sort(np.random.default_rng(seed).choice(len(dev), most, replace=False))
    return dev.subset(kept)
