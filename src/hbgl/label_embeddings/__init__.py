"""Label vectors that know the taxonomy: first vectors from names, then the global stage.

Reading order: ``names.py`` (first vectors), ``masking.py`` (who is masked, and the targets),
``graph.py`` (the labels as one sentence), ``frozen.py`` (the encoder), ``dense.py`` (over attention
matrices, the plain form), ``edges.py`` and ``edge_attention.py`` (over edges, for any size),
``loss.py`` (binary cross-entropy over all labels), ``stage.py`` (the loop).
"""

from __future__ import annotations

from hbgl.label_embeddings.masking import draw_masks, global_targets, mask_ratio
from hbgl.label_embeddings.names import initial_vectors
from hbgl.label_embeddings.stage import GlobalStageReport, train_label_vectors

__all__ = [
    "GlobalStageReport",
    "draw_masks",
    "global_targets",
    "initial_vectors",
    "mask_ratio",
    "train_label_vectors",
]
