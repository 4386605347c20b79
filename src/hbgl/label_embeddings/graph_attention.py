"""A graph-attention network (Veličković et al., 2018) along the edges of the taxonomy.

In the place of the backbone in the global stage: the paper's "global hierarchy GAT". A layer maps
the states x of all labels to ``y_i = sum_j alpha_ij W x_j + b``, the sum over those whom i sees
(itself, its parents, its children), with, per head,
``alpha_ij = softmax_j LeakyReLU(a_target W x_i + a_source W x_j)``.
Heads lie side by side, each of width d / H; ELU stands between layers. Nothing is L x L, and
nothing of size E x d is kept.
Shapes: N nodes, E edges, M targets (the first M nodes), H heads, d width, k = d / H.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from hbgl.label_embeddings.edge_attention import softmax_per_target, weighted_sums
from hbgl.label_embeddings.edges import MaskedGraph, masked_graph
from hbgl.label_embeddings.graph import LabelGraph
from hbgl.label_embeddings.masking import MaskedRows

__all__ = ["GraphAttention", "GraphAttentionEncoder", "GraphAttentionLayer", "whole_graph"]

_SLOPE = 0.2
"""Of LeakyReLU below zero."""


class GraphAttentionLayer(nn.Module):
    """One layer of additive attention along edges."""

    def __init__(self, width: int, heads: int, generator: torch.Generator) -> None:
        """Weights drawn from ``generator`` (Glorot), biases zero; ``heads`` divide ``width``."""
        super().__init__()
        bound = math.sqrt(3 / width)  # of W: sqrt(6 / (d + d))
        self.weight = nn.Parameter(_uniform((width, width), bound, generator))
        bound = math.sqrt(6 / (width // heads + 1))
        shape = (heads, width // heads)
        self.target_weight = nn.Parameter(_uniform(shape, bound, generator))
        self.source_weight = nn.Parameter(_uniform(shape, bound, generator))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(
        self,
        hidden: torch.Tensor,
        targets: int,
        target: torch.Tensor,
        source: torch.Tensor,
        log_copies: torch.Tensor,
    ) -> torch.Tensor:
        """States [N, d] -> new states [M, d], in float32.

        :param targets: M.
        :param target: [E] ascending, in 0..M-1; every target has an edge.
        :param source: [E] in 0..N-1.
        :param log_copies: [E] the logarithm of how often an edge counts.
        """
        projected = functional.linear(hidden, self.weight).float()
        heads = projected.view(len(projected), *self.source_weight.shape)  # [N, H, k]
        seeing = (heads[:targets] * self.target_weight).sum(dim=2)
        seen = (heads * self.source_weight).sum(dim=2)
        scores = functional.leaky_relu(seeing[target] + seen[source], _SLOPE)  # [E, H]
        # n equal neighbours weigh n exp(s) = exp(s + log n).
        weights = softmax_per_target(scores + log_copies[:, None], target, targets)
        return weighted_sums(projected, source, weights, target, targets) + self.bias


class GraphAttention(nn.Module):
    """Layers with ELU between them."""

    def __init__(self, width: int, layers: int, heads: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.layers = nn.ModuleList(
            GraphAttentionLayer(width, heads, generator) for _ in range(layers)
        )

    def forward(self, inputs: torch.Tensor, graph: MaskedGraph) -> torch.Tensor:
        """Inputs of the graph's nodes [N, d] -> the last states of the nodes at distance 0."""
        target, source, copies = (
            torch.from_numpy(part).to(inputs.device)
            for part in (graph.target, graph.source, graph.copies)
        )
        log_copies, hidden = copies.float().log(), inputs
        for number, layer in enumerate(self.layers):
            left = len(self.layers) - 1 - number
            nodes, edges = int(graph.nodes[left]), int(graph.edges[left])
            hidden = layer(hidden, nodes, target[:edges], source[:edges], log_copies[:edges])
            if left:
                hidden = functional.elu(hidden)
        return hidden


class GraphAttentionEncoder:
    """Label vectors in, states out: of masked rows for the objective, of all labels at the end."""

    def __init__(self, network: GraphAttention, graph: LabelGraph, special: torch.Tensor) -> None:
        """``special`` [3, d]: the vectors of [MASK], [CLS] and [SEP]."""
        self._network, self._graph, self._special = network, graph, special

    def states(
        self, vectors: torch.Tensor, masks: npt.NDArray[np.bool_], rows: MaskedRows
    ) -> torch.Tensor:
        """The last states of the rows: vectors [L, d], masks [B, L] -> [R, d]."""
        layers = len(self._network.layers)
        return self._encode(vectors, masked_graph(self._graph, len(vectors), masks, rows, layers))

    def encoded(self, vectors: torch.Tensor) -> torch.Tensor:
        """The last states of all labels, none of them masked: [L, d] -> [L, d]."""
        found = whole_graph(self._graph, len(vectors), len(self._network.layers))
        first = self._graph.first
        return self._encode(vectors, found)[first : first + len(vectors)]

    def _encode(self, vectors: torch.Tensor, graph: MaskedGraph) -> torch.Tensor:
        table = torch.cat([vectors, self._special])
        token = torch.from_numpy(graph.token).to(vectors.device)
        states: torch.Tensor = self._network(table.index_select(0, token), graph)
        return states


def whole_graph(graph: LabelGraph, labels: int, layers: int) -> MaskedGraph:
    """The sentence without masks, every place of it wanted."""
    token = np.arange(graph.size) - graph.first
    token[: graph.first], token[graph.first + labels :] = labels + 1, labels + 2
    return MaskedGraph(
        token=token,
        position=graph.positions,
        target=graph.targets,
        source=graph.sources,
        copies=np.ones(len(graph.targets), dtype=np.int64),
        nodes=np.full(layers + 1, graph.size),
        edges=np.full(layers + 1, len(graph.targets)),
    )


def _uniform(shape: tuple[int, int], bound: float, generator: torch.Generator) -> torch.Tensor:
    return (2 * torch.rand(shape, generator=generator) - 1) * bound
