"""Expected level inputs and own ones in training, against numbers by hand and the long sequence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hbgl.level_inputs import labels_handed_down, level_vector
from hbgl.model import HBGL
from hbgl.precision import autocast
from hbgl.settings import ModelSettings, Rule
from hbgl.teacher_forcing import states_after_text
from tests.long_sequence import long_states
from tests.small_corpus import deciding
from tests.test_model import DOCUMENTS, batch_of, gold_of, hbgl
from tests.test_two_streams import FAMILIES, tiny_method

EXPECTED = ModelSettings(level_input="expected", teacher_masking=0.0)


# ---------------------------------------------------------------------- the vector


def test_expected_vector_by_hand() -> None:
    """p = 0.5, 0.2: 0.5 Y0 + 0.2 Y1 + 0.5 * 0.8 [SEP]."""
    vectors, sep = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([10.0, 20.0])
    found = level_vector(torch.tensor([[0.5, 0.2]]), vectors, sep)
    torch.testing.assert_close(found, torch.tensor([[0.5 + 4.0, 0.2 + 8.0]]))


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_it_is_the_mean_over_drawn_labels(shares: list[float]) -> None:
    """Over all 16 label sets, each with its probability, of the vector of chosen labels."""
    random = torch.Generator().manual_seed(0)
    vectors, sep = torch.randn(4, 3, generator=random), torch.randn(3, generator=random)
    expected = torch.zeros(1, 3)
    for drawn in itertools.product([False, True], repeat=4):
        chance = np.prod([p if one else 1 - p for p, one in zip(shares, drawn, strict=True)])
        expected += float(chance) * level_vector(torch.tensor([drawn]), vectors, sep)
    found = level_vector(torch.tensor([shares]), vectors, sep)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_certain_probabilities_are_chosen_labels() -> None:
    labels = torch.tensor([[True, False, True], [False, False, False]])
    vectors, sep = torch.randn(3, 4), torch.randn(4)
    sure = level_vector(labels.float(), vectors, sep)
    torch.testing.assert_close(sure, level_vector(labels, vectors, sep))


def test_what_is_handed_down() -> None:
    """Logits 0 and -2 are 0.5 and 0.119: below a floor of 0.2 the second counts as 0."""
    chosen, scores = torch.tensor([[False, True]]), torch.tensor([[0.0, -2.0]])
    assert labels_handed_down("chosen", 0.2, chosen, scores) is chosen
    found = labels_handed_down("expected", 0.0, chosen, scores)
    torch.testing.assert_close(found, torch.sigmoid(scores))
    floored = labels_handed_down("expected", 0.2, chosen, scores)
    torch.testing.assert_close(floored, torch.tensor([[0.5, 0.0]]))


# ---------------------------------------------------------------------- prediction


@pytest.mark.parametrize("floor", [0.0, 0.4])
@pytest.mark.parametrize("parents", [1, 3], ids=["tree", "dag"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_equals_the_long_sequence(family: str, parents: int, floor: float) -> None:
    """The scores of each level from a whole new long sequence whose u are written out here."""
    settings = ModelSettings(level_input="expected", level_input_floor=floor)
    backbone, method, batch = tiny_method(family, 1, settings, parents)
    decoded = method.predict(batch, deciding(taxonomy=method.taxonomy))
    words = method.encoder.parts.word_embeddings.weight
    mask, sep = words[method.mask_id], words[method.sep_id]
    scores = torch.full(decoded.scores.shape, float("nan"))
    known = mask.repeat(len(batch.ids), method.levels, 1)
    with torch.no_grad():
        for level, columns in enumerate(method.slices):
            vectors = torch.cat([known, mask.expand_as(known)], dim=1)
            state = long_states(backbone, batch, vectors)[:, method.levels + level]
            scores[:, columns] = method.logits(state, columns)
            shares = torch.sigmoid(scores[:, columns])
            shares = shares * (shares > floor)
            none = (1 - shares).prod(dim=1, keepdim=True)
            known[:, level] = shares @ method.label_vectors[columns] + none * sep
    torch.testing.assert_close(decoded.scores, scores, atol=1e-5, rtol=1e-5)


def test_no_threshold_and_no_rule_moves_a_score() -> None:
    """Where chosen labels are handed down, they do."""
    rules: list[tuple[float, Rule]] = [(0.5, "paper"), (0.9, "backoff"), (0.01, "leaf")]
    for settings, moves in ((EXPECTED, False), (ModelSettings(), True)):
        method, batch = hbgl(settings), batch_of(None)
        first, *others = (
            method.predict(batch, deciding(threshold, rule=rule)).scores
            for threshold, rule in rules
        )
        assert all(torch.equal(first, other) for other in others) != moves


# ---------------------------------------------------------------------- training


def states_of(method: HBGL, share: float, seed: int = 0) -> torch.Tensor:
    method.train()
    for part in method.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    method.own_share = share
    torch.manual_seed(seed)
    return method.training_states(batch_of(gold_of(*DOCUMENTS)))


@pytest.mark.parametrize("kind", ["chosen", "expected"])
def test_own_inputs_are_those_that_the_states_predict(kind: str) -> None:
    """All levels replaced: the first level is as before, the others follow from what the states
    under true labels predict for the level above.
    """
    settings = ModelSettings(level_input=kind, teacher_masking=0.0)  # type: ignore[arg-type]
    method = hbgl(settings)
    true, own = states_of(method, 0.0), states_of(method, 1.0)
    torch.testing.assert_close(own[:, 0], true[:, 0])
    assert not torch.allclose(own[:, 1:], true[:, 1:], atol=1e-3)
    words = method.encoder.parts.word_embeddings.weight
    mask, sep = words[method.mask_id], words[method.sep_id]
    known = []
    for level, columns in enumerate(method.slices):
        scores = method.logits(true[:, level], columns)
        shares = torch.sigmoid(scores)
        labels = shares if kind == "expected" else (shares > 0.5)
        known.append(level_vector(labels, method.label_vectors[columns], sep))
    batch = batch_of(None)
    memory = method.encoder.encode_text(
        method.encoder.parts.word_embeddings(batch.ids), batch.lengths
    )
    expected = states_after_text(method.encoder, memory, torch.stack(known, dim=1), mask)
    torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)


def test_the_share_of_own_inputs_rises_linearly() -> None:
    """0.8 at the end: 0.2 after a quarter. 3 levels of 2000 documents: 1200 expected, sd 31."""
    method = hbgl(ModelSettings(own_level_inputs=0.8, teacher_masking=0.0))
    method.begin_step(0.0)
    assert method.own_share == 0.0
    method.begin_step(0.25)
    assert method.own_share == pytest.approx(0.2)
    torch.manual_seed(0)
    known = torch.zeros(2000, 3, 16)
    made = method._with_own_inputs(known, torch.randn(2000, 3, 16), torch.ones(16))
    replaced = (made != 0).any(dim=2)
    assert 1050 < int(replaced.sum()) < 1350
    assert len({tuple(row) for row in replaced.tolist()}) == 8


def test_own_inputs_are_for_training_only() -> None:
    method = hbgl(ModelSettings(own_level_inputs=1.0, teacher_masking=0.0))
    method.begin_step(1.0)
    plain = hbgl(ModelSettings(teacher_masking=0.0))
    batch = batch_of(gold_of(*DOCUMENTS))
    torch.testing.assert_close(method.training_states(batch), plain.training_states(batch))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_every_weight_still_learns(precision: str) -> None:
    """Predicting first must not leave autocast with weights that know no gradient: the last
    layer's queries are first used by the label stream.
    """
    method = hbgl(EXPECTED).train()
    method.own_share = 1.0
    with autocast(precision, torch.device("cpu")):
        loss = method(batch_of(gold_of(*DOCUMENTS)))
    torch.autograd.backward(loss)
    last = method.encoder.parts.layers[-1]
    for part in (last.query, last.key, last.attention_output, last.widen, last.narrow):
        assert part.weight.grad is not None
        assert float(part.weight.grad.abs().max()) > 0
    assert method.label_vectors.grad is not None


def test_nothing_is_drawn_where_it_is_off() -> None:
    """Runs of the other settings repeat the random numbers that they had."""
    method = hbgl(ModelSettings(teacher_masking=0.5))
    states_of(method, 0.0)
    after = torch.rand(())
    torch.manual_seed(0)
    torch.rand(3, 3)  # teacher masking: 3 documents, 3 levels
    assert torch.equal(after, torch.rand(()))
