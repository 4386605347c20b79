"""Calibration of what a model says before its probabilities are what they are.

The same answers three times: sigmoids of the scores, these after the calibration of each level, and
the probabilities that the rule gives out (lowered to the best parent's under coherent rules; those
are in the evaluation itself). Scores of a level depend on the labels chosen above it, so all three
are of one walk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix

from hbgl.decisions import Calibration as CalibrationMaps
from hbgl.decisions import Decision, Decoded
from hbgl.metrics.batch import Batch
from hbgl.metrics.calibration import CalibrationCounts
from hbgl.metrics.label_graph import LabelGraph
from hbgl.metrics.label_keys import pieces
from hbgl.metrics.result import Calibration
from hbgl.taxonomy import Taxonomy

__all__ = ["CalibrationSteps", "RawCalibration"]


@dataclass(frozen=True)
class CalibrationSteps:
    """Calibration errors on the way to the probabilities that are given out."""

    before: Calibration
    """of plain sigmoids"""
    calibrated: Calibration | None
    """after the maps of the levels; None: the decision has none"""
    answered: Calibration
    """of the probabilities of the answers"""


class RawCalibration:
    """Counts plain and calibrated probabilities beside the gold labels."""

    def __init__(self, taxonomy: Taxonomy, decision: Decision) -> None:
        self._taxonomy = taxonomy
        self._graph = LabelGraph(taxonomy)
        self._steps = [(CalibrationMaps(), CalibrationCounts(self._graph))]
        if decision.calibration.levels:
            self._steps.append((decision.calibration, CalibrationCounts(self._graph)))

    def update(self, indices: np.ndarray, gold: csr_matrix, decoded: Decoded) -> None:
        """See a batch: document indices [B], gold labels [B, L], answers on the CPU."""
        chosen = decoded.chosen.numpy()
        for maps, counts in self._steps:
            probabilities = self._probabilities(maps, decoded.scores)
            for rows in pieces(gold, chosen):
                part = np.ascontiguousarray(probabilities[rows])
                counts.update(Batch(self._graph, gold, chosen, part, rows), part)

    def result(self, answered: Calibration) -> CalibrationSteps:
        """With the calibration of the answers, which the evaluation has."""
        found = [counts.result() for _, counts in self._steps]
        return CalibrationSteps(found[0], found[1] if len(found) > 1 else None, answered)

    def _probabilities(self, maps: CalibrationMaps, scores: torch.Tensor) -> np.ndarray:
        found = torch.empty_like(scores)
        for level in range(1, self._taxonomy.depth + 1):
            columns = self._taxonomy.level_slice(level)
            found[:, columns] = maps(level, scores[:, columns])
        return found.numpy()
