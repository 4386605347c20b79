"""The graph-attention network against hand-worked and dense forms, and what its stage trains."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from hbgl.attention import global_root_mask, global_self_mask
from hbgl.errors import UsageError
from hbgl.label_embeddings import draw_masks, initial_vectors, train_graph_attention
from hbgl.label_embeddings.graph import label_graph
from hbgl.label_embeddings.graph_attention import (
    GraphAttention,
    GraphAttentionEncoder,
    GraphAttentionLayer,
)
from hbgl.label_embeddings.masking import MaskedRows, leaf_groups
from hbgl.settings import GlobalMask, GlobalStage
from hbgl.settings.choices import GatTrains
from hbgl.taxonomy import Taxonomy
from tests.label_embeddings.encoders import plain_loss, random_taxonomy, word_embeddings
from tests.test_attention import eight_labels
from tests.tiny import tiny_backbone

SETTINGS = GlobalStage(steps=6, learning_rate=1e-2, masks_per_step=3)


def dense_states(network: GraphAttention, inputs: torch.Tensor, mask: np.ndarray) -> torch.Tensor:
    """[S, d] -> [S, d] with whole score matrices, -inf where nobody looks."""
    hidden, visible = inputs, torch.from_numpy(mask)
    for number, layer in enumerate(network.layers):
        assert isinstance(layer, GraphAttentionLayer)
        heads, each = layer.source_weight.shape
        projected = (hidden @ layer.weight.T).view(-1, heads, each)
        found = []
        for head in range(heads):
            here = projected[:, head]
            seeing, seen = here @ layer.target_weight[head], here @ layer.source_weight[head]
            scores = functional.leaky_relu(seeing[:, None] + seen[None, :], 0.2)
            found.append(scores.masked_fill(~visible, -math.inf).softmax(dim=1) @ here)
        hidden = torch.cat(found, dim=1) + layer.bias
        if number + 1 < len(network.layers):
            hidden = functional.elu(hidden)
    return hidden


def with_biases(network: GraphAttention) -> GraphAttention:
    """Biases start at zero and would hide behind it."""
    for layer in network.layers:
        assert isinstance(layer, GraphAttentionLayer)
        torch.nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(9))
    return network


def test_one_layer_by_hand() -> None:
    """a has the children b and c; W = 1, a_target = (1, 0), a_source = (0, 1), vectors
    a = (0, 0), b = (1, ln 2), c = (-1, -5 ln 3). Scores s(i, j) = LeakyReLU(x_i[0] + x_j[1]):
    a sees a, b, c with exp of 0, ln 2, -ln 3 = 1, 2, 1/3, so 3/10, 6/10, 1/10 of them;
    b sees a and b with exp of 1 and 1 + ln 2, so 1/3 and 2/3 of them.
    """
    taxonomy = Taxonomy.from_edges([("Root", "a"), ("a", "b"), ("a", "c")])
    network = GraphAttention(width=2, layers=1, heads=1, seed=0)
    layer = network.layers[0]
    assert isinstance(layer, GraphAttentionLayer)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(2))
        layer.target_weight.copy_(torch.tensor([[1.0, 0.0]]))
        layer.source_weight.copy_(torch.tensor([[0.0, 1.0]]))
    vectors = torch.tensor([[0.0, 0.0], [1.0, math.log(2)], [-1.0, -5 * math.log(3)]])
    graph = label_graph(taxonomy, "self", 8)
    encoder = GraphAttentionEncoder(network, graph, torch.zeros(3, 2))
    found = encoder.encoded(vectors)
    torch.testing.assert_close(found[0], 0.6 * vectors[1] + 0.1 * vectors[2])
    torch.testing.assert_close(found[1], 2 / 3 * vectors[1])


@pytest.mark.parametrize("attention", ["self", "root"])
@pytest.mark.parametrize("layers", [1, 3])
def test_states_and_gradients_equal_dense_attention(attention: GlobalMask, layers: int) -> None:
    """Three masks of random trees and DAGs; masked leaves of a group are one node here."""
    for parents in (1, 3):
        random = np.random.default_rng(parents)
        taxonomy = random_taxonomy(random, labels=25, parents=parents)
        masks = random.random((3, 25)) < np.array([[0.1], [0.4], [0.8]])
        masks[:, 3] = True
        rows = MaskedRows.of(leaf_groups(taxonomy), masks)
        network = with_biases(GraphAttention(12, layers, heads=3, seed=parents))
        special = torch.from_numpy(random.normal(size=(3, 12)).astype(np.float32))
        start = torch.from_numpy(random.normal(size=(25, 12)).astype(np.float32))
        matrix = global_self_mask(taxonomy) if attention == "self" else global_root_mask(taxonomy)
        encoder = GraphAttentionEncoder(network, label_graph(taxonomy, attention, 8), special)

        def dense(
            vectors: torch.Tensor,
            mask: np.ndarray,
            special: torch.Tensor = special,
            network: GraphAttention = network,
            matrix: np.ndarray = matrix,
        ) -> torch.Tensor:
            tokens = torch.where(torch.from_numpy(mask)[:, None], special[0], vectors)
            if attention == "self":
                return dense_states(network, tokens, matrix)
            tokens = torch.cat([special[1:2], tokens, special[2:]])
            return dense_states(network, tokens, matrix)[1:-1]

        vectors = start.clone().requires_grad_()
        wanted = [vectors, *network.parameters()]
        states = encoder.states(vectors, masks, rows)
        expected = torch.stack([dense(vectors, mask) for mask in masks])[rows.mask, rows.label]
        torch.testing.assert_close(states, expected, rtol=1e-5, atol=1e-5)
        slope = torch.from_numpy(random.normal(size=tuple(states.shape)).astype(np.float32))
        gradients = torch.autograd.grad((states * slope).sum(), wanted)
        for one, other in zip(
            gradients, torch.autograd.grad((expected * slope).sum(), wanted), strict=True
        ):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            encoder.encoded(start), dense(start, np.zeros(25, dtype=bool)), rtol=1e-5, atol=1e-5
        )


def test_the_first_loss_is_the_masked_objective_of_dense_states() -> None:
    """Written out: one mask, [MASK] for the masked labels, the plain loss against the vectors."""
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    settings = GlobalStage(steps=1, masks_per_step=1, gat_layers=2, gat_heads=2)
    start = initial_vectors(taxonomy, backbone, "name")
    _, report = train_graph_attention(
        taxonomy, backbone, settings, start, seed=4, precision="float32"
    )
    masks = draw_masks(8, settings, seed=4, step=0)
    network = GraphAttention(16, layers=2, heads=2, seed=4)
    masked = word_embeddings(backbone)[backbone.mask_id]
    tokens = torch.where(torch.from_numpy(masks[0])[:, None], masked, start)
    with torch.no_grad():
        states = dense_states(network, tokens, global_self_mask(taxonomy))
        expected = plain_loss(taxonomy, states[None], start, masks)
    assert report.losses == [pytest.approx(float(expected) / masks.sum(), rel=1e-5)]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("trains", ["network", "vectors", "both"])
def test_masked_labels_are_recovered_better(trains: GatTrains, precision: str) -> None:
    """The loss falls to less than half, whatever trains; the vectors alone take their time."""
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    settings = GlobalStage(steps=80, learning_rate=3e-2, mask_ratio_end=0.2, gat_trains=trains)
    start = initial_vectors(taxonomy, backbone, "name")
    _, report = train_graph_attention(
        taxonomy, backbone, settings, start, seed=0, precision=precision
    )
    assert sum(report.losses[-5:]) < 0.5 * sum(report.losses[:5])


def test_what_trains_and_what_is_kept() -> None:
    """No learning: the network's encoding of the names, or the names. A trained network alone
    leaves the vectors, so that its encoding differs; a frozen one encodes other vectors. Encodings
    are scaled to the mean length of the names' vectors.
    """
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    start = initial_vectors(taxonomy, backbone, "name")
    network = GraphAttention(16, SETTINGS.gat_layers, SETTINGS.gat_heads, seed=2)
    encoder = GraphAttentionEncoder(network, label_graph(taxonomy, "self", 8), torch.zeros(3, 16))

    def trained(steps: int = SETTINGS.steps, **choices: str) -> torch.Tensor:
        settings = dataclasses.replace(SETTINGS, steps=steps, **choices)  # type: ignore[arg-type]
        found, _ = train_graph_attention(
            taxonomy, backbone, settings, start, seed=2, precision="float32"
        )
        assert (found.dtype, found.shape, found.requires_grad) == (torch.float32, (8, 16), False)
        return found

    def scaled(encoded: torch.Tensor) -> torch.Tensor:
        encoded = encoded.detach()
        found: torch.Tensor = encoded * (start.norm(dim=1).mean() / encoded.norm(dim=1).mean())
        return found

    at_first = scaled(encoder.encoded(start))
    torch.testing.assert_close(trained(steps=0), at_first)
    assert torch.equal(trained(steps=0, gat_output="vectors"), start)
    for trains in ("network", "vectors", "both"):
        assert not torch.allclose(trained(gat_trains=trains), at_first, atol=1e-3)
    alone = trained(gat_trains="vectors", gat_output="vectors")
    assert not torch.allclose(alone, start, atol=1e-3)
    torch.testing.assert_close(trained(gat_trains="vectors"), scaled(encoder.encoded(alone)))


def test_seeds_decide_and_the_backbone_stays_bit_identical() -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert", with_transform=True)
    assert backbone.transform is not None
    modules = {"model": backbone.model, "transform": backbone.transform}
    before = {
        (part, name): value.clone()
        for part, module in modules.items()
        for name, value in module.state_dict().items()
    }
    start = initial_vectors(taxonomy, backbone, "name")
    copy, steps = start.clone(), []
    settings = dataclasses.replace(SETTINGS, head="transform")
    torch.manual_seed(1)
    first, report = train_graph_attention(
        taxonomy, backbone, settings, start, seed=3, progress=lambda *now: steps.append(now)
    )
    drawn = torch.rand(1)
    again, other = (
        train_graph_attention(taxonomy, backbone, settings, start, seed=seed)[0] for seed in (3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(start, copy)
    assert steps == list(enumerate(report.losses, start=1))
    for (part, name), value in before.items():
        assert torch.equal(modules[part].state_dict()[name], value)
    for module in modules.values():
        assert all(one.grad is None and one.requires_grad for one in module.parameters())
    torch.manual_seed(1)  # torch's own random numbers are left alone
    assert torch.equal(drawn, torch.rand(1))


def test_nothing_of_the_size_of_labels_squared_or_edges_times_width() -> None:
    """10,000 labels below one hub, half of them masked, forward and backward: no tensor that
    autograd keeps is larger than nodes x width.
    """
    hub = [("Root", "hub"), *(("hub", f"leaf {i}") for i in range(9_999))]
    taxonomy = Taxonomy.from_edges(hub)
    masks = np.zeros((1, 10_000), dtype=bool)
    masks[0, 5_000:] = True
    rows = MaskedRows.of(leaf_groups(taxonomy), masks)
    encoder = GraphAttentionEncoder(
        GraphAttention(32, layers=2, heads=4, seed=0),
        label_graph(taxonomy, "self", 8),
        torch.randn(3, 32),
    )
    vectors = torch.randn(10_000, 32, requires_grad=True)
    kept: list[int] = []

    def noted(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(noted, lambda tensor: tensor):
        torch.autograd.backward(encoder.states(vectors, masks, rows).sum())
    assert max(kept) <= 10_003 * 32
    # The masked leaf, the hub, and 4,999 leaves that it sees: all but the masked have a gradient.
    assert vectors.grad is not None
    assert vectors.grad.abs().sum(dim=1).count_nonzero() == 5_000


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    taxonomy, backbone = eight_labels(), tiny_backbone("bert")
    settings = GlobalStage(steps=1, gat_heads=5)
    start = initial_vectors(taxonomy, backbone, "name")
    with pytest.raises(UsageError, match=r"5 heads of graph attention do not divide .* width 16"):
        train_graph_attention(taxonomy, backbone, settings, start, seed=0)
