"""Answers and the files they are written to.

Reading order: prediction (one answer and its record), formats (records as JSONL, CSV, TSV,
Parquet), run (what a bulk run was), writer (files that appear when complete and can be resumed).
"""

from __future__ import annotations

from hbgl.prediction_output.prediction import Prediction
from hbgl.prediction_output.run import PredictionRun
from hbgl.prediction_output.writer import PredictionStream, PredictionWriter

__all__ = ["Prediction", "PredictionRun", "PredictionStream", "PredictionWriter"]
