"""At most k paths: the likeliest ones of each document, with all their labels."""

from __future__ import annotations

import numpy as np
import torch

from hbgl.taxonomy import Taxonomy

__all__ = ["keep_best_paths"]


def keep_best_paths(
    taxonomy: Taxonomy, probabilities: torch.Tensor, chosen: torch.Tensor, most: int
) -> None:
    """Take the labels back that are on none of a document's ``most`` likeliest paths.

    A path is as likely as its least likely label. In place, [B, L] each; on equal terms the path
    that comes first in the taxonomy stays.
    """
    counts = chosen.sum(dim=1).tolist()
    for row, count in enumerate(counts):
        # In a tree each path ends in a label of its own, so there cannot be more of them.
        if taxonomy.is_tree and count <= most:
            continue
        ids = torch.nonzero(chosen[row])[:, 0].cpu().numpy()
        paths = taxonomy.paths(ids, closed=False)
        if len(paths) <= most:
            continue
        likely = probabilities[row].cpu().numpy()
        weakest = [min(likely[i] for i in path) for path in paths]
        best = np.argsort([-one for one in weakest], kind="stable")[:most]
        kept = {i for place in best for i in paths[place]}
        gone = [i for i in ids.tolist() if i not in kept]
        chosen[row, gone] = False
