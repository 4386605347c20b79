"""Label vectors that know the taxonomy: first vectors from names, then the global stage.

Reading order: ``names.py`` (first vectors), ``masking.py`` (who is masked, and the targets),
``graph.py`` (the labels as one sentence), ``frozen.py`` (the encoder), ``dense.py`` (over attention
matrices, the plain form), ``edges.py`` and ``edge_attention.py`` (over edges, for any size),
``loss.py`` (binary cross-entropy over all labels), ``objective.py`` (masks, loss and gradient of a
step), ``stage.py`` (the global stage). For comparison, with a graph-attention network in the
encoder's place: ``graph_attention.py`` and ``gat_stage.py``.
"""

from __future__ import annotations

from hbgl.label_embeddings.gat_stage import train_graph_attention
from hbgl.label_embeddings.masking import draw_masks, global_targets, mask_ratio
from hbgl.label_embeddings.names import initial_vectors
from hbgl.label_embeddings.stage import GlobalStageReport, train_label_vectors

__all__ = [
    "GlobalStageReport",
    "draw_masks",
    "global_targets",
    "initial_vectors",
    "mask_ratio",
    "train_graph_attention",
    "train_label_vectors",
]
