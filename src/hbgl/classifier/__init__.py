"""``HBGLClassifier``: hierarchical text classification with scikit-learn's conventions.

Reads in this order: ``texts.py`` (X -> texts), ``targets.py`` (y -> label paths), ``labels.py``
(paths -> taxonomy and closed label sets), ``parameters.py`` (constructor parameters -> settings,
decision), ``training_data.py`` (all that ``fit`` needs), ``answers.py`` (chosen labels -> matrix,
sets, paths, tables), ``storage.py`` and ``persistence.py`` (a fitted estimator as files),
``estimator.py``.
"""

from __future__ import annotations

from hbgl.classifier.estimator import HBGLClassifier

__all__ = ["HBGLClassifier"]
