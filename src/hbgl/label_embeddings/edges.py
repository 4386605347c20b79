"""The frozen encoder over the taxonomy's edges, for taxonomies of any size: nothing is L x L.

The masks of a batch are one graph of many components. Three things keep it small, all exact:

- attention runs along the edges, so its cost is that of the edges; a node may have thousands;
- masked leaves with the same parents are one node. Their parent sees it as often as there are of
  them: ``n exp(s) = exp(s + log n)``, a bias on the edge;
- a node at distance k from all masked ones cannot reach them in fewer than k layers. Nodes are
  sorted by distance, and each layer computes the prefix that still matters.

Shapes: N nodes, E edges, R masked nodes (the first ones), H heads, d width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.checkpoint import checkpoint

from hbgl.families import Layer
from hbgl.label_embeddings.edge_attention import edge_attention
from hbgl.label_embeddings.frozen import FrozenEncoder
from hbgl.label_embeddings.graph import LabelGraph
from hbgl.label_embeddings.masking import MaskedRows

__all__ = ["EdgeEncoder", "MaskedGraph", "masked_graph"]

IntArray = npt.NDArray[np.int64]
KEPT_BYTES = 1 << 30
"""Above this, layers keep only their inputs and compute the rest again in the backward pass."""


@dataclass(frozen=True, slots=True)
class MaskedGraph:
    """The nodes of a batch of masks by distance from the masked ones, and the edges between."""

    token: IntArray
    """[N] row of the table ``[label vectors, [MASK], [CLS], [SEP]]``; the R masked come first."""
    position: IntArray
    """[N] position ids."""
    target: IntArray
    """[E] who sees, ascending."""
    source: IntArray
    """[E] whom."""
    copies: IntArray
    """[E] how often."""
    nodes: IntArray
    """[layers + 1] how many nodes are at most k edges away from a masked one."""
    edges: IntArray
    """[layers + 1] how many edges have a target that near."""


def masked_graph(
    graph: LabelGraph, labels: int, masks: npt.NDArray[np.bool_], rows: MaskedRows, layers: int
) -> MaskedGraph:
    """The part of B copies of the graph that the rows of the masks [B, L] depend on."""
    count, size = len(masks), graph.size
    row_place = rows.mask * size + rows.label + graph.first
    tokens = np.tile(np.arange(size) - graph.first, (count, 1))
    tokens[:, : graph.first], tokens[:, graph.first + labels :] = labels + 1, labels + 2
    inside = slice(graph.first, graph.first + labels)
    tokens[:, inside][masks] = labels
    copies = (tokens != labels).astype(np.int64).ravel()
    copies[row_place] = rows.weight
    blocks = np.arange(count)[:, None] * size
    target, source = (blocks + graph.targets).ravel(), (blocks + graph.sources).ravel()
    kept = (copies[target] > 0) & (copies[source] > 0)
    target, source = target[kept], source[kept]
    distance = _distances(count * size, row_place, target, source, layers)

    order = np.argsort(distance, kind="stable")
    order = order[: np.searchsorted(distance[order], layers, side="right")]
    place = np.zeros(count * size, dtype=np.int64)
    place[order] = np.arange(len(order))
    kept = distance[target] < layers
    target, source = target[kept], source[kept]
    times = np.where(target == source, 1, copies[source])
    near = distance[target]
    target, source = place[target], place[source]
    by_target = np.lexsort((source, target))
    steps = np.arange(layers + 1)
    return MaskedGraph(
        token=tokens.ravel()[order],
        position=np.tile(graph.positions, count)[order],
        target=target[by_target],
        source=source[by_target],
        copies=times[by_target],
        nodes=np.searchsorted(distance[order], steps, side="right"),
        edges=np.searchsorted(np.sort(near), steps, side="right"),
    )


def _distances(
    size: int, starts: IntArray, target: IntArray, source: IntArray, most: int
) -> IntArray:
    """[size] edges to the nearest start, ``most + 1`` where it is further than ``most``."""
    distance = np.full(size, most + 1, dtype=np.int64)
    distance[starts] = 0
    for step in range(1, most + 1):
        reached = source[distance[target] == step - 1]
        distance[reached[distance[reached] > step]] = step
    return distance


class EdgeEncoder:
    """Masked graphs in, the states of the masked rows out."""

    def __init__(self, encoder: FrozenEncoder, graph: LabelGraph) -> None:
        self._encoder, self._graph = encoder, graph

    def states(
        self, vectors: torch.Tensor, masks: npt.NDArray[np.bool_], rows: MaskedRows
    ) -> torch.Tensor:
        """The last states of the rows: vectors [L, d], masks [B, L] -> [R, d]."""
        encoder, layers = self._encoder, self._encoder.parts.layers
        found = masked_graph(self._graph, len(vectors), masks, rows, len(layers))
        token, position, target, source = (
            torch.from_numpy(part).to(encoder.device)
            for part in (found.token, found.position, found.target, found.source)
        )
        bias = self._bias(found, position, target, source)
        start, end = encoder.end_vectors
        table = torch.cat([vectors, torch.stack([encoder.mask_vector, start, end])])
        hidden = encoder.embed(table.index_select(0, token), position)
        again = self._kept_bytes(len(token)) > KEPT_BYTES
        for number, layer in enumerate(layers):
            left = len(layers) - 1 - number
            nodes, edges = int(found.nodes[left]), int(found.edges[left])
            inputs = (layer, hidden, nodes, target[:edges], source[:edges], bias[:edges])
            if again:
                hidden = checkpoint(self._layer, *inputs, use_reentrant=False)
            else:
                hidden = self._layer(*inputs)
        return hidden

    def _layer(
        self,
        layer: Layer,
        hidden: torch.Tensor,
        nodes: int,
        target: torch.Tensor,
        source: torch.Tensor,
        bias: torch.Tensor,
    ) -> torch.Tensor:
        """One layer for the first ``nodes`` nodes, which see those of ``hidden`` [N, d]."""
        low = self._encoder.low(hidden)
        projected = layer.query(low[:nodes]), layer.key(low), layer.value(low)
        mixed = edge_attention(*projected, target, source, bias)
        return self._encoder.finish(layer, hidden[:nodes], mixed)

    def _bias(
        self,
        found: MaskedGraph,
        position: torch.Tensor,
        target: torch.Tensor,
        source: torch.Tensor,
    ) -> torch.Tensor:
        """[E, H] what is added to the scores of an edge."""
        parts = self._encoder.parts
        copies = torch.from_numpy(found.copies).to(position.device).float().log()[:, None]
        if parts.relative_bias is None:
            return copies.expand(-1, parts.heads)
        relative: torch.Tensor = parts.relative_bias(position[source] - position[target])
        return relative.float() + copies

    def _kept_bytes(self, nodes: int) -> int:
        """About what the backward pass would keep: per layer 5 d and the widened state."""
        parts = self._encoder.parts
        widths = (5 * parts.hidden_size + layer.widen.out_features for layer in parts.layers)
        return 4 * nodes * sum(widths)
