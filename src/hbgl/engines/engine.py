"""Prediction by a runtime: the same walk down the levels, with the encoder as loaded graphs.

An engine has what prediction needs of a method (``predict``, ``pad_id``, ``max_length``), so all
above it works unchanged. Scores of a level are products with the label vectors of that level alone;
they and the decision stay in torch, where a level is a view of a larger matrix.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from hbgl.batching import Batch
from hbgl.decisions import Decider, Decoded, Walk
from hbgl.engines.names import EngineName
from hbgl.engines.sessions import Session
from hbgl.errors import UsageError
from hbgl.level_inputs import labels_handed_down, level_vector
from hbgl.model import HBGL
from hbgl.settings.choices import LevelInput
from hbgl.taxonomy import Taxonomy

__all__ = ["Engine", "EngineShape", "FlatEngine", "HBGLEngine", "LabelTensors"]


@dataclass(frozen=True, slots=True)
class EngineShape:
    """What the graphs of an export do not say themselves."""

    max_length: int
    """Longest text in tokens."""
    pad_id: int
    layers: int
    heads: int
    head_width: int
    sep_class: bool
    """Whether [SEP] is predicted as the end of the hierarchy."""
    level_input: LevelInput = "chosen"
    """What a level hands down to those below it."""
    level_input_floor: float = 0.0


@dataclass(frozen=True, slots=True)
class LabelTensors:
    """The part of HBGL that is outside of the graphs, in float32."""

    vectors: torch.Tensor
    """[L, d] the label vectors."""
    mask: torch.Tensor
    """[d] the word embedding of [MASK]."""
    sep: torch.Tensor
    """[d] that of [SEP]."""
    bias: torch.Tensor | None
    """[L], or [L + 1] with a [SEP] class."""

    @classmethod
    def of(cls, method: HBGL) -> LabelTensors:
        """Copies of a model's own."""
        words = method.encoder.parts.word_embeddings.weight.detach().float()
        bias = method.label_bias
        return cls(
            method.label_vectors.detach().float().clone(),
            words[method.mask_id].clone(),
            words[method.sep_id].clone(),
            None if bias is None else bias.detach().float().clone(),
        )

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, torch.Tensor]) -> LabelTensors:
        """From what ``tensors`` gave."""
        return cls(tensors["vectors"], tensors["mask"], tensors["sep"], tensors.get("bias"))

    def tensors(self) -> dict[str, torch.Tensor]:
        """By name, for a file."""
        named = {"vectors": self.vectors, "mask": self.mask, "sep": self.sep, "bias": self.bias}
        return {name: one for name, one in named.items() if one is not None}


class Engine(ABC):
    """A model that only predicts, on the CPU."""

    def __init__(
        self,
        name: EngineName,
        sessions: Mapping[str, Session],
        taxonomy: Taxonomy,
        shape: EngineShape,
    ) -> None:
        self.name, self.sessions, self.taxonomy, self.shape = name, sessions, taxonomy, shape
        self.pad_id = shape.pad_id
        self.slices = [taxonomy.level_slice(level) for level in range(1, taxonomy.depth + 1)]
        self._one_at_a_time = threading.Lock()  # each run uses all threads there are

    @property
    def max_length(self) -> int:
        """Longest text in tokens."""
        return self.shape.max_length

    def label_parameters(self) -> list[nn.Parameter]:
        """None: nothing here learns."""
        return []

    def eval(self) -> Engine:
        """Itself: it has no other mode."""
        return self

    def __call__(self, batch: Batch) -> torch.Tensor:
        """Refused: there is no loss.

        :raises UsageError: always.
        """
        raise UsageError(
            f"a model exported for {self.name} only predicts; train the model it came from"
        )

    @torch.inference_mode()
    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        """Probabilities and chosen labels of a batch."""
        walk = decider.begin(len(batch.ids))
        # Whoever calls may compute in bfloat16; the engine has its own precision.
        with self._one_at_a_time, torch.autocast("cpu", enabled=False):
            self._walk(batch, walk)
        return walk.decoded()

    @abstractmethod
    def _walk(self, batch: Batch, walk: Walk) -> None:
        """Hand the walk the scores of one level after the other."""


class FlatEngine(Engine):
    """The flat baseline: all scores at once."""

    def _walk(self, batch: Batch, walk: Walk) -> None:
        session = self.sessions["flat"]
        found = session.run({"ids": batch.ids, "lengths": batch.lengths})
        logits = session.tensor(found["logits"])
        for level, columns in enumerate(self.slices, start=1):
            walk.take(level, logits[:, columns])


class HBGLEngine(Engine):
    """HBGL: the text once, then a step per level over its keys and values."""

    def __init__(
        self,
        name: EngineName,
        sessions: Mapping[str, Session],
        taxonomy: Taxonomy,
        shape: EngineShape,
        labels: LabelTensors,
    ) -> None:
        super().__init__(name, sessions, taxonomy, shape)
        self.labels = labels
        self.past_names = [
            f"past_{part}_{layer}" for layer in range(shape.layers) for part in ("key", "value")
        ]

    def _walk(self, batch: Batch, walk: Walk) -> None:
        step = self.sessions["step"]
        memory = self.sessions["text"].run({"ids": batch.ids, "lengths": batch.lengths})
        memory["lengths"] = batch.lengths
        memory |= self._no_past(len(batch.ids))
        masked = self.labels.mask.expand(len(batch.ids), 1, -1)
        going_on: torch.Tensor | None = None
        for level, columns in enumerate(self.slices):
            vectors = masked
            if level > 0:
                vectors = torch.cat([self._level_input(walk, level - 1), masked], dim=1)
            found = step.run({**memory, "vectors": vectors})
            state = step.tensor(found["state"])
            for name in self.past_names:
                memory[name] = found[name.replace("past", "new", 1)]
            walk.take(level + 1, self._logits(state, columns), going_on)
            if self.shape.sep_class:
                end = torch.sigmoid(self._end_logits(state)) > 0.5
                going_on = ~end if going_on is None else going_on & ~end

    def _no_past(self, documents: int) -> dict[str, torch.Tensor]:
        nothing = torch.zeros(documents, self.shape.heads, 0, self.shape.head_width)
        return dict.fromkeys(self.past_names, nothing)

    def _level_input(self, walk: Walk, level: int) -> torch.Tensor:
        """One level's u (levels from 0), of what the walk decided there: [B, 1, d]."""
        columns, shape = self.slices[level], self.shape
        labels = labels_handed_down(
            shape.level_input,
            shape.level_input_floor,
            walk.chosen[:, columns],
            walk.scores[:, columns],
        )
        return level_vector(labels, self.labels.vectors[columns], self.labels.sep)[:, None]

    def _logits(self, state: torch.Tensor, columns: slice) -> torch.Tensor:
        """Scores of a level's labels, [B, d] -> [B, C]."""
        bias = self.labels.bias
        return functional.linear(
            state, self.labels.vectors[columns], None if bias is None else bias[columns]
        )

    def _end_logits(self, state: torch.Tensor) -> torch.Tensor:
        """Score of [SEP], the end of the hierarchy: [B, d] -> [B, 1]."""
        bias = self.labels.bias
        return functional.linear(state, self.labels.sep[None], None if bias is None else bias[-1:])
