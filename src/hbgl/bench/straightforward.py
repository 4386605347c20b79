"""HBGL the straightforward way, as published code computes it: the numbers of ``hbgl.model``.

One sequence ``[text, u_1..u_S, m_1..m_S]``, the text padded to the longest length, goes whole
through the plain Hugging Face encoder under a mask [B, T, T] of who sees whom. Labels are extra
rows of the word embeddings, and every predicted position is scored against the whole vocabulary
and all labels. Nothing is cached: a prediction computes the whole sequence anew for every level.

Shapes: B documents, N text positions, L labels, V words, S levels, T = N + label positions.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from hbgl.attention import label_training_mask
from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.decisions import Decider, Decoded
from hbgl.errors import UsageError
from hbgl.model import HBGL

__all__ = ["Straightforward"]

_FAMILIES = ("bert", "electra", "roberta", "xlm-roberta", "camembert")


class Straightforward(nn.Module):
    """The model of an :class:`HBGL`, with copies of its weights, over one long sequence."""

    def __init__(self, backbone: Backbone, method: HBGL) -> None:
        super().__init__()
        family = backbone.model.config.model_type
        if family not in _FAMILIES:
            raise UsageError(
                f"the straightforward HBGL needs a backbone of type {', '.join(_FAMILIES)}, whose "
                f"Hugging Face class takes positions and a mask; {backbone.name} is {family}"
            )
        if method.settings.level_input != "chosen":
            raise UsageError("the straightforward HBGL has level inputs of chosen labels only")
        self.encoder: Any = copy.deepcopy(backbone.model)
        words = method.encoder.parts.word_embeddings.weight.detach()
        self.vocabulary = len(words)
        # One table for words and labels, as tied input and output embeddings.
        table = torch.cat([words, method.label_vectors.detach()])
        self.table = nn.Embedding(len(table), table.shape[1], _weight=table)
        self.encoder.set_input_embeddings(self.table)
        bias = torch.zeros(len(table))
        if method.label_bias is not None:
            biases = method.label_bias.detach()
            bias[self.vocabulary :] = biases[: len(method.label_vectors)]
            if method.sep_class:
                bias[method.sep_id] = biases[-1]
        self.bias = nn.Parameter(bias)
        self.transform = copy.deepcopy(method.transform)
        self.settings, self.sep_class = method.settings, method.sep_class
        self.slices, self.levels, self.depth = method.slices, method.levels, method.depth
        self.mask_id, self.sep_id, self.pad_id = method.mask_id, method.sep_id, method.pad_id
        # RoBERTa counts positions from padding id + 1 and has a single segment.
        self.first_position = method.encoder.parts.position_offset
        self.label_segment = min(1, self.encoder.config.type_vocab_size - 1)

    # ------------------------------------------------------------------ training

    def forward(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch with gold labels, averaged over documents (a scalar)."""
        own = self.settings.loss_columns == "level" and self.settings.own_level_inputs == 0
        if batch.gold is None or not own or self.settings.loss != "bce":
            raise UsageError(
                "training here needs labels, the cross-entropy of each level's own columns, and "
                "level inputs of true labels"
            )
        device = batch.ids.device
        vectors = [self.teacher_inputs(batch.gold), self._masked(batch, self.levels)]
        offsets = torch.arange(self.levels, device=device).repeat(2)
        among = label_training_mask(self.levels, device)
        states = self.states(batch, torch.cat(vectors, dim=1), offsets, among)
        logits = self.logits(states[:, self.levels :])  # [B, S, V + L]
        losses = logits.new_zeros(len(batch.ids))
        for level, columns in enumerate(self.slices):
            targets = batch.gold[:, columns].to(logits.dtype)
            entropies = functional.binary_cross_entropy_with_logits(
                logits[:, level, self.vocabulary :][:, columns], targets, reduction="none"
            )
            losses = losses + entropies.sum(dim=1)
        if self.settings.loss_reduction == "mean":
            losses = losses / batch.gold.shape[1]
        return losses.mean()

    def teacher_inputs(self, gold: torch.Tensor) -> torch.Tensor:
        """u_1 .. u_S from true labels [B, L] -> [B, S, d], some replaced by [MASK] in training."""
        inputs = torch.stack([self.level_input(gold, h) for h in range(self.levels)], dim=1)
        chance = self.settings.teacher_masking
        if self.training and chance > 0:
            dropped = torch.rand(inputs.shape[:2], device=inputs.device) < chance
            inputs = torch.where(dropped[:, :, None], self.table.weight[self.mask_id], inputs)
        return inputs

    # ------------------------------------------------------------------ prediction

    @torch.inference_mode()
    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        """Walk down the levels, as :meth:`HBGL.predict` does."""
        device = batch.ids.device
        walk = decider.begin(len(batch.ids))
        going_on: torch.Tensor | None = None
        known: list[torch.Tensor] = []
        for level, columns in enumerate(self.slices):
            if level > 0:
                known.append(self.level_input(walk.chosen, level - 1)[:, None])
            vectors = torch.cat([*known, self._masked(batch, 1)], dim=1)
            places = torch.arange(level + 1, device=device)
            among = places <= places[:, None]  # u_i sees u_1..u_i; m_h, the last, sees all
            scores = self.logits(self.states(batch, vectors, places, among)[:, -1])  # [B, V + L]
            walk.take(level + 1, scores[:, self.vocabulary :][:, columns], going_on)
            if self.sep_class:
                goes = torch.sigmoid(scores[:, self.sep_id, None]) <= 0.5
                going_on = goes if going_on is None else going_on & goes
        return walk.decoded()

    # ------------------------------------------------------------------ shared pieces

    def states(
        self, batch: Batch, vectors: torch.Tensor, offsets: torch.Tensor, among: torch.Tensor
    ) -> torch.Tensor:
        """The whole sequence through the encoder; the states of its P label positions, [B, P, d].

        :param vectors: [B, P, d] label vectors, [MASK] or [SEP] embeddings.
        :param offsets: [P] their positions, counted from the end of the text.
        :param among: [P, P] which label position sees which.
        """
        device, (count, width) = batch.ids.device, batch.ids.shape
        text_places = torch.arange(width, device=device).expand(count, -1)
        places = torch.cat([text_places, batch.lengths[:, None] + offsets], dim=1)
        segments = torch.zeros_like(places)
        segments[:, width:] = self.label_segment
        mask = torch.zeros(count, *2 * places.shape[1:], dtype=torch.bool, device=device)
        mask[:, :, :width] = (text_places < batch.lengths[:, None])[:, None]
        mask[:, width:, width:] = among
        output = self.encoder(
            inputs_embeds=torch.cat([self.table(batch.ids), vectors], dim=1),
            attention_mask=mask[:, None],
            position_ids=places + self.first_position,
            token_type_ids=segments,
        )
        found: torch.Tensor = output.last_hidden_state[:, width:]
        return found

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Scores of all words and labels, [..., d] -> [..., V + L]."""
        if self.transform is not None:
            states = self.transform(states)
        scores: torch.Tensor = functional.linear(states, self.table.weight, self.bias)
        return scores

    def level_input(self, labels: torch.Tensor, level: int) -> torch.Tensor:
        """One level's u (levels from 0): boolean labels [B, L] -> [B, d]; [SEP] if empty."""
        sep = self.table.weight[self.sep_id].expand(len(labels), -1)
        if level >= self.depth:
            return sep
        columns = self.slices[level]
        vectors = self.table.weight[self.vocabulary :][columns]
        if not self.settings.input_gradient:
            vectors = vectors.detach()
        present = labels[:, columns]
        summed = present.to(vectors.dtype) @ vectors
        return torch.where(present.any(dim=1, keepdim=True), summed, sep)

    def _masked(self, batch: Batch, count: int) -> torch.Tensor:
        mask: torch.Tensor = self.table.weight[self.mask_id]
        return mask.expand(len(batch.ids), count, -1)
