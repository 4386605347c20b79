"""Models that nobody has trained, for where only shapes matter to time and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix

from hbgl.backbones import Backbone
from hbgl.batching import tokenize
from hbgl.decisions import Decision
from hbgl.evaluation import predict_batches
from hbgl.label_embeddings import initial_vectors
from hbgl.methods import build_method
from hbgl.methods.multilabel import Multilabel
from hbgl.settings import preset, with_overrides
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel, default_device

__all__ = ["choose_few", "untrained_model"]

_LABELS_PER_LEVEL = 1.5


def untrained_model(
    taxonomy: Taxonomy,
    backbone: Backbone,
    *,
    method: str = "hbgl",
    max_length: int | None = None,
    precision: str = "auto",
    seed: int = 0,
) -> TrainedModel:
    """The default settings over a backbone as it is, label vectors from the names."""
    torch.manual_seed(seed)
    overrides: dict[str, Any] = {
        "backbone": backbone.name,
        "model.method": method,
        "model.label_vectors": "name",
        "model.max_length": max_length,
        "training.precision": precision,
        "training.seed": seed,
    }
    settings = with_overrides(preset("default"), overrides)
    vectors = initial_vectors(taxonomy, backbone) if method == "hbgl" else None
    built = build_method(backbone, taxonomy, settings.model, vectors)
    device = default_device()
    built.to(device).eval()
    half = np.full(len(taxonomy), 0.5, dtype=np.float32)
    decision = Decision(half, settings.decision.rule)
    return TrainedModel(taxonomy, settings, backbone, built, decision, device=device)


def choose_few(model: TrainedModel, texts: list[str]) -> None:
    """Set an untrained model's biases so that it chooses a label or two per level, as trained ones.

    Otherwise it would choose hundreds of labels or none, and drawing their paths, or not, would be
    what is measured. Level by level, because a level's choices are the next level's input.
    """
    method, taxonomy = model.torch_method, model.taxonomy
    bias = method.head_bias if isinstance(method, Multilabel) else method.label_bias
    if bias is None:
        raise ValueError("a head without biases cannot be shifted")
    for level in range(1, taxonomy.depth + 1):
        columns = taxonomy.level_slice(level)
        scores, chosen = _answers(model, texts)
        open_to = _below_chosen(taxonomy, chosen)[:, columns]
        values = np.sort(scores[:, columns][open_to if level > 1 else ...], axis=None)[::-1]
        if len(values) > 1:
            place = min(round(_LABELS_PER_LEVEL * len(texts)), len(values) - 1)
            # Between two scores: on one, the last bit would decide, and differ between contenders.
            cut = (float(values[place - 1]) + float(values[place])) / 2
            with torch.no_grad():
                bias[columns] -= cut


def _answers(model: TrainedModel, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Scores before the sigmoid and choices, [texts, L] each."""
    tokens = tokenize(texts, model.backbone.tokenizer, model.method.max_length)
    scores = np.zeros((len(texts), len(model.taxonomy)), dtype=np.float32)
    chosen = np.zeros(scores.shape, dtype=bool)
    for indices, decoded in predict_batches(
        model.method,
        tokens,
        model.decider(model.decision),
        precision=model.settings.training.precision,
    ):
        scores[indices], chosen[indices] = decoded.scores.numpy(), decoded.chosen.numpy()
    return scores, chosen


def _below_chosen(taxonomy: Taxonomy, chosen: np.ndarray) -> np.ndarray:
    """[texts, L] which labels have a chosen parent."""
    parents, children = taxonomy.edges.T
    ones = np.ones(len(parents), dtype=np.int32)
    down = csr_matrix((ones, (parents, children)), shape=2 * (len(taxonomy),))
    below: np.ndarray = csr_matrix(chosen, dtype=np.int32) @ down
    return np.asarray(below.todense()) > 0  # type: ignore[attr-defined]
