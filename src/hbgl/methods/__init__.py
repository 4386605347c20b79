"""The methods behind one set of calls: ``forward(batch)`` is the loss, ``predict`` the answers."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import torch
from torch import nn

from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.decisions import Decider, Decoded
from hbgl.methods.multilabel import Multilabel
from hbgl.methods.seq2seq import Seq2Seq
from hbgl.model import HBGL
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy

__all__ = ["LABEL_VECTOR_METHODS", "Method", "TorchMethod", "build_method"]

TorchMethod: TypeAlias = HBGL | Multilabel | Seq2Seq
"""Every method with its weights; an exported one is an engine."""
LABEL_VECTOR_METHODS = (HBGL, Seq2Seq)
"""Those that start from label vectors."""


class Method(Protocol):
    """What training and prediction need of a model; the classes here are ``nn.Module``s."""

    pad_id: int
    taxonomy: Taxonomy

    @property
    def max_length(self) -> int:
        """Longest text in tokens."""

    def label_parameters(self) -> list[nn.Parameter]:
        """Parameters that belong to labels."""

    def __call__(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch."""

    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        """Probabilities and chosen labels of a batch."""


def build_method(
    backbone: Backbone, taxonomy: Taxonomy, settings: ModelSettings, vectors: torch.Tensor | None
) -> TorchMethod:
    """The model that the settings name; ``vectors`` [L, d] are the initial label vectors."""
    if settings.method == "multilabel":
        return Multilabel(backbone, taxonomy, settings)
    if vectors is None:
        vectors = torch.zeros(len(taxonomy), backbone.model.config.hidden_size)
    kind = Seq2Seq if settings.method == "seq2seq" else HBGL
    return kind(backbone, taxonomy, settings, vectors)
