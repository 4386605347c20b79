"""What the model is: one documented field per choice."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hbgl.settings.choices import (
    EndOfHierarchy,
    Head,
    LabelVectors,
    LevelInput,
    Loss,
    LossColumns,
    LossReduction,
    Method,
    NameVector,
)
from hbgl.settings.field import choice

__all__ = ["ModelSettings"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the model is."""

    method: Method = choice(
        "hbgl",
        "hbgl: level by level on the label hierarchy; multilabel: flat head on [CLS]; seq2seq: "
        "label by label.",
    )
    label_vectors: LabelVectors = choice(
        "global",
        "Initial label vectors: random, from the names, or after the global stage (gat: with a "
        "graph-attention network in the backbone's place).",
    )
    name_vector: NameVector = choice(
        "mean", "A label's first vector: mean or sum of its name's token embeddings."
    )
    description_weight: float = choice(
        0.0, "Share of a label's first vector that its sentence in descriptions.json gives."
    )
    parent_weight: float = choice(
        0.0, "Share of a label's first vector that its parents' vectors give, down the levels."
    )
    head: Head = choice(
        "dot", "dot: states times label vectors; transform: the masked-LM transform in between."
    )
    label_bias: bool = choice(True, "One learned bias per label in the head.")
    teacher_masking: float = choice(
        0.5, "Probability that a true level is replaced by [MASK] in the training input."
    )
    level_input: LevelInput = choice(
        "chosen", "What a level hands down: its chosen labels, or all, weighted by probability."
    )
    level_input_floor: float = choice(
        0.0, "Expected level inputs leave out labels whose probability is not above this."
    )
    own_level_inputs: float = choice(
        0.0, "Share of true levels replaced by the model's own in training (linear from 0)."
    )
    end_of_hierarchy: EndOfHierarchy = choice(
        "empty-is-sep", "empty-is-sep: [SEP] stands for an empty level; sep-class: [SEP] predicted."
    )
    loss: Loss = choice(
        "bce", "bce: cross-entropy; asymmetric: easy negatives count less; balanced: rare more."
    )
    asymmetric_gamma: float = choice(
        4.0, "Asymmetric loss: exponent of the probability that weighs a negative."
    )
    asymmetric_margin: float = choice(
        0.05, "Asymmetric loss: taken off a negative's probability; below it nothing is lost."
    )
    balanced_beta: float = choice(
        0.999, "Balanced loss: positives weigh by 1 / (1 - beta^n), n their training documents."
    )
    loss_columns: LossColumns = choice(
        "level",
        "Columns of the loss at a level: that level's labels, only those with a true parent "
        "(children), or all labels and [SEP].",
    )
    loss_reduction: LossReduction = choice(
        "sum", "Loss over the columns: sum or mean (always averaged over documents)."
    )
    input_gradient: bool = choice(True, "Let the loss reach label vectors through the input, too.")
    max_length: int | None = choice(
        None, "Longest text in tokens; default: what the backbone's positions leave."
    )
    most_generated: int = choice(
        32, "seq2seq: most labels of a text; training leaves out those beyond."
    )
    pad_to_max: bool = choice(False, "Pad every text to the longest length (the authors do).")

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        found = []
        if not 0 <= self.teacher_masking <= 1:
            found.append(f"teacher masking must lie in 0..1, not {self.teacher_masking}")
        if self.max_length is not None and self.max_length < 3:
            found.append(f"max length must be 3 tokens or more, not {self.max_length}")
        if self.most_generated < 1:
            found.append(f"most generated must be 1 label or more, not {self.most_generated}")
        if self.end_of_hierarchy == "sep-class" and self.loss_columns != "all":
            found.append("end of hierarchy 'sep-class' needs loss columns 'all'")
        return found + self._faults_beyond_the_paper()

    def _faults_beyond_the_paper(self) -> list[str]:
        shares = {
            "description weight": self.description_weight,
            "parent weight": self.parent_weight,
            "own level inputs": self.own_level_inputs,
        }
        found = [
            f"{name} must lie in 0..1, not {value}"
            for name, value in shares.items()
            if not 0 <= value <= 1
        ]
        if self.label_vectors == "random" and (self.description_weight or self.parent_weight):
            found.append("description weight and parent weight need label vectors from names")
        if self.name_vector == "sum" and self.description_weight:
            found.append(
                "description weight needs name vector 'mean': a sum grows with the number of tokens"
            )
        if self.level_input == "expected" and self.end_of_hierarchy == "sep-class":
            found.append("level input 'expected' needs end of hierarchy 'empty-is-sep'")
        if not 0 <= self.asymmetric_gamma < math.inf:
            found.append(f"asymmetric gamma must be 0 or more, not {self.asymmetric_gamma}")
        below_one = {
            "level input floor": self.level_input_floor,
            "asymmetric margin": self.asymmetric_margin,
            "balanced beta": self.balanced_beta,
        }
        found += [
            f"{name} must be 0 or more and below 1, not {value}"
            for name, value in below_one.items()
            if not 0 <= value < 1
        ]
        if self.loss_columns == "children" and self.method != "hbgl":
            found.append(f"loss columns 'children' are of the method hbgl, not {self.method}")
        if self.loss != "bce" and self.method == "seq2seq":
            found.append(f"the loss {self.loss} is of the methods hbgl and multilabel, not seq2seq")
        return found
