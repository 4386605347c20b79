"""The choices by part: frozen dataclasses, one documented field per choice.

Each field's help text also feeds ``hbgl train --help``. The rows of the presets are the points
where the paper's text and its authors' code differ, so that each can be switched on its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from hbgl.settings.choices import (
    BestMetric,
    CalibrationKind,
    EndOfHierarchy,
    GlobalMask,
    Granularity,
    Head,
    LabelVectors,
    LossColumns,
    LossReduction,
    Method,
    NameVector,
    Optimizer,
    Precision,
    Rule,
    Schedule,
    TuneFor,
)

__all__ = ["DecisionSettings", "GlobalStage", "ModelSettings", "TrainingSettings"]

_SEEDS = 2**63
"""Every library takes seeds below this."""


def _choice(default: Any, help_text: str) -> Any:
    """A dataclass field with the sentence that documents it."""
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True, slots=True)
class GlobalStage:
    """The global stage: label vectors learn the taxonomy from the frozen backbone."""

    steps: int = _choice(300, "Optimisation steps of the global stage (0 leaves it out).")
    learning_rate: float = _choice(1e-3, "Learning rate of the label vectors in the global stage.")
    masks_per_step: int = _choice(8, "Independent random masks per step of the global stage.")
    mask_ratio_start: float = _choice(0.15, "Share of masked labels at the first step.")
    mask_ratio_end: float = _choice(0.45, "Share of masked labels at the last step (linear).")
    attention: GlobalMask = _choice(
        "self", "self: a label sees itself, parents, children; root: not itself, [CLS] as the root."
    )
    segment: int = _choice(1, "Segment embedding added to the labels.")
    head: Head = _choice(
        "dot", "dot: states times label vectors; transform: the masked-LM transform in between."
    )

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        found = []
        if self.steps < 0:
            found.append(f"global stage: steps must be 0 or more, not {self.steps}")
        if not 0 < self.learning_rate < math.inf:
            found.append(f"global stage: learning rate must be positive, not {self.learning_rate}")
        if self.masks_per_step < 1:
            found.append("global stage: masks per step must be 1 or more")
        if not 0 < self.mask_ratio_start <= self.mask_ratio_end < 1:
            found.append(
                "global stage: mask ratios must satisfy 0 < start <= end < 1, not "
                f"{self.mask_ratio_start} and {self.mask_ratio_end}"
            )
        if self.segment not in (0, 1):
            found.append(f"global stage: segment must be 0 or 1, not {self.segment}")
        return found


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the model is."""

    method: Method = _choice(
        "hbgl", "hbgl: level by level on the label hierarchy; multilabel: flat head on [CLS]."
    )
    label_vectors: LabelVectors = _choice(
        "global", "Initial label vectors: random, from the names, or after the global stage."
    )
    name_vector: NameVector = _choice(
        "mean", "A label's first vector: mean or sum of its name's token embeddings."
    )
    head: Head = _choice(
        "dot", "dot: states times label vectors; transform: the masked-LM transform in between."
    )
    label_bias: bool = _choice(True, "One learned bias per label in the head.")
    teacher_masking: float = _choice(
        0.5, "Probability that a true level is replaced by [MASK] in the training input."
    )
    end_of_hierarchy: EndOfHierarchy = _choice(
        "empty-is-sep", "empty-is-sep: [SEP] stands for an empty level; sep-class: [SEP] predicted."
    )
    loss_columns: LossColumns = _choice(
        "level", "Columns of the loss at a level: that level's labels, or all labels and [SEP]."
    )
    loss_reduction: LossReduction = _choice(
        "sum", "Loss over the columns: sum or mean (always averaged over documents)."
    )
    input_gradient: bool = _choice(True, "Let the loss reach label vectors through the input, too.")
    max_length: int | None = _choice(
        None, "Longest text in tokens; default: what the backbone's positions leave."
    )
    pad_to_max: bool = _choice(False, "Pad every text to the longest length (the authors do).")

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        found = []
        if not 0 <= self.teacher_masking <= 1:
            found.append(f"teacher masking must lie in 0..1, not {self.teacher_masking}")
        if self.max_length is not None and self.max_length < 3:
            found.append(f"max length must be 3 tokens or more, not {self.max_length}")
        if self.end_of_hierarchy == "sep-class" and self.loss_columns != "all":
            found.append("end of hierarchy 'sep-class' needs loss columns 'all'")
        return found


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the model is trained."""

    epochs: float = _choice(4.0, "Passes over the training documents.")
    steps: int | None = _choice(None, "Optimisation steps, in place of epochs.")
    batch_size: int = _choice(32, "Documents per optimisation step, over all processes.")
    token_budget: int = _choice(
        16384, "Most tokens (padding included) in one forward pass; larger batches accumulate."
    )
    learning_rate: float = _choice(2e-4, "Peak learning rate.")
    label_learning_rate: float | None = _choice(
        None, "Peak learning rate of label vectors and biases; default: the same."
    )
    optimizer: Optimizer = _choice("adamw", "adam or adamw (decoupled weight decay).")
    weight_decay: float = _choice(0.01, "Weight decay of weight matrices (adamw).")
    schedule: Schedule = _choice("linear", "linear decay to zero after warm-up, or constant.")
    warmup: float = _choice(
        0.1, "Warm-up: a share of all steps when below 1, otherwise a number of steps."
    )
    clip: float = _choice(1.0, "Largest gradient norm (0: no clipping).")
    precision: Precision = _choice(
        "auto", "auto: bfloat16 where the hardware computes it natively, else float32."
    )
    attention_dropout: float = _choice(0.0, "Dropout inside attention (0 keeps the fused kernel).")
    hidden_dropout: float | None = _choice(None, "Dropout of hidden states; default: backbone's.")
    evaluate_every: int | None = _choice(None, "Evaluate on dev every N steps; default: epochs.")
    patience: int | None = _choice(
        None, "Stop after N evaluations on dev without a better score; default: never."
    )
    metric: BestMetric = _choice(
        "mean_f1", "The dev score that picks the checkpoint; mean_f1: of Micro- and Macro-F1."
    )
    save_every: int | None = _choice(None, "Steps between checkpoints; default: evaluations.")
    seed: int = _choice(0, "Seed of everything random.")

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        positive = {
            "epochs": self.epochs,
            "steps": self.steps,
            "batch size": self.batch_size,
            "token budget": self.token_budget,
            "learning rate": self.learning_rate,
            "label learning rate": self.label_learning_rate,
            "evaluate every": self.evaluate_every,
            "patience": self.patience,
            "save every": self.save_every,
        }
        found = [
            f"{name} must be positive, not {value}"
            for name, value in positive.items()
            if value is not None and not 0 < value < math.inf
        ]
        not_negative = {
            "weight decay": self.weight_decay,
            "warm-up": self.warmup,
            "clip": self.clip,
        }
        found += [
            f"{name} must be 0 or more, not {value}"
            for name, value in not_negative.items()
            if not 0 <= value < math.inf
        ]
        if not 0 <= self.seed < _SEEDS:
            found.append(f"seed must lie in 0..{_SEEDS - 1}, not {self.seed}")
        shares = {
            "attention dropout": self.attention_dropout,
            "hidden dropout": self.hidden_dropout or 0.0,
        }
        found += [
            f"{name} must lie in 0..1, not {value}"
            for name, value in shares.items()
            if not 0 <= value < 1
        ]
        return found


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """How probabilities become labels; what is fitted is fitted on dev after training."""

    rule: Rule = _choice(
        "backoff", "Rule that chooses labels: paper, closed, coherent, backoff or leaf."
    )
    tune: TuneFor = _choice(
        "mean_f1", "The dev score that thresholds are tuned for; none: 0.5 before calibration."
    )
    granularity: Granularity = _choice(
        "auto", "Thresholds per level, per label where dev has enough, or auto: what wins on dev."
    )
    calibration: CalibrationKind = _choice(
        "auto", "Map from scores to probabilities per level; auto: what dev favours."
    )
    most_paths: int | None = _choice(None, "At most N paths per text; default: no limit.")

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        if self.most_paths is not None and self.most_paths < 1:
            return [f"most paths must be 1 or more, not {self.most_paths}"]
        return []
