"""Scores of predicted label sets and probabilities against gold labels.

``LabelCounts`` counts what Micro- and Macro-F1 are made of; ``Evaluator`` counts for every family
of scores. The formulas stand in the modules: ``flat``, ``closed_sets``, ``chains``,
``common_ancestors``, ``coherence``, ``ranking``, ``abstention``, ``calibration``.
"""

from hbgl.metrics.evaluator import Evaluator
from hbgl.metrics.flat import Averages, LabelCounts, LabelScores, LevelScores, Scores
from hbgl.metrics.result import Evaluation
from hbgl.metrics.table import score_table

__all__ = [
    "Averages",
    "Evaluation",
    "Evaluator",
    "LabelCounts",
    "LabelScores",
    "LevelScores",
    "Scores",
    "score_table",
]
