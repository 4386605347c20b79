"""The same documents and weights wherever a workload is opened; taxonomies of any size."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hbgl.bench.spec import WorkloadSpec
from hbgl.bench.synthetic import balanced_taxonomy, level_sizes, random_records
from hbgl.bench.untrained import choose_few, untrained_model
from hbgl.bench.workload import open_workload
from hbgl.errors import CorpusError, UsageError
from tests.bench.conftest import Workloads
from tests.tiny import tiny_backbone, tiny_tokenizer


@pytest.mark.parametrize("levels", range(1, 9))
@pytest.mark.parametrize("labels", [8, 9, 100, 1000, 10_000])
def test_balanced_taxonomies_have_the_size_that_was_asked_for(labels: int, levels: int) -> None:
    taxonomy = balanced_taxonomy(labels, levels)
    assert (len(taxonomy), taxonomy.depth) == (labels, levels)
    sizes = level_sizes(labels, levels)
    assert [int((taxonomy.levels == level + 1).sum()) for level in range(levels)] == sizes


def test_children_are_spread_evenly() -> None:
    """1,110 = 10 + 100 + 1000: ten children each."""
    assert level_sizes(1110, 3) == [10, 100, 1000]
    parents = balanced_taxonomy(1110, 3).edges[:, 0]
    assert set(np.bincount(parents)[:110]) == {10}


def test_more_levels_than_labels() -> None:
    with pytest.raises(UsageError, match="3 labels cannot have 4 levels; give 1 to 3"):
        balanced_taxonomy(3, 4)


def test_texts_do_not_depend_on_the_taxonomy() -> None:
    small, large = (
        random_records(balanced_taxonomy(labels, 3), tiny_tokenizer(), 20, words=10, seed=3)
        for labels in (20, 2000)
    )
    assert [one.text for one in small] == [one.text for one in large]
    lengths = [len(one.text.split()) for one in small]
    assert min(lengths) >= 5
    assert max(lengths) <= 15
    assert all(one.labels for one in small)


def test_the_same_workload_twice(workload: Workloads) -> None:
    one, two = workload(documents=10), workload(documents=10)
    assert one.texts == two.texts
    assert len(one.texts) == 10
    assert one.texts != workload(documents=10, seed=1).texts
    methods: list[Any] = [work.model("multilabel").method for work in (one, two)]
    weights = [method.state_dict() for method in methods]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_training_takes_train_and_prediction_test(workload: Workloads) -> None:
    assert len(workload(documents=1000).records) == 24
    assert len(workload(documents=1000, training=True).records) == 40
    assert not set(workload().texts) & set(workload(training=True).texts)


def test_the_longest_text_leaves_positions_for_the_levels(workload: Workloads) -> None:
    """64 positions, 3 levels."""
    assert workload().max_length == 61
    assert workload(max_length=1000).max_length == 61
    work = workload(max_length=7)
    assert work.labelled().texts.lengths.max() == 7
    assert work.model().method.max_length == 7


def test_synthetic(workload: Workloads) -> None:
    work = workload(corpus="synthetic", documents=5, labels=30, levels=4, words=10)
    assert (len(work.taxonomy), work.taxonomy.depth, len(work.records)) == (30, 4, 5)
    assert work.name == "synthetic"


def test_a_trained_model_answers_in_place_of_an_untrained_one(
    workload: Workloads, backbone: Path, tmp_path: Path
) -> None:
    work = workload()
    work.model().save(tmp_path / "model")
    loaded = workload(model=str(tmp_path / "model"), backbone="not looked at")
    assert loaded.model() is loaded.loaded
    assert loaded.model().predict(work.texts) == work.model().predict(work.texts)
    assert loaded.max_length == work.max_length
    with pytest.raises(UsageError, match="has other labels than"):
        workload(model=str(tmp_path / "model"), corpus="clinc150")
    with pytest.raises(UsageError, match="leave the max length out"):
        workload(model=str(tmp_path / "model"), max_length=9)
    work.model("multilabel").save(tmp_path / "flat")
    with pytest.raises(UsageError, match="flat is no model of method hbgl in torch; give one"):
        workload(model=str(tmp_path / "flat"))


def test_what_cannot_be_worked_on(workload: Workloads, tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "taxonomy.tsv").write_text((corpus / "taxonomy.tsv").read_text())
    (tmp_path / "test.jsonl").write_text('{"text": "a", "labels": []}\n')
    with pytest.raises(CorpusError, match="has no train split"):
        workload(corpus=str(tmp_path), training=True)
    (tmp_path / "test.jsonl").write_text("")
    with pytest.raises(CorpusError, match=r"test\.jsonl: no documents"):
        workload(corpus=str(tmp_path))
    with pytest.raises(UsageError, match="62 levels leave no room for text"):
        workload(corpus="synthetic", labels=100, levels=62)


def test_specs_survive_json() -> None:
    from hbgl.bench.spec import TaskSpec

    spec = TaskSpec("train", "long", WorkloadSpec("a", 3, training=True, max_length=9), 2, 8)
    assert TaskSpec.from_json(spec.to_json()) == spec
    assert TaskSpec.from_json(TaskSpec("matmul").to_json()) == TaskSpec("matmul")
    assert dataclasses.replace(spec, threads=None) != spec


@pytest.mark.parametrize("method", ["hbgl", "multilabel"])
def test_an_untrained_model_chooses_a_label_or_two_per_level(method: str) -> None:
    """1.5 on average on the texts that the biases were set on, in three levels of 5, 22, 97."""
    taxonomy = balanced_taxonomy(124, 3)
    backbone = tiny_backbone()
    texts = [one.text for one in random_records(taxonomy, backbone.tokenizer, 32, 10, 0)]
    model = untrained_model(taxonomy, backbone, method=method, precision="float32")
    choose_few(model, texts)
    found = model.predict(texts)
    for level in (1, 2, 3):
        names = {taxonomy.labels[i] for i in np.flatnonzero(taxonomy.levels == level)}
        mean = np.mean([len(names.intersection(one.labels)) for one in found])
        assert 1.0 <= mean <= 1.5, (level, mean)


def test_open_workload_refuses_what_is_no_corpus(backbone: Path) -> None:
    with pytest.raises(CorpusError, match="neither a folder nor a bundled corpus"):
        open_workload(WorkloadSpec("nothing", 3, backbone=str(backbone)))
