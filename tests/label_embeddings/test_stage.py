"""The loop of the global stage, and first vectors."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Literal

import pytest
import torch

from hbgl.errors import TrainingError, UsageError
from hbgl.label_embeddings import draw_masks, initial_vectors, train_label_vectors
from hbgl.label_embeddings import objective as objective_module
from hbgl.precision import autocast, autocast_dtype
from hbgl.settings import GlobalMask, GlobalStage
from hbgl.settings.choices import Head
from hbgl.taxonomy import Taxonomy
from tests.label_embeddings.encoders import plain_loss, plain_states, word_embeddings
from tests.test_attention import eight_labels
from tests.tiny import tiny_backbone

SETTINGS = GlobalStage(steps=6, learning_rate=1e-2, masks_per_step=3)


@pytest.mark.parametrize("attention", ["self", "root"])
def test_dense_and_edges_train_the_same_vectors(attention: GlobalMask) -> None:
    settings = GlobalStage(steps=6, learning_rate=1e-2, attention=attention, segment=0)
    taxonomy, backbone = eight_labels(), tiny_backbone("mpnet")
    start = initial_vectors(taxonomy, backbone, "random")
    paths: tuple[Literal["dense", "edges"], ...] = ("dense", "edges")
    (dense, first), (edges, second) = (
        train_label_vectors(
            taxonomy, backbone, settings, start, seed=1, precision="float32", path=path
        )
        for path in paths
    )
    torch.testing.assert_close(dense, edges, rtol=1e-5, atol=1e-5)
    assert first.losses == pytest.approx(second.losses, rel=1e-5)
    assert (first.path, second.path) == ("dense", "edges")
    assert not torch.allclose(dense, start, atol=1e-3)


def test_encoder_stays_bit_identical_and_the_first_vectors_untouched() -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    before = {name: value.clone() for name, value in backbone.model.state_dict().items()}
    start = initial_vectors(taxonomy, backbone, "name")
    copy = start.clone()
    steps = []
    trained, report = train_label_vectors(
        taxonomy, backbone, SETTINGS, start, seed=0, progress=lambda *now: steps.append(now)
    )
    for name, value in backbone.model.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(parameter.grad is None for parameter in backbone.model.parameters())
    assert all(parameter.requires_grad for parameter in backbone.model.parameters())
    assert torch.equal(start, copy)
    assert (trained.dtype, trained.device.type, trained.shape) == (torch.float32, "cpu", (8, 16))
    assert not trained.requires_grad
    assert steps == list(enumerate(report.losses, start=1))
    assert (report.path, report.seconds > 0) == ("edges", True)


def test_same_seed_same_vectors_other_seed_others() -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    start = initial_vectors(taxonomy, backbone, "name")
    first, again, other = (
        train_label_vectors(taxonomy, backbone, SETTINGS, start, seed=seed)[0] for seed in (3, 3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_masks_one_by_one_equal_masks_together(monkeypatch: pytest.MonkeyPatch) -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    start = initial_vectors(taxonomy, backbone, "name")
    together, _ = train_label_vectors(
        taxonomy, backbone, SETTINGS, start, seed=0, precision="float32"
    )
    monkeypatch.setattr(objective_module, "PLACES_AT_ONCE", 1)
    one_by_one, _ = train_label_vectors(
        taxonomy, backbone, SETTINGS, start, seed=0, precision="float32"
    )
    torch.testing.assert_close(together, one_by_one, rtol=1e-4, atol=1e-5)


def test_large_taxonomies_use_fewer_masks_per_step() -> None:
    """Eight labels and three masks are 24 places: 16 allow two masks, 1 allows one."""
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    start = initial_vectors(taxonomy, backbone, "name")
    used = [
        train_label_vectors(taxonomy, backbone, SETTINGS, start, seed=0, places_per_step=places)[
            1
        ].masks_per_step
        for places in (None, 16, 1)
    ]
    assert used == [3, 2, 1]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("path", ["dense", "edges"])
def test_masked_labels_are_recovered_better(
    path: Literal["dense", "edges"], precision: str
) -> None:
    """The loss falls to less than half in 60 steps."""
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    settings = GlobalStage(steps=60, learning_rate=3e-2, mask_ratio_end=0.2)
    start = initial_vectors(taxonomy, backbone, "name")
    _, report = train_label_vectors(
        taxonomy, backbone, settings, start, seed=0, path=path, precision=precision
    )
    assert sum(report.losses[-5:]) < 0.5 * sum(report.losses[:5])


def test_the_transform_stands_before_the_product_where_there_is_one() -> None:
    """Other vectors than without it; the transform, too, stays bit-identical."""
    taxonomy = eight_labels()
    with_one, without = tiny_backbone("bert", with_transform=True), tiny_backbone("bert")
    assert with_one.transform is not None
    before = {name: value.clone() for name, value in with_one.transform.state_dict().items()}
    start = initial_vectors(taxonomy, with_one, "name")
    heads: tuple[Head, ...] = ("dot", "transform")
    plain, transformed = (
        train_label_vectors(
            taxonomy, with_one, dataclasses.replace(SETTINGS, head=head), start, seed=0
        )[0]
        for head in heads
    )
    assert not torch.allclose(plain, transformed, atol=1e-3)
    for name, value in with_one.transform.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(one.requires_grad and one.grad is None for one in with_one.transform.parameters())
    bare, _ = train_label_vectors(
        taxonomy, without, dataclasses.replace(SETTINGS, head="transform"), start, seed=0
    )
    assert torch.equal(bare, plain)


def test_the_first_loss_with_the_transform_is_that_of_transformed_states() -> None:
    """One mask; its rows through encoder and transform by hand, then the plain loss."""
    taxonomy, backbone = eight_labels(), tiny_backbone("bert", with_transform=True)
    assert backbone.transform is not None
    settings = GlobalStage(steps=1, masks_per_step=1, head="transform")
    start = initial_vectors(taxonomy, backbone, "name")
    _, report = train_label_vectors(
        taxonomy, backbone, settings, start, seed=0, precision="float32"
    )
    masks = draw_masks(8, settings, seed=0, step=0)
    with torch.no_grad():
        states = plain_states(backbone, taxonomy, start, masks, "self", 1)
        expected = plain_loss(taxonomy, backbone.transform(states), start, masks)
    assert report.losses == [pytest.approx(float(expected) / masks.sum(), rel=1e-5)]


def test_a_loss_that_is_no_number_is_refused() -> None:
    """The message names the stage and its own rate, not that of training."""
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    settings = GlobalStage(steps=9, learning_rate=1e30)
    start = initial_vectors(taxonomy, backbone, "name")
    with pytest.raises(TrainingError, match=r"loss of the global stage is .*rate \(1e\+30\)"):
        train_label_vectors(taxonomy, backbone, settings, start, seed=0)


def test_no_steps_change_nothing() -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    start = initial_vectors(taxonomy, backbone, "name")
    trained, report = train_label_vectors(taxonomy, backbone, GlobalStage(steps=0), start, seed=0)
    assert torch.equal(trained, start)
    assert report.losses == []


@pytest.mark.parametrize(("attention", "deepest"), [("self", 7), ("root", 6)])
def test_more_levels_than_positions_are_refused(attention: GlobalMask, deepest: int) -> None:
    """Eight positions are 0..7: seven levels, or six and the [SEP] after them."""
    backbone = tiny_backbone("bert", max_positions=8)
    settings = GlobalStage(steps=1, attention=attention)
    for levels in (deepest, deepest + 1):
        names = ["Root", *(f"level {level}" for level in range(levels))]
        taxonomy = Taxonomy.from_edges(itertools.pairwise(names))
        start = initial_vectors(taxonomy, backbone, "name")
        if levels == deepest:
            train_label_vectors(taxonomy, backbone, settings, start, seed=0)
            continue
        with pytest.raises(UsageError, match=f"{levels} levels do not fit .* 8 positions"):
            train_label_vectors(taxonomy, backbone, settings, start, seed=0)


def test_first_vectors_are_means_or_sums_of_word_embeddings() -> None:
    """``red green`` is two tokens, without [CLS] and [SEP]; BERT drops U+FFFD."""
    backbone = tiny_backbone("bert")
    names = {"x": "red green", "y": "\ufffd"}
    taxonomy = Taxonomy.from_edges([("Root", "x"), ("Root", "y")], names=names)
    assert not backbone.tokenizer.encode(names["y"], add_special_tokens=False).ids
    table = word_embeddings(backbone)
    red, green = (backbone.tokenizer.token_to_id(word) for word in ("red", "green"))
    mean, total = (initial_vectors(taxonomy, backbone, "name", how) for how in ("mean", "sum"))
    torch.testing.assert_close(mean[0], (table[red] + table[green]) / 2)
    torch.testing.assert_close(total[0], table[red] + table[green])
    torch.testing.assert_close(mean[1], table.mean(dim=0))
    assert torch.equal(mean[1], total[1])


def test_random_first_vectors_have_the_spread_of_the_words() -> None:
    backbone = tiny_backbone("bert", hidden=64)
    taxonomy = Taxonomy.from_edges([("Root", f"label {i}") for i in range(200)])
    vectors = initial_vectors(taxonomy, backbone, "random", seed=5)
    spread = float(word_embeddings(backbone).std())
    assert float(vectors.std()) == pytest.approx(spread, rel=0.05)
    assert torch.equal(vectors, initial_vectors(taxonomy, backbone, "random", seed=5))
    assert not torch.equal(vectors, initial_vectors(taxonomy, backbone, "random", seed=6))


def test_precision() -> None:
    assert autocast_dtype("float32", "cpu") is None
    assert autocast_dtype("bfloat16", "cpu") == torch.bfloat16
    assert autocast_dtype("auto", "cpu") in (None, torch.bfloat16)
    with pytest.raises(ValueError, match="must be auto, float32 or bfloat16, not 'half'"):
        autocast_dtype("half", "cpu")
    with autocast("bfloat16", torch.device("cpu")):
        assert torch.is_autocast_enabled("cpu")
    with autocast("float32", torch.device("cpu")):
        assert not torch.is_autocast_enabled("cpu")
