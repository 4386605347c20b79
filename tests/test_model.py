"""Loss, targets, teacher forcing and decisions of HBGL, against numbers computed by hand."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.errors import BackboneError, UsageError
from hbgl.model import HBGL
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy
from tests.small_corpus import TAXONOMY, closed, deciding
from tests.tiny import tiny_backbone

SEP_CLASS = ModelSettings(
    end_of_hierarchy="sep-class", loss_columns="all", loss_reduction="mean", teacher_masking=0.0
)


def hbgl(
    settings: ModelSettings | None = None,
    taxonomy: Taxonomy = TAXONOMY,
    backbone: Backbone | None = None,
) -> HBGL:
    """A tiny model with random label vectors and biases, in eval mode."""
    backbone = backbone or tiny_backbone(with_transform=True)
    random = torch.Generator().manual_seed(3)
    vectors = torch.randn(len(taxonomy), 16, generator=random)
    method = HBGL(backbone, taxonomy, settings or ModelSettings(), vectors).eval()
    if method.label_bias is not None:
        torch.nn.init.normal_(method.label_bias, generator=random)
    return method


def gold_of(*documents: tuple[str, ...]) -> torch.Tensor:
    gold = torch.zeros(len(documents), len(TAXONOMY), dtype=torch.bool)
    for row, labels in enumerate(documents):
        gold[row, TAXONOMY.ids(labels).tolist()] = True
    return gold


def batch_of(gold: torch.Tensor | None, documents: int = 3, width: int = 9) -> Batch:
    random = torch.Generator().manual_seed(5)
    ids = torch.randint(10, 100, (documents, width), generator=random)
    lengths = torch.randint(2, width + 1, (documents,), generator=random)
    lengths[0] = width
    return Batch(ids, lengths, gold)


DOCUMENTS = (closed(["cats"]), closed(["puppies", "oaks"]), ())


def entropy(logit: torch.Tensor, target: float) -> torch.Tensor:
    """-(t log s + (1 - t) log (1 - s)), s the sigmoid of the logit."""
    share = torch.sigmoid(logit.double())
    return -(target * share.log() + (1 - target) * (1 - share).log())


# ---------------------------------------------------------------------- loss


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_loss_of_level_columns(reduction: Any) -> None:
    """Level h's state is compared with level h's labels only; 2 + 4 + 2 terms, or their mean."""
    method = hbgl(ModelSettings(loss_reduction=reduction))
    gold = gold_of(*DOCUMENTS)
    states = torch.randn(3, 3, 16)
    losses = method.losses(states, gold)
    for row in range(3):
        terms = []
        for label in range(8):
            state = states[row, int(TAXONOMY.levels[label]) - 1]
            assert method.label_bias is not None
            logit = state @ method.label_vectors[label] + method.label_bias[label]
            terms.append(entropy(logit, float(gold[row, label])))
        together = torch.stack(terms)
        expected = together.sum() if reduction == "sum" else together.mean()
        torch.testing.assert_close(losses[row].double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_loss_of_all_columns(reduction: Any) -> None:
    """Every level's state against all eight labels; those of other levels have target 0."""
    method = hbgl(ModelSettings(loss_columns="all", loss_reduction=reduction))
    gold = gold_of(*DOCUMENTS)
    states = torch.randn(3, 3, 16)
    losses = method.losses(states, gold)
    for row in range(3):
        terms = []
        for level in range(3):
            logits = method.logits(states[row, level])
            for label in range(8):
                here = int(TAXONOMY.levels[label]) == level + 1
                terms.append(entropy(logits[label], float(here and gold[row, label])))
        together = torch.stack(terms)
        expected = together.sum() if reduction == "sum" else together.mean()
        torch.testing.assert_close(losses[row].double(), expected, atol=1e-5, rtol=1e-5)


def hand_targets(*rows: tuple[int, ...]) -> list[list[float]]:
    return [[float(column in row) for column in range(9)] for row in rows]


def test_sep_class_targets_by_hand() -> None:
    """Ids: animals 0 plants 1 | cats 2 dogs 3 trees 4 herbs 5 | puppies 6 oaks 7; [SEP] is 8.

    {animals, cats}: 0; 2; then [SEP]; the fourth level counts for nothing.
    {animals, plants, dogs, trees, puppies, oaks}: 0 1; 3 4; 6 7; [SEP].
    {}: [SEP] at once. {animals, puppies}, a skipped level: 0; nothing; 6; [SEP].
    """
    assert TAXONOMY.labels == (
        *("animals", "plants", "cats", "dogs", "trees", "herbs", "puppies", "oaks"),
    )
    method = hbgl(SEP_CLASS)
    targets, counted = method._targets_of_all_columns(gold_of(*DOCUMENTS, ("animals", "puppies")))
    assert targets.tolist() == [
        hand_targets((0,), (2,), (8,), ()),
        hand_targets((0, 1), (3, 4), (6, 7), (8,)),
        hand_targets((8,), (), (), ()),
        hand_targets((0,), (), (6,), (8,)),
    ]
    assert counted.tolist() == [
        [True, True, True, False],
        [True, True, True, True],
        [True, False, False, False],
        [True, True, True, True],
    ]


def test_sep_class_loss_counts_levels_up_to_sep() -> None:
    """The empty document has one level of nine columns: the mean is over nine terms."""
    method = hbgl(SEP_CLASS)
    states = torch.randn(3, 4, 16)
    losses = method.losses(states, gold_of(*DOCUMENTS))
    logits = method.logits(states[2, 0])
    terms = [entropy(logits[column], float(column == 8)) for column in range(9)]
    torch.testing.assert_close(losses[2].double(), torch.stack(terms).mean(), atol=1e-5, rtol=1e-5)
    changed = states.clone()
    changed[2, 1:] = 0.0
    assert method.losses(changed, gold_of(*DOCUMENTS))[2] == losses[2]


def test_sep_is_a_column_with_the_backbones_own_vector() -> None:
    method = hbgl(SEP_CLASS)
    state = torch.randn(16)
    assert method.label_bias is not None
    sep = method.encoder.parts.word_embeddings.weight[method.sep_id]
    expected = state @ sep + method.label_bias[-1]
    torch.testing.assert_close(method.logits(state)[-1], expected)


def test_weights_of_documents() -> None:
    """Losses a, b, c with weights 2, 0, 1: (2a + c) / 3."""
    method = hbgl(ModelSettings(teacher_masking=0.0))
    gold = gold_of(*DOCUMENTS)
    batch = batch_of(gold)
    losses = method.losses(method.training_states(batch), gold)
    torch.testing.assert_close(method(batch), losses.mean())
    weighted = dataclasses.replace(batch, weights=torch.tensor([2.0, 0.0, 1.0]))
    torch.testing.assert_close(method(weighted), (2 * losses[0] + losses[2]) / 3)


def test_the_transform_stands_before_the_product() -> None:
    method = hbgl(ModelSettings(head="transform"))
    assert method.transform is not None
    assert method.label_bias is not None
    state = torch.randn(16)
    expected = method.transform(state) @ method.label_vectors.T + method.label_bias
    torch.testing.assert_close(method.logits(state), expected)
    assert hbgl(ModelSettings(head="dot")).transform is None


def test_labels_are_needed_for_training() -> None:
    with pytest.raises(UsageError, match="training needs labels"):
        hbgl()(batch_of(None))


# ---------------------------------------------------------------------- teacher forcing


def test_level_inputs_are_sums_of_label_vectors() -> None:
    """{animals, plants, dogs, trees, puppies, oaks}: Y0 + Y1, Y3 + Y4, Y6 + Y7; {} is [SEP]."""
    method = hbgl()
    words = method.encoder.parts.word_embeddings.weight
    mask, sep = words[method.mask_id], words[method.sep_id]
    inputs = method.teacher_inputs(gold_of(*DOCUMENTS), mask, sep)
    vectors = method.label_vectors
    expected = torch.stack([vectors[0] + vectors[1], vectors[3] + vectors[4], vectors[6:].sum(0)])
    torch.testing.assert_close(inputs[1], expected)
    torch.testing.assert_close(inputs[0], torch.stack([vectors[0], vectors[2], sep]))
    torch.testing.assert_close(inputs[2], torch.stack([sep, sep, sep]))


def test_levels_are_masked_at_their_rate_in_training_only() -> None:
    """2000 documents of 3 levels at 0.3: 1800 expected, standard deviation 35."""
    torch.manual_seed(0)
    method = hbgl(ModelSettings(teacher_masking=0.3))
    words = method.encoder.parts.word_embeddings.weight
    mask, sep = words[method.mask_id], words[method.sep_id]
    gold = gold_of(DOCUMENTS[1]).expand(2000, -1)

    def masked() -> torch.Tensor:
        return (method.teacher_inputs(gold, mask, sep) == mask).all(dim=2)

    assert not masked().any()
    method.train()
    share = masked()
    assert 1620 < int(share.sum()) < 1980
    # Each level of each document by itself: all eight patterns occur.
    assert len({tuple(row) for row in share.tolist()}) == 8
    method.settings = ModelSettings(teacher_masking=0.0)
    assert not masked().any()
    method.settings = ModelSettings(teacher_masking=1.0)
    assert masked().all()


def label_gradient(method: HBGL, batch: Batch) -> torch.Tensor:
    method.zero_grad()
    torch.autograd.backward(method(batch))
    assert method.label_vectors.grad is not None
    return method.label_vectors.grad.clone()


def test_without_input_gradient_label_vectors_learn_through_the_head_only() -> None:
    """As if the input were another copy of the label vectors."""
    open_, closed_ = (
        hbgl(ModelSettings(teacher_masking=0.0)),
        hbgl(ModelSettings(teacher_masking=0.0, input_gradient=False)),
    )
    gold = gold_of(*DOCUMENTS)
    batch = batch_of(gold)
    torch.testing.assert_close(open_(batch), closed_(batch))
    # By hand: the states as constants, so that only the head remains.
    states = open_.training_states(batch).detach()
    open_.zero_grad()
    torch.autograd.backward(open_.losses(states, gold).mean())
    head_only = open_.label_vectors.grad
    assert head_only is not None
    head_only = head_only.clone()
    torch.testing.assert_close(label_gradient(closed_, batch), head_only)
    assert not torch.allclose(label_gradient(open_, batch), head_only)


# ---------------------------------------------------------------------- prediction

THRESHOLDS = st.lists(st.floats(0.01, 0.99), min_size=8, max_size=8).map(torch.tensor)


@settings(max_examples=25, deadline=None)
@given(THRESHOLDS, st.sampled_from(["empty-is-sep", "sep-class"]))
def test_chosen_labels_are_over_their_threshold(thresholds: torch.Tensor, end: str) -> None:
    """And all of them are chosen, unless [SEP] ended the walk before."""
    method = METHODS[end]
    decoded = method.predict(batch_of(None), deciding(thresholds))
    over = decoded.probabilities > thresholds
    assert not (decoded.chosen & ~over).any()
    if end == "empty-is-sep":
        assert torch.equal(decoded.chosen, over)
    assert decoded.probabilities.shape == (3, 8)
    assert decoded.probabilities.dtype == torch.float32
    assert bool(((decoded.probabilities > 0) & (decoded.probabilities < 1)).all())


METHODS = {"empty-is-sep": hbgl(), "sep-class": hbgl(SEP_CLASS)}


@settings(max_examples=25, deadline=None)
@given(THRESHOLDS, st.floats(0.0, 0.5))
def test_raising_a_threshold_of_level_1_adds_no_label_there(
    thresholds: torch.Tensor, more: float
) -> None:
    """Below level 1 it may: the walk goes on from other labels."""
    method, top = METHODS["empty-is-sep"], TAXONOMY.level_slice(1)
    before = method.predict(batch_of(None), deciding(thresholds)).chosen[:, top]
    raised = deciding((thresholds + more).clamp(max=1.0))
    after = method.predict(batch_of(None), raised).chosen[:, top]
    assert not (after & ~before).any()


def test_a_threshold_of_one_chooses_nothing() -> None:
    assert not hbgl().predict(batch_of(None), deciding(1.0)).chosen.any()


def sep_method(fires: list[bool]) -> HBGL:
    """A model whose labels are all chosen and whose [SEP] fires at the given levels."""
    method = hbgl(SEP_CLASS)
    plain = method.logits
    step = iter([fired for fired in fires for _ in range(2)])

    def logits(states: torch.Tensor, columns: slice | None = None) -> torch.Tensor:
        found = torch.ones_like(plain(states, columns))
        if columns is None:
            found[..., -1] = 1.0 if fired[0] else -1.0
        return found

    fired = [False]

    def level_by_level(states: torch.Tensor, columns: slice | None = None) -> torch.Tensor:
        fired[0] = next(step)
        return logits(states, columns)

    method.logits = level_by_level  # type: ignore[method-assign]
    return method


@pytest.mark.parametrize(
    ("fires", "levels"),
    [
        ([False, False, False], [1, 2, 3]),
        ([False, True, False], [1, 2]),
        ([True, False, False], [1]),
        ([True, True, True], [1]),
    ],
)
def test_labels_of_the_level_where_sep_fires_are_kept(fires: list[bool], levels: list[int]) -> None:
    """[SEP] ends the walk after its level; where it never fires, the last level stays too."""
    decoded = sep_method(fires).predict(batch_of(None), deciding())
    expected = torch.tensor([int(level) in levels for level in TAXONOMY.levels])
    assert torch.equal(decoded.chosen, expected.expand(3, -1))
    # A probability for every label, of levels after the end, too.
    torch.testing.assert_close(decoded.probabilities, torch.sigmoid(torch.ones(3, 8)))


def test_an_answer_without_labels_stays_empty() -> None:
    """No label over its threshold: nothing is chosen, and not label 0 either."""
    method = hbgl(SEP_CLASS)
    assert method.label_bias is not None
    with torch.no_grad():
        method.label_bias.fill_(-1000.0)
    assert not method.predict(batch_of(None), deciding()).chosen.any()


# ---------------------------------------------------------------------- sizes


def test_the_longest_text_leaves_positions_for_the_levels() -> None:
    """64 positions, 3 levels: 61 tokens; [SEP] as a class is a fourth level: 60."""
    assert hbgl().max_length == 61
    assert hbgl(SEP_CLASS).max_length == 60
    assert hbgl(ModelSettings(max_length=20)).max_length == 20
    assert hbgl(ModelSettings(max_length=500)).max_length == 61


def test_the_longest_text_is_answered() -> None:
    for method in (hbgl(), hbgl(SEP_CLASS)):
        batch = batch_of(gold_of(*DOCUMENTS), width=method.max_length)
        assert torch.isfinite(method(batch))
        assert torch.isfinite(method.predict(batch, deciding()).probabilities).all()


def test_a_deep_taxonomy_that_leaves_no_room_is_refused() -> None:
    names = ["Root", *(f"level {i}" for i in range(9))]
    chain = Taxonomy.from_edges(list(pairwise(names)))
    with pytest.raises(BackboneError, match=r"9 levels leaves no room for text.* 11 positions"):
        hbgl(taxonomy=chain, backbone=tiny_backbone(max_positions=11))
    assert hbgl(taxonomy=chain, backbone=tiny_backbone(max_positions=12)).max_length == 3


def test_label_vectors_of_another_taxonomy_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\(5, 16\), but .* need \(8, 16\)"):
        HBGL(tiny_backbone(), TAXONOMY, ModelSettings(), torch.zeros(5, 16))
