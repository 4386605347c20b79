"""What a model decides by: a rule, a threshold per label, calibration, a limit of paths."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from hbgl.decisions.calibration import Calibration
from hbgl.errors import UsageError
from hbgl.settings import Rule
from hbgl.taxonomy import Taxonomy

__all__ = ["COHERENT_RULES", "RULES", "Decision"]

FloatArray = npt.NDArray[np.float32]

RULES: dict[Rule, str] = {
    "paper": "each level on its own: a label whose probability is above its threshold; a child may "
    "stand without its parent",
    "closed": "as paper, then the ancestors of every chosen label are added: whole paths, at the "
    "price of ancestors the model did not believe in",
    "coherent": "a label above its threshold under a chosen parent (any one of several): whole "
    "paths; a sure child below an unsure parent is lost",
    "backoff": "as coherent, but a label's probability is first lowered to that of its best "
    "parent: a path ends at the last ancestor that is sure by the whole path",
    "leaf": "as coherent, and where no child of a chosen label is above its threshold the "
    "likeliest one is taken: every path ends in a leaf, and no text stays without an answer",
}
"""Each rule with what it does and what it costs."""

COHERENT_RULES: frozenset[Rule] = frozenset({"coherent", "backoff", "leaf"})
"""Rules whose probabilities are lowered to that of the best parent."""


@dataclass(frozen=True, eq=False)
class Decision:
    """How the scores of a model become labels."""

    thresholds: FloatArray
    """[L] a label is sure when its probability is above its threshold"""
    rule: Rule = "paper"
    calibration: Calibration = field(default_factory=Calibration)
    most_paths: int | None = None
    """keep the likeliest paths only; None: all"""

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise UsageError(f"there is no rule {self.rule!r}; rules are {', '.join(RULES)}")
        thresholds = np.asarray(self.thresholds, dtype=np.float32)
        if not np.all((thresholds >= 0) & (thresholds <= 1)):
            raise UsageError("thresholds must lie in 0..1")
        object.__setattr__(self, "thresholds", thresholds)
        if self.most_paths is not None and self.most_paths < 1:
            raise UsageError(f"at most {self.most_paths} paths is no limit; take 1 or more")

    @classmethod
    def of_paper(cls, labels: int) -> Decision:
        """The paper's: each level on its own, 0.5 everywhere, no calibration."""
        return cls(np.full(labels, 0.5, dtype=np.float32))

    def changed(
        self,
        taxonomy: Taxonomy,
        *,
        rule: Rule | None = None,
        threshold: float | Sequence[float] | Mapping[str, float] | None = None,
        calibrated: bool = True,
        most_paths: int | None = None,
    ) -> Decision:
        """Another decision that differs in what is given.

        :param threshold: one for all labels, one per level (roots first), or by label.
        :param calibrated: False: probabilities are plain sigmoids of the scores.
        :param most_paths: 0 takes the limit away.
        """
        return Decision(
            self.thresholds if threshold is None else self._with(taxonomy, threshold),
            rule or self.rule,
            self.calibration if calibrated else Calibration(),
            self.most_paths if most_paths is None else most_paths or None,
        )

    def _with(
        self, taxonomy: Taxonomy, threshold: float | Sequence[float] | Mapping[str, float]
    ) -> FloatArray:
        if isinstance(threshold, Mapping):
            thresholds = self.thresholds.copy()
            for label, value in threshold.items():
                thresholds[taxonomy.id(label)] = value
            return thresholds
        if isinstance(threshold, Sequence):
            if len(threshold) != taxonomy.depth:
                raise UsageError(
                    f"{len(threshold)} thresholds by level, but the taxonomy has {taxonomy.depth} "
                    "levels; give one for each, or a single one"
                )
            by_level = np.asarray(threshold, dtype=np.float32)
            return by_level[taxonomy.levels - 1]
        return np.full_like(self.thresholds, threshold)

    def fingerprint(self) -> str:
        """The same for two decisions that decide alike: scores name the decision they are of."""
        rest = json.dumps([self.rule, self.most_paths, self.calibration.to_json()])
        return hashlib.sha256(self.thresholds.tobytes() + rest.encode()).hexdigest()[:16]

    def to_json(self, taxonomy: Taxonomy) -> dict[str, Any]:
        """What ``thresholds.json`` holds: everything but the calibration.

        The threshold of each level, and the labels that differ from their level's.
        """
        by_level, labels = [], {}
        for level in range(1, taxonomy.depth + 1):
            columns = taxonomy.level_slice(level)
            values, counts = np.unique(self.thresholds[columns], return_counts=True)
            common = values[np.argmax(counts)]
            by_level.append(_short(common))
            for i in range(columns.start, columns.stop):
                if self.thresholds[i] != common:
                    labels[taxonomy.labels[i]] = _short(self.thresholds[i])
        return {
            "rule": self.rule,
            "most_paths": self.most_paths,
            "levels": by_level,
            "labels": labels,
        }

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], calibration: Calibration, taxonomy: Taxonomy
    ) -> Decision:
        """The inverse of :meth:`to_json`.

        :raises HBGLError: for labels or levels that the taxonomy does not have.
        """
        start = cls(np.zeros(len(taxonomy), dtype=np.float32), data["rule"], calibration)
        levels = start.changed(taxonomy, threshold=list(data["levels"]))
        if calibration.levels and len(calibration.levels) != taxonomy.depth:
            raise UsageError(
                f"calibration of {len(calibration.levels)} levels, but the taxonomy has "
                f"{taxonomy.depth}"
            )
        return levels.changed(taxonomy, threshold=data["labels"], most_paths=data["most_paths"])


def _short(value: np.float32) -> float:
    """The shortest decimal that reads back as the same float32."""
    return float(str(np.float32(value)))
