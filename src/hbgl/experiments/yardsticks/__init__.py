"""The methods that users ask about, over a corpus folder: same splits, same label matrices.

Reading order: ``fitted.py`` (what comes out), ``documents.py`` (a split as texts and labels),
``options.py`` (what may be chosen), ``search.py`` (the choice on dev), then the methods:
``tfidf_svm.py``, ``trainer_flat.py``, ``hiclass_lcpn.py`` on ``sentence_vectors.py`` with
``label_paths.py``; ``registry.py`` (all by name). Left out: saving what was fitted.
"""

from __future__ import annotations

from hbgl.experiments.yardsticks.fitted import FittedYardstick
from hbgl.experiments.yardsticks.registry import YARDSTICKS, fit_yardstick

__all__ = ["YARDSTICKS", "FittedYardstick", "fit_yardstick"]
