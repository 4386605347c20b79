"""The paper's ablation ``seq2seq``: the labels of a text one by one, sorted by level.

The training sequence is ``[text][y_1 .. y_K EOS][m_1 .. m_{K+1}]``: single label vectors where
HBGL has the sum of a level, and [SEP] as the end. m_i sees the text, y_1 .. y_{i-1} and itself, and
is to name y_i among all labels and the end, by softmax. Two streams, positions and segments are
HBGL's. Prediction is greedy, one label after the other, never one twice, until the end leads.

Shapes: B documents, L labels, S places (one more than the most labels of the batch), C = L + 1
classes (the last is the end), d width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from hbgl.attending import KeyValue
from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.decisions import Decider, Decoded
from hbgl.encoder import TwoStreamEncoder
from hbgl.errors import BackboneError, UsageError
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy
from hbgl.teacher_forcing import states_with_text

__all__ = ["Generated", "LabelSequences", "Seq2Seq"]

_LEAST_SCORE = 1e-6
"""Of a generated label: its sigmoid is the first that float32 tells well from 0.5."""


@dataclass(frozen=True, slots=True)
class LabelSequences:
    """The labels of each document as classes in taxonomy order, which is by level; then the end."""

    classes: torch.Tensor
    """[B, S] what m_1 .. m_S are to name; the end from the last label on."""
    counted: torch.Tensor
    """[B, S] boolean, the places of the loss: up to and with the first end."""

    @classmethod
    def of(cls, gold: torch.Tensor, most: int) -> LabelSequences:
        """Of labels [B, L]; at most ``most`` places, so that a longest sequence has no end."""
        batch, end = gold.shape
        counts = gold.sum(dim=1)
        width = min(int(counts.max()) + 1 if batch else 1, most)
        rows, labels = gold.nonzero(as_tuple=True)  # by document, then in taxonomy order
        places = torch.arange(len(rows), device=gold.device) - (counts.cumsum(0) - counts)[rows]
        kept = places < width
        classes = torch.full((batch, width), end, device=gold.device)
        classes[rows[kept], places[kept]] = labels[kept]
        return cls(classes, torch.arange(width, device=gold.device) <= counts[:, None])


@dataclass(frozen=True, slots=True)
class Generated:
    """What greedy generation gave for B documents."""

    classes: torch.Tensor
    """[B, most] labels in the order of generation, then the end class."""
    scores: torch.Tensor
    """[B, L] see :meth:`Seq2Seq.predict`."""


class Seq2Seq(nn.Module):
    """Label after label over a backbone and a taxonomy."""

    def __init__(
        self,
        backbone: Backbone,
        taxonomy: Taxonomy,
        settings: ModelSettings,
        vectors: torch.Tensor,
    ) -> None:
        """Take over the backbone's modules; ``vectors`` [L, d] are the initial label vectors."""
        super().__init__()
        self.encoder = TwoStreamEncoder(backbone.model)
        self.label_vectors = nn.Parameter(vectors.detach().clone().float())
        size = len(taxonomy)
        self.label_bias = nn.Parameter(torch.zeros(size + 1)) if settings.label_bias else None
        self.transform = backbone.transform if settings.head == "transform" else None
        self.settings, self.taxonomy = settings, taxonomy
        self.most_labels = min(settings.most_generated, size)
        self.end = size
        self.mask_id, self.sep_id, self.pad_id = backbone.mask_id, backbone.sep_id, backbone.pad_id
        if self.max_length < 3:
            raise BackboneError(
                f"up to {self.most_labels} generated labels leave no room for text: the backbone "
                f"has {self.encoder.parts.max_positions} positions; lower most generated"
            )

    @property
    def max_length(self) -> int:
        """Longest text in tokens that leaves positions for the labels."""
        room = self.encoder.parts.max_positions - self.most_labels
        return min(self.settings.max_length or room, room)

    @property
    def special_ids(self) -> list[int]:
        """Tokens that are looked up beside those of the texts."""
        return [self.mask_id, self.sep_id, self.pad_id]

    def label_parameters(self) -> list[nn.Parameter]:
        """The parameters that belong to labels: they may learn at a rate of their own."""
        return [self.label_vectors] + ([] if self.label_bias is None else [self.label_bias])

    # ------------------------------------------------------------------ training

    def forward(self, batch: Batch) -> torch.Tensor:
        """Cross-entropy, summed (or averaged) over a document's places, averaged over documents."""
        if batch.gold is None:
            raise UsageError("training needs labels, and this batch has none")
        sequences = LabelSequences.of(batch.gold, self.most_labels)
        states, sep = self.training_states(batch, sequences)
        counted = sequences.counted
        entropies = functional.cross_entropy(
            self.logits(states[counted], sep), sequences.classes[counted], reduction="none"
        )
        documents = counted.nonzero()[:, 0]
        losses = entropies.new_zeros(len(counted)).index_add(0, documents, entropies)
        if self.settings.loss_reduction == "mean":
            losses = losses / counted.sum(dim=1)
        if batch.weights is not None:
            losses = losses * batch.weights
        return losses.mean()

    def training_states(
        self, batch: Batch, sequences: LabelSequences
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States of m_1 .. m_S under teacher forcing, [B, S, d]; and the [SEP] embedding [d]."""
        words, (mask, sep) = self.look_up(batch)
        known = self.teacher_inputs(sequences.classes, mask, sep)
        return states_with_text(self.encoder, words, batch.lengths, known, mask), sep

    def look_up(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Word embeddings of the text [B, N, d], and of [MASK] and [SEP] [2, d]."""
        return self.encoder.look_up(batch.ids, [self.mask_id, self.sep_id])

    def teacher_inputs(
        self, classes: torch.Tensor, mask: torch.Tensor, sep: torch.Tensor
    ) -> torch.Tensor:
        """y_1 .. y_S of classes [B, S] -> [B, S, d], some replaced by [MASK] in training."""
        inputs = self.class_inputs(classes, sep)
        chance = self.settings.teacher_masking
        if self.training and chance > 0:
            dropped = torch.rand(classes.shape, device=inputs.device) < chance
            inputs = torch.where(dropped[:, :, None], mask, inputs)
        return inputs

    # ------------------------------------------------------------------ shared pieces

    def class_inputs(self, classes: torch.Tensor, sep: torch.Tensor) -> torch.Tensor:
        """The vectors of classes, [...] -> [..., d]; that of the end is [SEP]'s."""
        vectors: torch.Tensor = self.label_vectors
        if not self.settings.input_gradient:
            vectors = vectors.detach()
        found = functional.embedding(classes.clamp(max=self.end - 1), vectors)
        return torch.where((classes == self.end)[..., None], sep, found)

    def logits(self, states: torch.Tensor, sep: torch.Tensor) -> torch.Tensor:
        """Scores before the softmax, [..., d] -> [..., C], always in float32."""
        with torch.autocast(states.device.type, enabled=False):
            states = states.float()
            if self.transform is not None:
                states = self.transform(states)
            weights = torch.cat([self.label_vectors, sep[None]])
            return functional.linear(states, weights, self.label_bias)

    # ------------------------------------------------------------------ prediction

    @torch.inference_mode()
    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        """Generate, then hand the scores of all labels to the decider, level by level.

        A label's score is the largest margin that it reached in any step: its logit minus that of
        its strongest rival (another label not yet generated, or the end), so that its sigmoid is
        ``p / (p + p of the rival)``. It is above 0, and its sigmoid above 0.5, if and only if the
        label was generated: the rule ``paper`` at 0.5 gives the generated set. Other thresholds and
        rules judge the same scores afterwards; what was generated does not change with them.
        """
        scores = self.generate(batch).scores
        walk = decider.begin(len(scores))
        for level in range(1, self.taxonomy.depth + 1):
            walk.take(level, scores[:, self.taxonomy.level_slice(level)])
        return walk.decoded()

    @torch.inference_mode()
    def generate(self, batch: Batch) -> Generated:
        """Greedy generation, text and known labels from the cache."""
        words, (mask, sep) = self.look_up(batch)
        size, end, device = len(batch.ids), self.end, batch.ids.device
        masked = mask.expand(size, 1, -1)
        memory, state = self.encoder.encode_text_and_next(words, batch.lengths, masked)
        classes = torch.full((size, self.most_labels), end, device=device)
        scores = torch.full((size, end), float("-inf"), device=device)
        used = torch.zeros(size, end + 1, dtype=torch.bool, device=device)
        going_on = torch.ones(size, 1, dtype=torch.bool, device=device)
        cache: list[KeyValue] | None = None
        for step in range(self.most_labels):
            logits = self.logits(state, sep).masked_fill(used, float("-inf"))
            highest, ranked = logits.topk(2, dim=1)
            picked = ranked[:, :1]
            is_picked = torch.arange(end + 1, device=device) == picked
            rivals = torch.where(is_picked, highest[:, 1:], highest[:, :1])
            margins = (logits - rivals)[:, :end]
            scores = torch.where(going_on, torch.maximum(scores, margins), scores)
            picked = torch.where(going_on, picked, end)
            classes[:, step] = picked[:, 0]
            going_on = picked != end
            if not going_on.any():
                break
            # The end can be picked again: documents that have it take no further part.
            used |= is_picked & going_on
            if step + 1 < self.most_labels:
                known = self.class_inputs(picked[:, 0], sep)
                state, cache = self.encoder.encode_next(memory, step + 1, known, masked, cache)
        generated = used[:, :end]
        # Equal logits leave a margin of 0, which no threshold of 0.5 could tell.
        return Generated(
            classes,
            torch.where(generated, scores.clamp(min=_LEAST_SCORE), scores.clamp(max=0.0)),
        )
