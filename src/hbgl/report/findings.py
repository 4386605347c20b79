"""All that the report shows, gathered in one walk over the documents and one more for each rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from hbgl.decisions import Decision
from hbgl.evaluation import LabelledTexts, Watcher
from hbgl.metrics import Evaluation
from hbgl.metrics.label_keys import IntArray
from hbgl.records import Record
from hbgl.report.confusions import Confusions, ErrorCounts
from hbgl.report.examples import ErrorExample, ErrorExamples
from hbgl.report.raw_calibration import CalibrationSteps, RawCalibration
from hbgl.report.rules import RuleScores, evaluate_rules
from hbgl.report.threshold_curves import ThresholdCounts, ThresholdCurve
from hbgl.settings import Settings
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel

__all__ = ["Findings", "ShownText", "gather"]

_LONGEST_TEXT = 450
"""Characters of a text that are kept for the examples."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A document as an example shows it."""

    text: str
    """its beginning, white space made one space"""
    is_cut: bool
    id: str | None
    line: int


@dataclass(frozen=True)
class Findings:
    """One model on one file."""

    source: str
    """what was evaluated, as the user named it"""
    model: str
    """the model folder, as the user named it; empty: none"""
    time: datetime
    taxonomy: Taxonomy
    settings: Settings
    metrics: dict[str, Any]
    """what the model folder says of its training"""
    decision: Decision
    evaluation: Evaluation
    calibration: CalibrationSteps
    rules: tuple[RuleScores, ...]
    """empty: not asked for"""
    confusions: Confusions
    thresholds: tuple[ThresholdCurve, ...]
    surest: list[ErrorExample]
    drawn: list[ErrorExample]
    texts: dict[int, ShownText]
    """of the examples, by index"""

    @property
    def training_documents(self) -> IntArray | None:
        """[L] how many training documents had each label; None: the model folder does not say."""
        counts = self.metrics.get("label_documents")
        if not isinstance(counts, list) or len(counts) != len(self.taxonomy):
            return None
        return np.array(counts, dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """JSON values: the evaluation, and beside it ``calibration_before`` and ``rules``."""
        from dataclasses import asdict

        found = self.evaluation.to_json(self.taxonomy.labels)
        steps = self.calibration
        found["calibration_before"] = asdict(steps.before)
        found["calibration_without_rule"] = asdict(steps.calibrated or steps.before)
        if self.rules:
            found["rules"] = {
                one.name: {row.key: row.value for row in one.rows} for one in self.rules
            }
        return found


def gather(
    model: TrainedModel,
    records: Iterable[Record],
    *,
    decision: Decision | None = None,
    rules: bool = True,
    examples: int = 20,
    source: str = "",
    folder: str = "",
    on_batch: Callable[[str, int, int], None] | None = None,
) -> Findings:
    """Predict all records and find everything that the report shows.

    Args:
        model: Answers.
        records: Documents with their labels; beginnings of the texts are kept if examples are.
        decision: Instead of the model's own.
        rules: Score every decision rule, too: each needs a walk of its own over the documents.
        examples: How many documents with errors to show.
        source: The name of the documents.
        folder: The name of the model.
        on_batch: Hears what is being done (a rule's name, or nothing), documents of a batch, and
            how many documents there are.
    """
    decision = decision or model.decision
    texts: list[ShownText] = []
    corpus = model.prepare(_kept(records, texts) if examples else records)
    confusions = ErrorCounts(model.taxonomy)
    thresholds = ThresholdCounts(model.taxonomy, decision)
    raw = RawCalibration(model.taxonomy, decision)
    errors = ErrorExamples(model.taxonomy, examples)
    watchers: list[Watcher] = [confusions, thresholds, raw, errors]
    evaluation = model.assess(
        corpus, decision=decision, watchers=watchers, on_batch=_with_total(on_batch, corpus)
    )
    if evaluation.calibration is None:
        raise ValueError("the evaluation has no probabilities")
    surest, drawn = errors.result()
    return Findings(
        source=source,
        model=folder,
        time=datetime.now(timezone.utc),
        taxonomy=model.taxonomy,
        settings=model.settings,
        metrics=model.metrics,
        decision=decision,
        evaluation=evaluation,
        calibration=raw.result(evaluation.calibration),
        rules=_rules(model, corpus, decision, evaluation, on_batch) if rules else (),
        confusions=confusions.result(),
        thresholds=thresholds.result(),
        surest=surest,
        drawn=drawn,
        texts={one.index: texts[one.index] for one in (*surest, *drawn)},
    )


def _rules(
    model: TrainedModel,
    corpus: LabelledTexts,
    decision: Decision,
    known: Evaluation,
    on_batch: Callable[[str, int, int], None] | None,
) -> tuple[RuleScores, ...]:
    if on_batch is None:
        return evaluate_rules(model, corpus, decision, known)
    heard = on_batch
    return evaluate_rules(
        model, corpus, decision, known, lambda name, count: heard(name, count, len(corpus))
    )


def _with_total(
    on_batch: Callable[[str, int, int], None] | None, corpus: LabelledTexts
) -> Callable[[int], None] | None:
    return None if on_batch is None else lambda count: on_batch("", count, len(corpus))


def _kept(records: Iterable[Record], texts: list[ShownText]) -> Iterator[Record]:
    """The records; what an example would show of them goes to ``texts``."""
    for record in records:
        # A book is not split into words for its first lines.
        words = " ".join(record.text[: 4 * _LONGEST_TEXT].split())
        is_cut = len(words) > _LONGEST_TEXT or len(record.text) > 4 * _LONGEST_TEXT
        shown = words[:_LONGEST_TEXT]
        if len(words) > _LONGEST_TEXT:
            shown = shown.rpartition(" ")[0] or shown
        texts.append(ShownText(shown, is_cut, record.id, record.line))
        yield record
