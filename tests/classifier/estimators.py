"""Estimators over a tiny random backbone, and the texts that they learn."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from hbgl import HBGLClassifier
from tests.small_corpus import TAXONOMY, random_records
from tests.tiny import tiny_folder

TEXTS = [record.text for record in random_records(24, seed=3)]
LABELS = [list(record.labels) for record in random_records(24, seed=3)]
MATRIX = np.array([[int(label in row) for label in TAXONOMY.labels] for row in LABELS])
FAST = {"global_stage.steps": 0, "training.precision": "float32"}


@cache
def backbone() -> str:
    """The folder of a tiny random encoder; made once."""
    folder = Path(mkdtemp(prefix="hbgl-tests-")) / "tiny"
    tiny_folder(folder)
    return str(folder)


def estimator(taxonomy: Any = TAXONOMY, **parameters: Any) -> HBGLClassifier:
    """Not fitted; one epoch of three steps."""
    settings = {**FAST, **parameters.pop("settings", {})}
    chosen = {"epochs": 1, "batch_size": 8, "learning_rate": 3e-3, **parameters}
    return HBGLClassifier(taxonomy, backbone=backbone(), settings=settings, **chosen)


@cache
def fitted() -> HBGLClassifier:
    """Fitted once for all tests that do not change it."""
    return estimator().fit(TEXTS, LABELS)
