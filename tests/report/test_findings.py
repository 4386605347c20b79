"""What the report gathers, against the same found another way."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
import torch

import hbgl.report
from hbgl.decisions import RULES, Decision
from hbgl.evaluation import predict_batches
from hbgl.metrics import Evaluator
from hbgl.metrics.result import Reliability
from hbgl.report import REFERENCE, Findings, gather
from hbgl.settings import Rule
from hbgl.taxonomy import Taxonomy
from tests.report.answers import FLAT, GRAPH, TREE, model_of, records_of

TAXONOMIES = {"tree": TREE, "graph": GRAPH, "flat": FLAT}


@cache
def findings(name: str) -> Findings:
    taxonomy = TAXONOMIES[name]
    return gather(model_of(taxonomy), records_of(taxonomy, 60), source="memory")


@pytest.mark.parametrize("name", TAXONOMIES)
def test_the_evaluation_is_that_of_the_model(name: str) -> None:
    """The scores are those of `evaluate`; JSON has them at the top and the families below."""
    taxonomy, found = TAXONOMIES[name], findings(name)
    scores = model_of(taxonomy).evaluate(records_of(taxonomy, 60))
    written = json.loads(json.dumps(found.to_json()))
    assert written["micro_f1"] == scores.micro_f1 == found.evaluation.micro_f1
    assert written["macro_f1"] == scores.macro_f1
    assert set(written["labels"]) == set(taxonomy.labels)
    for key in ("hierarchical", "coherence", "calibration", "ranking", "calibration_before"):
        assert written[key], key
    assert set(written["rules"]) == {REFERENCE, *RULES}
    own = written["rules"]["backoff"]
    assert own["micro_f1"] == scores.micro_f1
    assert own["ece"] == written["calibration"]["overall"]["ece"]


@pytest.mark.parametrize("name", TAXONOMIES)
def test_every_rule_has_its_own_walk(name: str) -> None:
    """The reference is the paper's decision; every other rule keeps thresholds and calibration."""
    taxonomy, found = TAXONOMIES[name], findings(name)
    model, records = model_of(taxonomy), records_of(taxonomy, 60)
    assert [one.name for one in found.rules if one.is_own] == ["backoff"]
    keys = [[row.key for row in one.rows] for one in found.rules]
    assert all(one == keys[0] for one in keys)
    assert len(set(keys[0])) == len(keys[0])
    for one in found.rules:
        decision = (
            Decision.of_paper(len(taxonomy))
            if one.name == REFERENCE
            else model.decision.changed(taxonomy, rule=one.rule)
        )
        expected = model.assess(records, decision=decision)
        assert one.evaluation.to_json() == expected.to_json(), one.name
    coherent = {one.name: one.evaluation.coherence for one in found.rules}
    assert coherent["backoff"].orphans == coherent["closed"].orphans == 0


@pytest.mark.parametrize("rule", ["paper", "coherent", "backoff"])
@pytest.mark.parametrize("name", TAXONOMIES)
def test_a_threshold_curve_is_what_other_thresholds_would_do(name: str, rule: Rule) -> None:
    """With 0.35 and 0.55 for a level, and the levels above as they were, F1 is the curve's."""
    taxonomy = TAXONOMIES[name]
    model, records = model_of(taxonomy), records_of(taxonomy, 40)
    start = model.decision.changed(taxonomy, rule=rule, threshold=0.45)
    curves = gather(model, records, decision=start, rules=False, examples=0).thresholds
    for curve in curves:
        assert curve.lowest == curve.usual == curve.highest == pytest.approx(0.45)
        for step in (35, 55):
            by_level = [0.45] * taxonomy.depth
            by_level[curve.level - 1] = step / 100
            moved = model.decision.changed(taxonomy, rule=rule, threshold=by_level)
            level = model.assess(records, decision=moved).scores.levels[curve.level - 1]
            point = curve.points[step]
            assert point.f1 == pytest.approx(level.micro_f1, abs=1e-12)
            assert point.recall == pytest.approx(level.micro_recall, abs=1e-12)
            assert (point.precision or 0) == pytest.approx(level.micro_precision, abs=1e-12)
        assert curve.best.f1 == max(point.f1 for point in curve.points)


@pytest.mark.parametrize("name", TAXONOMIES)
def test_calibration_before_and_after(name: str) -> None:
    """Before: an evaluation of plain sigmoids of the same scores and the same chosen labels."""
    taxonomy, found = TAXONOMIES[name], findings(name)
    model = model_of(taxonomy)
    corpus = model.prepare(records_of(taxonomy, 60))
    plain, mapped = Evaluator(taxonomy), Evaluator(taxonomy)
    for indices, decoded in predict_batches(
        model.method,
        corpus.texts,
        model.decider(model.decision),
        precision="float32",
        token_budget=4096,
    ):
        levels = [taxonomy.level_slice(level) for level in range(1, taxonomy.depth + 1)]
        maps = model.decision.calibration
        calibrated = [maps(i, decoded.scores[:, part]) for i, part in enumerate(levels, start=1)]
        for evaluator, probabilities in (
            (plain, torch.sigmoid(decoded.scores)),
            (mapped, torch.cat(calibrated, dim=1)),
        ):
            evaluator.update(corpus.gold[indices], decoded.chosen.numpy(), probabilities.numpy())
    steps = found.calibration
    assert steps.calibrated is not None
    for part, evaluator in ((steps.before, plain), (steps.calibrated, mapped)):
        expected = evaluator.result().calibration
        assert expected is not None
        assert errors(part.overall) == pytest.approx(errors(expected.overall), abs=1e-6)
        assert len(part.levels) == taxonomy.depth
    assert steps.answered is found.evaluation.calibration


def errors(part: Reliability) -> list[float]:
    fields = asdict(part)
    return [fields[key] for key in ("ece", "ece_equal_mass", "ece_chosen", "brier", "pairs")]


def test_examples_are_documents_with_errors() -> None:
    """Half are the surest mistakes, the surest first; the others are drawn, none comes twice."""
    taxonomy, records = TREE, records_of(TREE, 60)
    model = model_of(taxonomy)
    found = gather(model, records, rules=False, examples=7)
    shown = [*found.surest, *found.drawn]
    assert (len(found.surest), len(shown)) == (4, 7)
    assert len({one.index for one in shown}) == 7
    chances = [one.surest for one in found.surest]
    assert chances == sorted(chances, reverse=True)
    probabilities = model.predict_proba([record.text for record in records])
    chosen = model.choose([record.text for record in records]).toarray()
    surest = np.zeros(len(records))
    for index, record in enumerate(records):
        gold = np.zeros(len(taxonomy), dtype=bool)
        gold[taxonomy.ids(record.labels)] = True
        surest[index] = np.where(chosen[index] & ~gold, probabilities[index], 0).max()
    assert chances == pytest.approx(np.sort(surest)[::-1][:4], abs=1e-6)
    for one in shown:
        record = records[one.index]
        assert one.gold == tuple(sorted(taxonomy.ids(record.labels).tolist()))
        assert one.predicted == tuple(np.flatnonzero(chosen[one.index]).tolist())
        assert one.gold != one.predicted
        assert found.texts[one.index].text == record.text
        assert found.texts[one.index].id == record.id


def test_no_examples_and_no_rules() -> None:
    found = gather(model_of(TREE), records_of(TREE, 10), rules=False, examples=0)
    assert (found.surest, found.drawn, found.texts, found.rules) == ([], [], {}, ())
    assert "rules" not in found.to_json()


def test_progress_names_every_walk() -> None:
    """One walk with the examples, five for the other decisions, each over all documents."""
    heard: dict[str, int] = {}

    def on_batch(name: str, documents: int, total: int) -> None:
        assert total == 10
        heard[name] = heard.get(name, 0) + documents

    gather(model_of(TREE), records_of(TREE, 10), on_batch=on_batch)
    assert heard == dict.fromkeys(["", REFERENCE, "paper", "closed", "coherent", "leaf"], 10)


def test_long_texts_are_cut_between_words() -> None:
    record = records_of(TREE, 1)[0]
    long = type(record)("money " * 1000, ("c",))
    found = gather(model_of(TREE), [long], rules=False, examples=1)
    if found.texts:
        shown = found.texts[0]
        assert shown.is_cut
        assert set(shown.text.split()) == {"money"}
        assert len(shown.text) <= 450


@pytest.mark.parametrize("name", [part.name for part in pkgutil.iter_modules(hbgl.report.__path__)])
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"hbgl.report.{name}")).failed == 0


def test_taxonomies_cover_the_cases() -> None:
    assert (TREE.is_tree, GRAPH.is_tree, FLAT.depth) == (True, False, 1)
    assert isinstance(TREE, Taxonomy)
