"""Predictions over a corpus: batches for every core, the same answers however they are cut."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from hbgl.evaluation import predict_batches
from tests.small_corpus import deciding, random_records
from tests.test_trained_model import classifier


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def answers(token_budget: int | None, share: tuple[int, int] = (0, 1)) -> dict[int, np.ndarray]:
    """Scores by document, and the first documents of the batches under -1."""
    model = classifier()
    texts = model.prepare(random_records(60, seed=3)).texts
    found: dict[int, np.ndarray] = {}
    starts = []
    for indices, decoded in predict_batches(
        model.method,
        texts,
        deciding(taxonomy=model.taxonomy),
        precision="float32",
        token_budget=token_budget,
        share=share,
    ):
        starts.append(int(indices[0]))
        found.update(zip(indices.tolist(), decoded.scores.numpy(), strict=True))
    return {**found, -1: np.array(starts)}


@pytest.mark.usefixtures("two_threads")
def test_few_texts_are_shared_out_to_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers(None)
    monkeypatch.setattr("hbgl.evaluation._LEAST_SHARE", 20)
    parts = answers(None)
    assert len(whole[-1]) == 1
    assert len(parts[-1]) >= 4
    for document in range(60):
        np.testing.assert_allclose(parts[document], whole[document], atol=1e-5)


@pytest.mark.usefixtures("two_threads")
def test_a_budget_that_is_given_makes_the_same_batches_on_any_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine and its model are compared batch by batch."""
    monkeypatch.setattr("hbgl.evaluation._LEAST_SHARE", 20)
    several = answers(100)[-1]
    torch.set_num_threads(1)
    assert np.array_equal(several, answers(100)[-1])
    assert len(several) > 1


@pytest.mark.usefixtures("two_threads")
def test_processes_cut_one_list_whatever_their_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hbgl.evaluation._LEAST_SHARE", 20)
    monkeypatch.setattr("hbgl.evaluation.prediction_tokens", lambda _: 100)
    first = answers(None, share=(0, 2))
    torch.set_num_threads(1)
    second = answers(None, share=(1, 2))
    assert sorted([*first, *second]) == sorted([-1, -1, *range(60)])
