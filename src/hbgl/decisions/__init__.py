"""From scores to decisions: calibration, thresholds and the rules that choose labels.

Reads in this order: ``calibration.py`` (scores -> probabilities), ``decision.py`` (what a model
decides by), ``hierarchy.py`` (parents and children as tensors), ``walk.py`` (the rules, level by
level), ``path_limit.py`` (at most k paths), ``calibration_fit.py`` and ``threshold_fit.py`` (both
fitted on dev).
"""

from __future__ import annotations

from hbgl.decisions.calibration import Calibration, LevelMap
from hbgl.decisions.calibration_fit import fit_level_map
from hbgl.decisions.decision import RULES, Decision
from hbgl.decisions.threshold_fit import LevelThresholds, fit_thresholds
from hbgl.decisions.walk import Decider, Decoded, Walk

__all__ = [
    "RULES",
    "Calibration",
    "Decider",
    "Decision",
    "Decoded",
    "LevelMap",
    "LevelThresholds",
    "Walk",
    "fit_level_map",
    "fit_thresholds",
]
