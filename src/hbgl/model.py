"""HBGL: logits and loss of each level of a document's label hierarchy, and the walk down it.

One parameter ``Y`` [L, d], the label vectors, is both the input of the label stream and the weight
of the head. Level h enters as ``u_h = sum of Y_j over its labels`` ([SEP] where it is empty); the
state of the masked position m_h gives level h's scores, ``sigmoid(state Y^T + b)``. Other level
inputs are in ``level_inputs.py``, other losses in ``losses.py``.

Shapes: B documents, L labels, D levels, S predicted levels (D, or D + 1 with a [SEP] class), C
columns (L, or L + 1 with a [SEP] class), d width.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.decisions import Decider, Decoded
from hbgl.encoder import TwoStreamEncoder
from hbgl.errors import BackboneError, UsageError
from hbgl.level_inputs import labels_handed_down, level_vector
from hbgl.losses import LabelLoss, TrueParents
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy
from hbgl.teacher_forcing import states_after_text, states_with_text

__all__ = ["HBGL"]


class HBGL(nn.Module):
    """The paper's model over a backbone and a taxonomy."""

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
        self.sep_class = settings.end_of_hierarchy == "sep-class"
        columns = len(taxonomy) + int(self.sep_class)
        self.label_bias = nn.Parameter(torch.zeros(columns)) if settings.label_bias else None
        self.transform = backbone.transform if settings.head == "transform" else None
        self.label_loss = LabelLoss(settings, taxonomy)
        self.true_parents = TrueParents(taxonomy) if settings.loss_columns == "children" else None
        self.own_share = 0.0
        self.settings, self.taxonomy = settings, taxonomy
        self.depth = taxonomy.depth
        self.levels = taxonomy.depth + int(self.sep_class)
        self.slices = [taxonomy.level_slice(level) for level in range(1, taxonomy.depth + 1)]
        self.mask_id, self.sep_id, self.pad_id = backbone.mask_id, backbone.sep_id, backbone.pad_id
        self._check_sizes(len(taxonomy))

    @property
    def max_length(self) -> int:
        """Longest text in tokens that leaves positions for the levels."""
        room = self.encoder.parts.max_positions - self.levels
        return min(self.settings.max_length or room, room)

    @property
    def special_ids(self) -> list[int]:
        """Tokens that are looked up beside those of the texts."""
        return [self.mask_id, self.sep_id, self.pad_id]

    def label_parameters(self) -> list[nn.Parameter]:
        """The parameters that belong to labels: they may learn at a rate of their own."""
        return [self.label_vectors] + ([] if self.label_bias is None else [self.label_bias])

    # ------------------------------------------------------------------ training

    def begin_step(self, done: float) -> None:
        """Before a training step: ``done`` is the share of all steps that came before it."""
        self.own_share = self.settings.own_level_inputs * done

    def forward(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch with gold labels, averaged over documents (a scalar)."""
        losses = self.losses(self.training_states(batch), _gold(batch))
        if batch.weights is not None:
            losses = losses * batch.weights
        return losses.mean()

    def training_states(self, batch: Batch) -> torch.Tensor:
        """States of the masked levels m_1 .. m_S under teacher forcing, [B, S, d]."""
        words, (mask, sep) = self.look_up(batch)
        known = self.teacher_inputs(_gold(batch), mask, sep)  # [B, S, d]
        if not self.training or self.own_share == 0:
            return states_with_text(self.encoder, words, batch.lengths, known, mask)
        memory = self.encoder.encode_text(words, batch.lengths)
        # Not under no_grad: autocast would keep casts of the weights that learn nothing.
        states = states_after_text(self.encoder, memory, known, mask).detach()
        known = self._with_own_inputs(known, states, sep)
        return states_after_text(self.encoder, memory, known, mask)

    def look_up(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Word embeddings of the text [B, N, d], and of [MASK] and [SEP] [2, d]."""
        return self.encoder.look_up(batch.ids, [self.mask_id, self.sep_id])

    def teacher_inputs(
        self, gold: torch.Tensor, mask: torch.Tensor, sep: torch.Tensor
    ) -> torch.Tensor:
        """u_1 .. u_S from true labels [B, L] -> [B, S, d], some replaced by [MASK] in training."""
        inputs = torch.stack(
            [self.level_input(gold, level, sep) for level in range(self.levels)], dim=1
        )
        chance = self.settings.teacher_masking
        if self.training and chance > 0:
            dropped = torch.rand(inputs.shape[:2], device=inputs.device) < chance
            inputs = torch.where(dropped[:, :, None], mask, inputs)
        return inputs

    def _with_own_inputs(
        self, known: torch.Tensor, states: torch.Tensor, sep: torch.Tensor
    ) -> torch.Tensor:
        """Level inputs [B, S, d], some replaced by what the states of the levels predict."""
        with torch.no_grad():
            scores = [self.logits(states[:, i], part) for i, part in enumerate(self.slices)]
            together = torch.cat(scores, dim=1)  # [B, L]: a level is a slice of the labels
            labels = self.handed_down(together > 0, together)
        own = torch.stack([self.level_input(labels, i, sep) for i in range(self.levels)], dim=1)
        replaced = torch.rand(known.shape[:2], device=known.device) < self.own_share
        return torch.where(replaced[:, :, None], own, known)

    def losses(self, states: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        """The loss of each document, [B, S, d] states and [B, L] labels -> [B]."""
        if self.settings.loss_columns != "all":
            return self._losses_by_level(states, gold)
        targets, counted = self._targets_of_all_columns(gold)  # [B, S, C], [B, S]
        entropies: torch.Tensor = self.label_loss(self.logits(states), targets)
        entropies = entropies * counted[:, :, None]
        if self.settings.loss_reduction == "sum":
            return entropies.sum(dim=(1, 2))
        return entropies.sum(dim=(1, 2)) / (counted.sum(dim=1) * targets.shape[2])

    def _losses_by_level(self, states: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        """The paper's loss: at level h only the columns of level h, or those with a true parent."""
        counted = None if self.true_parents is None else self.true_parents(gold)  # [B, L]
        total = states.new_zeros(len(states), dtype=torch.float32)
        for level, columns in enumerate(self.slices):
            entropies = self.label_loss(
                self.logits(states[:, level], columns), gold[:, columns], columns
            )
            if counted is not None:
                entropies = entropies * counted[:, columns]
            total = total + entropies.sum(dim=1)
        if self.settings.loss_reduction == "mean":
            total = total / (gold.shape[1] if counted is None else counted.sum(dim=1))
        return total

    def _targets_of_all_columns(self, gold: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Targets [B, S, C] with every label (and [SEP]) a column, and which levels count [B, S].

        With a [SEP] class the level after the last non-empty one is [SEP]; later ones are nothing.
        """
        batch, labels = gold.shape
        columns = labels + int(self.sep_class)
        targets = torch.zeros(batch, self.levels, columns, device=gold.device)
        filled = torch.zeros(batch, self.levels, dtype=torch.bool, device=gold.device)
        for level, part in enumerate(self.slices):
            targets[:, level, part] = gold[:, part].float()
            filled[:, level] = gold[:, part].any(dim=1)
        if not self.sep_class:
            return targets, torch.ones_like(filled)
        places = torch.arange(1, self.levels + 1, device=gold.device)
        end = (filled * places).amax(dim=1)  # [B] levels used: [SEP] comes right after them
        targets[torch.arange(batch, device=gold.device), end, -1] = 1.0
        return targets, places[None, :] <= end[:, None] + 1

    # ------------------------------------------------------------------ shared pieces

    def logits(self, states: torch.Tensor, columns: slice | None = None) -> torch.Tensor:
        """Scores before the sigmoid, [..., d] -> [..., columns], always in float32."""
        with torch.autocast(states.device.type, enabled=False):
            states = states.float()
            if self.transform is not None:
                states = self.transform(states)
            weights: torch.Tensor = self.label_vectors
            bias: torch.Tensor | None = self.label_bias
            if columns is not None:
                weights = weights[columns]
                bias = None if bias is None else bias[columns]
            elif self.sep_class:
                weights = torch.cat([weights, self.encoder.special_words([self.sep_id])])
            return functional.linear(states, weights, bias)

    def level_input(self, labels: torch.Tensor, level: int, sep: torch.Tensor) -> torch.Tensor:
        """One level's u (levels from 0): labels [B, L], boolean or probabilities -> [B, d]."""
        if level >= self.depth:
            return sep.expand(len(labels), -1)
        columns = self.slices[level]
        vectors = self.label_vectors[columns]
        if not self.settings.input_gradient:
            vectors = vectors.detach()
        return level_vector(labels[:, columns], vectors, sep)

    def handed_down(self, chosen: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """What the levels below are told of labels chosen and scored [B, L]; see level_inputs."""
        settings = self.settings
        return labels_handed_down(settings.level_input, settings.level_input_floor, chosen, scores)

    # ------------------------------------------------------------------ prediction

    @torch.inference_mode()
    def predict(self, batch: Batch, decider: Decider) -> Decoded:
        """Walk down the levels: choose level h, build u_h from it, go on; the text is encoded once.

        :param decider: turns the scores of a level into probabilities and chosen labels.
        """
        words, (mask, sep) = self.look_up(batch)
        masked = mask.expand(len(batch.ids), 1, -1)
        memory, state = self.encoder.encode_text_and_next(words, batch.lengths, masked)
        walk = decider.begin(len(batch.ids))
        going_on: torch.Tensor | None = None
        cache = None
        for level, columns in enumerate(self.slices):
            if level > 0:
                above = self.handed_down(walk.chosen, walk.scores)  # of lower levels nothing yet
                known = self.level_input(above, level - 1, sep)
                state, cache = self.encoder.encode_next(memory, level, known, masked, cache)
            walk.take(level + 1, self.logits(state, columns), going_on)
            if self.sep_class:
                end = torch.sigmoid(self.logits(state)[:, -1:]) > 0.5
                going_on = ~end if going_on is None else going_on & ~end
        return walk.decoded()

    def _check_sizes(self, labels: int) -> None:
        width = self.encoder.parts.hidden_size
        if self.label_vectors.shape != (labels, width):
            raise UsageError(
                f"label vectors have the shape {tuple(self.label_vectors.shape)}, but the taxonomy "
                f"and the backbone need {(labels, width)}"
            )
        if self.max_length < 3:
            raise BackboneError(
                f"a taxonomy of {self.depth} levels leaves no room for text: the backbone has "
                f"{self.encoder.parts.max_positions} positions"
            )


def _gold(batch: Batch) -> torch.Tensor:
    if batch.gold is None:
        raise UsageError("training needs labels, and this batch has none")
    return batch.gold
