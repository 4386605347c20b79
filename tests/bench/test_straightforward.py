"""The straightforward HBGL gives the numbers of ours: logits, choices, losses, gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hbgl.batching import Batch
from hbgl.bench.straightforward import Straightforward
from hbgl.decisions import Decider, Decision
from hbgl.errors import UsageError
from hbgl.model import HBGL
from hbgl.settings import PRESETS, ModelSettings
from hbgl.settings.choices import Rule
from hbgl.taxonomy import Taxonomy
from tests.small_corpus import TAXONOMY
from tests.tiny import tiny_backbone


def close(found: torch.Tensor | None, expected: torch.Tensor | None) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def both(
    settings: ModelSettings, family: str = "bert", seed: int = 0
) -> tuple[HBGL, Straightforward]:
    random = np.random.default_rng(seed)
    backbone = tiny_backbone(family, seed=seed, with_transform=settings.head == "transform")
    vectors = torch.from_numpy(random.normal(0, 0.3, (len(TAXONOMY), 16)).astype(np.float32))
    ours = HBGL(backbone, TAXONOMY, settings, vectors).eval()
    if ours.label_bias is not None:
        torch.nn.init.normal_(ours.label_bias)
    return ours, Straightforward(backbone, ours).eval()


def batch_of(taxonomy: Taxonomy, seed: int, *, padded_to: int = 20) -> Batch:
    """Six texts of 2 to 12 tokens; label sets closed under ancestors, the last one empty."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 13, size=6)
    ids = random.integers(10, 100, size=(6, padded_to))
    gold = np.zeros((6, len(taxonomy)), dtype=bool)
    for row in range(5):
        picked = random.integers(len(taxonomy), size=random.integers(1, 4))
        gold[row, taxonomy.closure(picked.tolist())] = True
    return Batch(torch.from_numpy(ids), torch.from_numpy(lengths), torch.from_numpy(gold))


def shortest(batch: Batch) -> Batch:
    """Padded to the longest text only, as our batches are."""
    return Batch(batch.ids[:, : int(batch.lengths.max())], batch.lengths, batch.gold)


@pytest.mark.parametrize("rule", ["paper", "backoff"])
@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("family", ["bert", "electra", "roberta"])
def test_prediction_gives_the_same_logits_and_labels(family: str, preset: str, rule: Rule) -> None:
    """Logits of every level, each after the choices of the levels above it."""
    half = np.full(len(TAXONOMY), 0.5, dtype=np.float32)
    decider = Decider(TAXONOMY, Decision(half, rule), torch.device("cpu"))
    chosen = []
    for seed in range(3):
        ours, straightforward = both(PRESETS[preset].model, family, seed)
        batch = batch_of(TAXONOMY, seed)
        expected = ours.predict(shortest(batch), decider)
        found = straightforward.predict(batch, decider)
        close(found.scores, expected.scores)
        assert torch.equal(found.chosen, expected.chosen)
        chosen.append(found.chosen)
    assert set(torch.cat(chosen).flatten().tolist()) == {False, True}


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_training_gives_the_same_loss_and_gradients(reduction: str) -> None:
    """With teacher masking drawn alike and no dropout; label rows of the one table get both the
    gradient of the head and that of the input.
    """
    settings = ModelSettings(loss_reduction=reduction)  # type: ignore[arg-type]
    ours, straightforward = both(settings)
    batch = batch_of(TAXONOMY, 0)
    losses = []
    for model, given in ((ours, shortest(batch)), (straightforward, batch)):
        model.train()
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        torch.manual_seed(5)
        loss = model(given)
        torch.autograd.backward(loss)
        losses.append(loss.detach())
    close(losses[1], losses[0])
    table = straightforward.table.weight.grad
    words = ours.encoder.parts.word_embeddings.weight.grad
    assert table is not None
    assert words is not None
    assert ours.label_vectors.grad is not None
    close(table[len(words) :], ours.label_vectors.grad)
    close(table[: len(words)], words)
    deep = "encoder.layer.0.attention.self.query.weight"
    expected = dict(ours.encoder.model.named_parameters())[deep].grad
    found = dict(straightforward.encoder.named_parameters())[deep].grad
    close(found, expected)


def test_ours_stays_as_it_was() -> None:
    """The weights are copies: training one leaves the other alone."""
    ours, straightforward = both(ModelSettings())
    before = ours.encoder.parts.word_embeddings.weight.detach().clone()
    with torch.no_grad():
        for parameter in straightforward.parameters():
            parameter.add_(1.0)
    assert torch.equal(ours.encoder.parts.word_embeddings.weight, before)


def test_refused_where_hugging_face_takes_no_positions_and_mask() -> None:
    backbone = tiny_backbone("mpnet")
    ours = HBGL(backbone, TAXONOMY, ModelSettings(), torch.zeros(len(TAXONOMY), 16))
    with pytest.raises(UsageError, match=r"backbone of type bert, .* tiny-mpnet is mpnet"):
        Straightforward(backbone, ours)


def test_the_loss_of_all_columns_is_refused() -> None:
    _, straightforward = both(PRESETS["authors"].model)
    with pytest.raises(UsageError, match="each level's own columns"):
        straightforward(batch_of(TAXONOMY, 0))


def test_what_it_does_not_compute_is_refused() -> None:
    """Other level inputs at once, other losses when it would train."""
    with pytest.raises(UsageError, match="level inputs of chosen labels only"):
        both(ModelSettings(level_input="expected"))
    for settings in (ModelSettings(loss="asymmetric"), ModelSettings(own_level_inputs=0.5)):
        with pytest.raises(UsageError, match="training here needs labels, the cross-entropy"):
            both(settings)[1](batch_of(TAXONOMY, 0))
