"""hbgl: hierarchical text classification, whole paths, many paths, any depth.

The names below are loaded when they are first used: ``import hbgl`` alone stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hbgl.classifier import HBGLClassifier
    from hbgl.corpora import CorpusFolder, open_corpus
    from hbgl.errors import HBGLError
    from hbgl.prediction_output import Prediction
    from hbgl.records import Record, read_records
    from hbgl.settings import Settings, preset, with_overrides
    from hbgl.taxonomy import Taxonomy, read_taxonomy
    from hbgl.trained_model import TrainedModel
    from hbgl.training_run import train_classifier

__version__ = "0.1.0"

__all__ = [
    "CorpusFolder",
    "HBGLClassifier",
    "HBGLError",
    "Prediction",
    "Record",
    "Settings",
    "Taxonomy",
    "TrainedModel",
    "open_corpus",
    "preset",
    "read_records",
    "read_taxonomy",
    "train_classifier",
    "with_overrides",
]

_HOMES = {
    "CorpusFolder": "hbgl.corpora",
    "TrainedModel": "hbgl.trained_model",
    "HBGLClassifier": "hbgl.classifier",
    "HBGLError": "hbgl.errors",
    "Prediction": "hbgl.prediction_output",
    "Record": "hbgl.records",
    "Settings": "hbgl.settings",
    "Taxonomy": "hbgl.taxonomy",
    "open_corpus": "hbgl.corpora",
    "preset": "hbgl.settings",
    "read_records": "hbgl.records",
    "read_taxonomy": "hbgl.taxonomy",
    "train_classifier": "hbgl.training_run",
    "with_overrides": "hbgl.settings",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hbgl' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
