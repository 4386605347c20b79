"""Both ways through the encoder equal the plain Hugging Face model, states and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from hbgl.attention import global_root_mask, global_self_mask
from hbgl.label_embeddings import edges as edges_module
from hbgl.label_embeddings.dense import DenseEncoder
from hbgl.label_embeddings.edges import EdgeEncoder, masked_graph
from hbgl.label_embeddings.frozen import FrozenEncoder, frozen
from hbgl.label_embeddings.graph import label_graph
from hbgl.label_embeddings.loss import masked_loss
from hbgl.label_embeddings.masking import MaskedRows, leaf_groups
from hbgl.settings import GlobalMask
from hbgl.taxonomy import Taxonomy
from tests.label_embeddings.encoders import plain_loss, plain_states, random_taxonomy
from tests.test_attention import eight_labels
from tests.tiny import FAMILIES, tiny_backbone


@pytest.mark.parametrize("path", ["dense", "edges", "edges again"])
@pytest.mark.parametrize("attention", ["self", "root"])
@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradient_equal_hugging_face(
    family: str, attention: GlobalMask, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three masks of a random taxonomy with all at once; ``again``: with recomputed layers."""
    if path == "edges again":
        monkeypatch.setattr(edges_module, "KEPT_BYTES", 0)
    backbone = tiny_backbone(family, layers=3)
    for parents in (1, 3):
        random = np.random.default_rng(parents)
        taxonomy = random_taxonomy(random, labels=25, parents=parents)
        masks = random.random((3, 25)) < np.array([[0.1], [0.4], [0.8]])
        masks[:, 3] = True
        start = torch.from_numpy(random.normal(size=(25, 16)).astype(np.float32))
        rows = MaskedRows.of(leaf_groups(taxonomy), masks)
        with frozen(backbone.model, torch.device("cpu")):
            encoder = FrozenEncoder(backbone, segment=1)
            graph = label_graph(taxonomy, attention, encoder.parts.max_positions)
            dense = DenseEncoder(encoder, taxonomy, graph, attention)
            vectors = start.clone().requires_grad_()
            chosen = dense if path == "dense" else EdgeEncoder(encoder, graph)
            states = chosen.states(vectors, masks, rows)
            weights, row, label = (
                torch.from_numpy(part) for part in (rows.weight, rows.target_row, rows.target_label)
            )
            loss = masked_loss(states, vectors, weights, row, label)
            (gradient,) = torch.autograd.grad(loss, vectors)
            plain = start.clone().requires_grad_()
            plain_all = plain_states(backbone, taxonomy, plain, masks, attention, segment=1)
            expected = plain_loss(taxonomy, plain_all, plain, masks)
            (expected_gradient,) = torch.autograd.grad(expected, plain)
        torch.testing.assert_close(states, plain_all[rows.mask, rows.label], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-5)
        assert (expected_gradient.abs().amax(dim=1) > 1e-3).all()
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-4)


def test_segment_zero_changes_the_states() -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    masks = np.zeros((1, 8), dtype=bool)
    masks[0, [2, 5]] = True
    rows = MaskedRows.of(leaf_groups(taxonomy), masks)
    vectors = torch.randn(8, 16)
    found = []
    for segment in (0, 1):
        encoder = FrozenEncoder(backbone, segment)
        graph = label_graph(taxonomy, "self", 64)
        states = DenseEncoder(encoder, taxonomy, graph, "self").states(vectors, masks, rows)
        expected = plain_states(backbone, taxonomy, vectors, masks, "self", segment)
        torch.testing.assert_close(states, expected[0, [2, 5]], rtol=1e-5, atol=1e-5)
        found.append(states)
    assert not torch.allclose(found[0], found[1])


@pytest.mark.parametrize("attention", ["self", "root"])
def test_edges_are_the_true_entries_of_the_matrix(attention: GlobalMask) -> None:
    taxonomy = eight_labels()
    graph = label_graph(taxonomy, attention, max_positions=64)
    matrix = global_self_mask(taxonomy) if attention == "self" else global_root_mask(taxonomy)
    places = [part.tolist() for part in np.nonzero(matrix)]
    assert [graph.targets.tolist(), graph.sources.tolist()] == places
    levels = [1, 1, 2, 2, 2, 3, 3, 3]
    assert graph.positions.tolist() == (levels if attention == "self" else [0, *levels, 4])


def test_a_node_with_thousands_of_children() -> None:
    """3,000 masked leaves of one parent: one node, that the parent sees 3,000 times."""
    edges = [("Root", "hub"), ("Root", "other"), *(("hub", f"leaf {i}") for i in range(4000))]
    taxonomy = Taxonomy.from_edges(edges)
    backbone = tiny_backbone("bert")
    masks = np.zeros((1, len(taxonomy)), dtype=bool)
    masks[0, 1000:4000] = True
    rows = MaskedRows.of(leaf_groups(taxonomy), masks)
    graph = label_graph(taxonomy, "self", 64)
    found = masked_graph(graph, len(taxonomy), masks, rows, layers=2)
    assert rows.weight.tolist() == [3000]
    # Distance 0: the masked leaf; 1: the hub; 2: 1,000 other leaves. "other" is never reached.
    assert found.nodes.tolist() == [1, 2, 1002]
    assert sorted(found.copies.tolist())[-1] == 3000
    vectors = torch.randn(len(taxonomy), 16, generator=torch.Generator().manual_seed(0))
    encoder = FrozenEncoder(backbone, segment=1)
    states = EdgeEncoder(encoder, graph).states(vectors, masks, rows)
    expected = plain_states(backbone, taxonomy, vectors, masks, "self", 1)[0, 1000]
    # Softmax over thousands of children: two orders of summation differ by float32's rounding.
    torch.testing.assert_close(states[0], expected, rtol=1e-4, atol=1e-4)


def test_loss_in_pieces_equals_loss_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights 1, 2, 3 are as many copies of a row; pieces of one row and of two pairs."""
    torch.manual_seed(0)
    states, vectors = torch.randn(3, 4), torch.randn(5, 4)
    rows, labels = torch.tensor([0, 1, 1, 2]), torch.tensor([4, 0, 3, 2])
    targets = torch.zeros(3, 5)
    targets[rows, labels] = 1
    repeats = torch.tensor([1, 2, 3])
    expected = functional.binary_cross_entropy_with_logits(
        (states @ vectors.T).repeat_interleave(repeats, dim=0),
        targets.repeat_interleave(repeats, dim=0),
        reduction="sum",
    )
    monkeypatch.setattr("hbgl.label_embeddings.loss.SCORES_AT_ONCE", 1)
    monkeypatch.setattr("hbgl.label_embeddings.loss.TARGETS_AT_ONCE", 2)
    torch.testing.assert_close(masked_loss(states, vectors, repeats, rows, labels), expected)


def test_encoder_comes_back_as_it_was() -> None:
    backbone = tiny_backbone("bert").model.train()
    next(backbone.parameters()).requires_grad_(False)
    wanted = [parameter.requires_grad for parameter in backbone.parameters()]
    with frozen(backbone, torch.device("cpu")):
        assert not any(module.training for module in backbone.modules())
        assert not any(parameter.requires_grad for parameter in backbone.parameters())
    assert all(module.training for module in backbone.modules())
    assert [parameter.requires_grad for parameter in backbone.parameters()] == wanted
