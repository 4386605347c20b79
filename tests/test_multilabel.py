"""The flat classifier on [CLS]."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from hbgl.batching import Batch
from hbgl.errors import UsageError
from hbgl.methods import build_method
from hbgl.methods.multilabel import Multilabel
from hbgl.model import HBGL
from hbgl.settings import ModelSettings
from tests.small_corpus import TAXONOMY, deciding
from tests.tiny import FAMILIES, tiny_backbone

FLAT = ModelSettings(method="multilabel")


def batch_of(pad_id: int, gold: torch.Tensor | None = None) -> Batch:
    """Texts of 7, 3 and 2 tokens, padded."""
    ids = torch.randint(10, 100, (3, 7), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([7, 3, 2])
    ids[torch.arange(7)[None] >= lengths[:, None]] = pad_id
    return Batch(ids, lengths, gold)


@pytest.mark.parametrize("family", FAMILIES)
def test_first_state_equals_the_models_own(family: str) -> None:
    """Hugging Face's ``last_hidden_state[:, 0]``, with padding and without."""
    backbone = tiny_backbone(family)
    method = Multilabel(backbone, TAXONOMY, FLAT).eval()
    batch = batch_of(backbone.pad_id)
    model: Any = backbone.model
    for ids, lengths in ((batch.ids, batch.lengths), (batch.ids[:1], batch.lengths[:1])):
        seen = (torch.arange(7)[None] < lengths[:, None]).long()
        with torch.no_grad():
            expected = model(input_ids=ids, attention_mask=seen).last_hidden_state[:, 0]
            words = method.encoder.parts.word_embeddings(ids)
            found = method.encoder.first_state(words, lengths)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_loss_is_binary_cross_entropy_over_all_labels(reduction: Any) -> None:
    """Summed or averaged over the eight labels, averaged over documents with their weights."""
    settings = ModelSettings(method="multilabel", loss_reduction=reduction)
    backbone = tiny_backbone()
    method = Multilabel(backbone, TAXONOMY, settings).eval()
    gold = torch.rand(3, 8, generator=torch.Generator().manual_seed(0)) < 0.3
    batch = batch_of(backbone.pad_id, gold)
    shares = torch.sigmoid(method.logits(batch))
    terms = -torch.where(gold, shares.log(), (1 - shares).log())
    losses = terms.sum(1) if reduction == "sum" else terms.mean(1)
    torch.testing.assert_close(method(batch), losses.mean())
    weighted = Batch(batch.ids, batch.lengths, gold, torch.tensor([0.0, 1.0, 3.0]))
    torch.testing.assert_close(method(weighted), (losses[1] + 3 * losses[2]) / 3)


def test_labels_over_their_threshold_are_chosen() -> None:
    backbone = tiny_backbone()
    method = Multilabel(backbone, TAXONOMY, FLAT).eval()
    batch = batch_of(backbone.pad_id)
    with torch.inference_mode():  # the kernels of prediction: the last bit must be the same
        middle = torch.sigmoid(method.logits(batch)).median(dim=0).values
    decoded = method.predict(batch, deciding(middle))
    assert torch.equal(decoded.chosen, decoded.probabilities > middle)
    assert decoded.chosen.sum(dim=0).tolist() == [1] * 8  # of three values one is over the middle


def test_it_learns() -> None:
    torch.manual_seed(0)
    backbone = tiny_backbone()
    method = Multilabel(backbone, TAXONOMY, FLAT)
    gold = torch.eye(3, 8).bool()
    batch = batch_of(backbone.pad_id, gold)
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-2)
    first = float(method(batch).detach())
    for _ in range(60):
        optimizer.zero_grad()
        loss = method(batch)
        torch.autograd.backward(loss)
        optimizer.step()
    assert float(loss.detach()) < first / 20
    assert torch.equal(method.eval().predict(batch, deciding()).chosen, gold)


def test_sizes_and_parameters() -> None:
    """No level needs a position, so a text may have all 64; the head is the label parameters."""
    method = Multilabel(tiny_backbone(), TAXONOMY, FLAT)
    assert method.max_length == 64
    assert Multilabel(tiny_backbone(), TAXONOMY, ModelSettings(max_length=9)).max_length == 9
    assert [tuple(one.shape) for one in method.label_parameters()] == [(8, 16), (8,)]


def test_labels_are_needed_for_training() -> None:
    with pytest.raises(UsageError, match="training needs labels"):
        Multilabel(tiny_backbone(), TAXONOMY, FLAT)(batch_of(0))


def test_the_method_is_built_by_its_name() -> None:
    assert isinstance(build_method(tiny_backbone(), TAXONOMY, FLAT, None), Multilabel)
    built = build_method(tiny_backbone(), TAXONOMY, ModelSettings(), torch.ones(8, 16))
    assert isinstance(built, HBGL)
    assert functional.l1_loss(built.label_vectors, torch.ones(8, 16)) == 0
