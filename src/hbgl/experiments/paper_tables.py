"""The paper's Tables 2 to 4 as plans: the same rows, on the corpora and the machine at hand.

Table 2: the presets beside flat classifiers and the yardsticks. Table 3: where the label vectors
start from. Table 4: what answers, level by level, label by label, or all at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hbgl.errors import UsageError
from hbgl.settings import PRESETS

__all__ = ["TABLES", "Budget", "table_plan"]

TABLES = {
    "table1": "statistics of the corpora",
    "table2": "the presets, the flat classifier and the yardsticks",
    "table3": "label embeddings: random, name, gat, global",
    "table4": "classifier: multilabel, seq2seq, local (hbgl)",
}
_FLAT_RATES = [2e-4, 1e-3, 5e-3]
"""Of the head: one that starts from random numbers learns rare labels slowly at the encoder's."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long every method is trained."""

    epochs: float | None
    """None: as long as the preset says"""
    tunes_flat: bool = True

    @classmethod
    def parse(cls, text: str) -> Budget:
        """``quick``, ``full`` or ``epochs=N``.

        >>> Budget.parse("epochs=2").epochs
        2.0
        """
        if text == "quick":
            return cls(1.0, tunes_flat=False)
        if text == "full":
            return cls(None)
        name, _, number = text.partition("=")
        try:
            epochs = float(number)
        except ValueError:
            epochs = math.nan
        if name != "epochs" or not 0 < epochs < math.inf:
            raise UsageError(f"--budget takes quick, full or epochs=N, not {text!r}")
        return cls(epochs)

    def settings(self, preset: str) -> dict[str, Any]:
        """What it changes in a preset.

        A warm-up that is a number of steps becomes the same share of the steps, and dev is
        evaluated after every epoch: the preset's numbers are meant for its own length. Padding to
        the longest length, which costs time and changes no result, is left out.
        """
        if self.epochs is None:
            return {}
        training = PRESETS[preset].training
        found: dict[str, Any] = {"training.epochs": self.epochs}
        if training.evaluate_every:
            found["training.evaluate_every"] = "none"
        if training.steps and training.warmup >= 1:
            found["training.warmup"] = round(training.warmup / training.steps, 6)
        if PRESETS[preset].model.pad_to_max:
            found["model.pad_to_max"] = False
        return found


def table_plan(
    table: str,
    *,
    output: Path,
    corpora: Sequence[str],
    seeds: Sequence[int],
    budget: Budget,
    backbone: str,
    methods: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The nested tables of ``plan_reader.py`` for one table of the paper.

    :param methods: only these rows; a baseline that is not among them is left out.
    """
    makers = {"table2": _table2, "table3": _table3, "table4": _table4}
    rows, baseline = makers[table](budget, backbone)
    unknown = [one for one in methods or [] if one not in rows]
    if unknown:
        raise UsageError(f"{table} has no {', '.join(unknown)}; there are {', '.join(rows)}")
    kept = {name: row for name, row in rows.items() if methods is None or name in methods}
    plan: dict[str, Any] = {
        "title": f"Table {table.removeprefix('table')}: {TABLES[table]}",
        "output": str(output),
        "corpora": list(corpora),
        "seeds": list(seeds),
        "settings": {"backbone": backbone},
        "methods": kept,
    }
    if baseline in kept:
        plan["baseline"] = baseline
    return plan


Rows = dict[str, dict[str, Any]]


def _table2(budget: Budget, backbone: str) -> tuple[Rows, str]:
    length = {} if budget.epochs is None else {"epochs": budget.epochs}
    return {
        "default": _own(budget, published="HBGL"),
        "paper": _own(budget, "paper", published="HBGL"),
        "authors": _own(budget, "authors", published="HBGL"),
        "flat": _flat(budget, "BERT"),
        "trainer-flat": {"kind": "trainer-flat", "options": {"backbone": backbone, **length}},
        "hiclass-lcpn": {"kind": "hiclass-lcpn", "options": {"backbone": backbone}},
        "tfidf-svm": {"kind": "tfidf-svm"},
    }, "flat"


def _table3(budget: Budget, _: str) -> tuple[Rows, str]:
    published = {"random": "random", "name": "label name", "gat": "GAT", "global": "HBGL"}
    return {
        name: _own(budget, published=row, **{"model.label_vectors": name})
        for name, row in published.items()
    }, "random"


def _table4(budget: Budget, _: str) -> tuple[Rows, str]:
    return {
        "multilabel": _flat(budget, "multi-label"),
        "seq2seq": _own(budget, published="seq2seq", **{"model.method": "seq2seq"}),
        "local": _own(budget, published="HBGL"),
    }, "multilabel"


def _own(budget: Budget, preset: str = "default", *, published: str, **settings: Any) -> Any:
    return {
        "preset": preset,
        "settings": {**budget.settings(preset), **settings},
        "published": published,
    }


def _flat(budget: Budget, published: str) -> dict[str, Any]:
    """The flat classifier in our loop, with its own tuning: a rate for its head, and epochs."""
    found: dict[str, Any] = _own(budget, published=published, **{"model.method": "multilabel"})
    if budget.tunes_flat:
        epochs = budget.epochs or PRESETS["default"].training.epochs
        found["grid"] = {
            "training.label_learning_rate": _FLAT_RATES,
            "training.epochs": [epochs, 2 * epochs],
        }
    return found
