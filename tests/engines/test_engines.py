"""Exported models answer as torch does: whole walks, every family, both runtimes."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import torch

from hbgl.batching import collate
from hbgl.decisions import Decider, Decision, Decoded
from hbgl.engines import Engine, EngineName, export_graphs, load_engine
from hbgl.errors import UsageError
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel
from tests.engines.models import DAG, DEEP, random_model, texts_of
from tests.small_corpus import TAXONOMY

TREES = {"tree": TAXONOMY, "dag": DAG, "deep": DEEP}
ONNX = [("onnx", family, "hbgl", "tree") for family in ("bert", "electra", "distilbert", "mpnet")]
ONNX += [
    ("onnx", "roberta", "authors", "tree"),
    ("onnx", "bert", "authors", "deep"),
    ("onnx", "bert", "hbgl", "dag"),
    ("onnx", "bert", "expected", "tree"),
    ("onnx", "bert", "multilabel", "tree"),
    ("onnx", "mpnet", "multilabel", "dag"),
]
OPENVINO = [
    ("openvino", "bert", "hbgl", "tree"),
    ("openvino", "mpnet", "authors", "deep"),
    ("openvino", "roberta", "multilabel", "dag"),
    ("openvino", "bert", "expected", "dag"),
]
LENGTHS = {"padded": [2, 31, 7, 16, 3], "equal": [9, 9], "one": [1], "longest": [58, 5]}


@cache
def exported(engine: EngineName, family: str, kind: str, tree: str) -> tuple[TrainedModel, Engine]:
    """A model and its float export; exporting itself compares them on random tokens."""
    pytest.importorskip({"onnx": "onnxruntime", "openvino": "openvino"}[engine])
    model = random_model(kind, family, TREES[tree])
    folder = Path(mkdtemp(prefix="hbgl-test-engine-"))
    description, report = export_graphs(
        model.torch_method, engine, folder, decision=model.decision, texts=texts_of([])
    )
    assert report.agreement.largest_score_difference < 1e-4
    return model, load_engine(folder, description, model.taxonomy, precision="float32")


def answers(
    model: TrainedModel, engine: Engine, lengths: list[int], rule: str = "paper", seed: int = 0
) -> tuple[Decoded, Decoded]:
    texts = texts_of(lengths, seed)
    batch = collate(texts, np.arange(len(lengths)), engine.pad_id)
    decision = Decision(model.decision.thresholds, rule)  # type: ignore[arg-type]
    decider = Decider(model.taxonomy, decision, torch.device("cpu"))
    return model.torch_method.predict(batch, decider), engine.predict(batch, decider)


def assert_equal(expected: Decoded, found: Decoded) -> None:
    torch.testing.assert_close(found.scores, expected.scores, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found.probabilities, expected.probabilities, atol=1e-4, rtol=1e-4)
    assert torch.equal(found.chosen, expected.chosen)


# ---------------------------------------------------------------------- equal to torch


@pytest.mark.parametrize("what", ONNX + OPENVINO, ids="-".join)
def test_walks_are_equal(what: tuple[EngineName, str, str, str]) -> None:
    """Padded, unpadded, a single text, the longest: same scores, same labels on every level."""
    model, engine = exported(*what)
    for lengths in LENGTHS.values():
        assert_equal(*answers(model, engine, lengths))


@pytest.mark.parametrize("rule", ["coherent", "leaf"])
@pytest.mark.parametrize("engine", ["onnx", "openvino"])
def test_the_rules_decide_in_an_engine_as_in_torch(engine: EngineName, rule: str) -> None:
    model, loaded = exported(engine, "bert", "hbgl", "tree")
    assert_equal(*answers(model, loaded, [4, 12, 20], rule))


def test_walks_differ_by_document() -> None:
    """The equality above is worth something: choices and empty levels differ among texts."""
    model, engine = exported("onnx", "bert", "hbgl", "tree")
    _, found = answers(model, engine, [5] * 40, seed=1)
    assert len(torch.unique(found.chosen, dim=0)) > 5
    below = found.chosen[:, TAXONOMY.level_slice(3)].any(dim=1)
    assert below.any()
    assert not below.all()


def test_length_of_texts_and_padding_are_those_of_the_model() -> None:
    """64 positions less 3 levels, or 4 where [SEP] is predicted as their end."""
    for kind, longest in (("hbgl", 61), ("authors", 60), ("multilabel", 64)):
        family = "roberta" if kind == "authors" else "bert"
        model, engine = exported("onnx", family, kind, "tree")
        assert engine.max_length == model.torch_method.max_length == longest
        assert engine.pad_id == model.backbone.pad_id


# ---------------------------------------------------------------------- other properties


def test_bfloat16_is_near() -> None:
    """OpenVINO in bfloat16, keys and values too: 8 bits of mantissa, scores of about 10."""
    folder = Path(mkdtemp(prefix="hbgl-test-engine-"))
    pytest.importorskip("openvino")
    model = random_model("hbgl", taxonomy=TAXONOMY)
    description, report = export_graphs(
        model.torch_method,
        "openvino",
        folder,
        decision=model.decision,
        texts=texts_of([5, 30]),
        precision="bfloat16",
    )
    assert report.in_use is not None
    assert report.in_use.largest_score_difference < 0.5
    engine = load_engine(folder, description, TAXONOMY, precision="bfloat16")
    expected, found = answers(model, engine, [20])
    first = TAXONOMY.level_slice(1)
    torch.testing.assert_close(found.scores[:, first], expected.scores[:, first], atol=0.5, rtol=0)


@pytest.mark.parametrize("engine", ["onnx", "openvino"])
def test_threads_may_share_an_engine(engine: EngineName) -> None:
    model, loaded = exported(engine, "bert", "hbgl", "tree")
    expected = [answers(model, loaded, [12, 5], seed=seed)[0] for seed in range(4)]
    faults: list[BaseException] = []

    def ask(seed: int) -> None:
        try:
            for _ in range(3):
                assert_equal(expected[seed], answers(model, loaded, [12, 5], seed=seed)[1])
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_an_engine_does_not_learn() -> None:
    _, engine = exported("onnx", "bert", "hbgl", "tree")
    batch = collate(texts_of([3]), np.arange(1), engine.pad_id)
    assert engine.label_parameters() == []
    with pytest.raises(UsageError, match="exported for onnx only predicts; train the model"):
        engine(batch)


def test_autocast_of_the_caller_changes_nothing() -> None:
    model, engine = exported("onnx", "bert", "hbgl", "tree")
    texts = texts_of([6, 3])
    batch = collate(texts, np.arange(2), engine.pad_id)
    decider = Decider(model.taxonomy, model.decision, torch.device("cpu"))
    plain = engine.predict(batch, decider)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = engine.predict(batch, decider)
    assert torch.equal(plain.scores, inside.scores)


def tree_of(taxonomy: Taxonomy) -> str:
    return next(name for name, one in TREES.items() if one is taxonomy)


@pytest.mark.parametrize("taxonomy", [DAG, DEEP], ids=tree_of)
def test_the_taxonomies_are_what_they_are_for(taxonomy: Taxonomy) -> None:
    """penguin has two parents; 1 > 2 > .. > 6 is six levels."""
    assert taxonomy.depth == {"dag": 3, "deep": 6}[tree_of(taxonomy)]
    assert len(taxonomy.edges) == {"dag": 5, "deep": 5}[tree_of(taxonomy)]
