"""What the runner asks of a method outside our training loop, and how it finds one by name.

The yardsticks themselves stand in ``yardsticks/`` and are imported when one of them is wanted:
they need packages that nothing else here needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
from scipy.sparse import csr_matrix

from hbgl.corpora import CorpusFolder
from hbgl.errors import UsageError

__all__ = ["FittedYardstick", "Yardsticks", "yardstick_names", "yardsticks"]

_HOME = "hbgl.experiments.yardsticks"


class FittedYardstick(Protocol):
    """A yardstick after training on ``train`` with its choices made on ``dev``."""

    report: dict[str, Any]
    """JSON values: what was chosen on dev, seconds"""

    def choose(self, texts: Sequence[str]) -> csr_matrix:
        """The labels of each text, [texts, L] boolean."""

    def probabilities(self, texts: Sequence[str]) -> np.ndarray | None:
        """[texts, L], or None where the method has none."""


class Yardsticks(Protocol):
    """The module of the yardsticks."""

    YARDSTICKS: dict[str, str]
    """name -> one line on it"""

    def fit_yardstick(
        self,
        name: str,
        corpus: CorpusFolder,
        *,
        seed: int,
        options: Mapping[str, Any],
        said: Callable[[str], None],
    ) -> FittedYardstick:
        """Train one."""


def yardsticks() -> Yardsticks:
    """The module.

    :raises UsageError: where this installation has none.
    """
    try:
        return cast(Yardsticks, importlib.import_module(_HOME))
    except ModuleNotFoundError as error:
        if error.name != _HOME:
            raise
        raise UsageError(
            "this installation of hbgl has no yardsticks; leave these methods out"
        ) from None


def yardstick_names() -> dict[str, str]:
    """Name -> one line on it; empty where there are none."""
    try:
        return dict(yardsticks().YARDSTICKS)
    except UsageError:
        return {}
