"""What every decision rule makes of the same model: one walk each, since choices feed the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hbgl.decisions import RULES, Decision
from hbgl.evaluation import LabelledTexts
from hbgl.metrics import Evaluation
from hbgl.report.metric_rows import MetricRow, metric_rows
from hbgl.settings import Rule
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel

__all__ = ["REFERENCE", "RuleScores", "compared_decisions", "evaluate_rules"]

REFERENCE = "as in the paper"
"""The decision that all others are compared with: rule paper, 0.5 everywhere, no calibration."""


@dataclass(frozen=True)
class RuleScores:
    """One decision and all its scores."""

    name: str
    """a rule, with the thresholds and calibration of the decision that is evaluated, or
    `REFERENCE`"""
    rule: Rule
    evaluation: Evaluation
    is_own: bool
    """it is the decision that is evaluated"""

    @property
    def rows(self) -> list[MetricRow]:
        """Its numbers, in the same order for every rule."""
        return metric_rows(self.evaluation)


def compared_decisions(taxonomy: Taxonomy, decision: Decision) -> Iterator[tuple[str, Decision]]:
    """The paper's decision, then the given one under each rule."""
    yield REFERENCE, Decision.of_paper(len(taxonomy))
    for rule in RULES:
        own = rule == decision.rule
        yield rule, decision if own else decision.changed(taxonomy, rule=rule)


def evaluate_rules(
    model: TrainedModel,
    corpus: LabelledTexts,
    decision: Decision,
    known: Evaluation | None = None,
    on_batch: Callable[[str, int], None] | None = None,
) -> tuple[RuleScores, ...]:
    """Score every rule; six walks, or five where the evaluation of ``decision`` is known.

    Args:
        model: Answers.
        corpus: What ``model.prepare`` made of the records.
        decision: Its thresholds, calibration and limit of paths hold for every rule.
        known: The evaluation of ``decision`` itself.
        on_batch: Hears the name of the rule and how many documents a batch had.
    """
    found = []
    for name, one in compared_decisions(model.taxonomy, decision):
        is_own = one is decision
        evaluation = known if is_own else None
        if evaluation is None:
            heard = None if on_batch is None else _named(on_batch, name)
            evaluation = model.assess(corpus, decision=one, on_batch=heard)
        found.append(RuleScores(name, one.rule, evaluation, is_own))
    return tuple(found)


def _named(on_batch: Callable[[str, int], None], name: str) -> Callable[[int], None]:
    return lambda documents: on_batch(name, documents)
