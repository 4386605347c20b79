"""Training: ``events.py`` (what a run tells), ``checkpoints.py`` (what it keeps), ``loop.py``."""

from __future__ import annotations

from hbgl.training.events import Evaluated, Listener, Stepped, TrainingResult
from hbgl.training.loop import fit, start_accelerator

__all__ = ["Evaluated", "Listener", "Stepped", "TrainingResult", "fit", "start_accelerator"]
