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
    GatOutput,
    GatTrains,
    GlobalMask,
    Granularity,
    Head,
    LabelVectors,
    LevelInput,
    Loss,
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
    gat_layers: int = _choice(2, "Layers of the graph-attention network (label vectors gat).")
    gat_heads: int = _choice(4, "Heads of each of its layers.")
    gat_trains: GatTrains = _choice(
        "both", "What trains in it: the network, the label vectors (a frozen network), or both."
    )
    gat_output: GatOutput = _choice(
        "encoded", "Kept of it: the labels as the network encodes them, or the trained vectors."
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
        for name, value in (("layers", self.gat_layers), ("heads", self.gat_heads)):
            if value < 1:
                found.append(f"global stage: gat {name} must be 1 or more, not {value}")
        if self.gat_trains == "network" and self.gat_output == "vectors":
            found.append(
                "global stage: gat output 'vectors' keeps nothing of what gat trains 'network' "
                "learns; keep 'encoded', or train 'vectors' or 'both'"
            )
        return found


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the model is."""

    method: Method = _choice(
        "hbgl",
        "hbgl: level by level on the label hierarchy; multilabel: flat head on [CLS]; seq2seq: "
        "label by label.",
    )
    label_vectors: LabelVectors = _choice(
        "global",
        "Initial label vectors: random, from the names, or after the global stage (gat: with a "
        "graph-attention network in the backbone's place).",
    )
    name_vector: NameVector = _choice(
        "mean", "A label's first vector: mean or sum of its name's token embeddings."
    )
    description_weight: float = _choice(
        0.0, "Share of a label's first vector that its sentence in descriptions.json gives."
    )
    parent_weight: float = _choice(
        0.0, "Share of a label's first vector that its parents' vectors give, down the levels."
    )
    head: Head = _choice(
        "dot", "dot: states times label vectors; transform: the masked-LM transform in between."
    )
    label_bias: bool = _choice(True, "One learned bias per label in the head.")
    teacher_masking: float = _choice(
        0.5, "Probability that a true level is replaced by [MASK] in the training input."
    )
    level_input: LevelInput = _choice(
        "chosen", "What a level hands down: its chosen labels, or all, weighted by probability."
    )
    level_input_floor: float = _choice(
        0.0, "Expected level inputs leave out labels whose probability is not above this."
    )
    own_level_inputs: float = _choice(
        0.0, "Share of true levels replaced by the model's own in training (linear from 0)."
    )
    end_of_hierarchy: EndOfHierarchy = _choice(
        "empty-is-sep", "empty-is-sep: [SEP] stands for an empty level; sep-class: [SEP] predicted."
    )
    loss: Loss = _choice(
        "bce", "bce: cross-entropy; asymmetric: easy negatives count less; balanced: rare more."
    )
    asymmetric_gamma: float = _choice(
        4.0, "Asymmetric loss: exponent of the probability that weighs a negative."
    )
    asymmetric_margin: float = _choice(
        0.05, "Asymmetric loss: taken off a negative's probability; below it nothing is lost."
    )
    balanced_beta: float = _choice(
        0.999, "Balanced loss: positives weigh by 1 / (1 - beta^n), n their training documents."
    )
    loss_columns: LossColumns = _choice(
        "level",
        "Columns of the loss at a level: that level's labels, only those with a true parent "
        "(children), or all labels and [SEP].",
    )
    loss_reduction: LossReduction = _choice(
        "sum", "Loss over the columns: sum or mean (always averaged over documents)."
    )
    input_gradient: bool = _choice(True, "Let the loss reach label vectors through the input, too.")
    max_length: int | None = _choice(
        None, "Longest text in tokens; default: what the backbone's positions leave."
    )
    most_generated: int = _choice(
        32, "seq2seq: most labels of a text; training leaves out those beyond."
    )
    pad_to_max: bool = _choice(False, "Pad every text to the longest length (the authors do).")

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


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the model is trained."""

    epochs: float = _choice(4.0, "Passes over the training documents.")
    steps: int | None = _choice(None, "Optimisation steps, in place of epochs.")
    batch_size: int = _choice(32, "Documents per optimisation step, over all processes.")
    token_budget: int | None = _choice(
        None, "Most tokens (padding included) in one forward pass; default: what suits the device."
    )
    learning_rate: float = _choice(2e-4, "Peak learning rate.")
    label_learning_rate: float | None = _choice(
        None, "Peak learning rate of label vectors and biases; default: the same."
    )
    layer_decay: float = _choice(
        1.0, "Rate of each encoder layer: that of the layer above times this (1: all the same)."
    )
    optimizer: Optimizer = _choice("adamw", "adam or adamw (decoupled weight decay).")
    weight_decay: float = _choice(0.01, "Weight decay of weight matrices (adamw).")
    schedule: Schedule = _choice("linear", "linear decay to zero after warm-up, or constant.")
    warmup: float = _choice(
        0.1, "Warm-up: a share of all steps when below 1, otherwise a number of steps."
    )
    clip: float = _choice(1.0, "Largest gradient norm (0: no clipping).")
    weight_average: float = _choice(
        0.0, "Decay of a moving average of the weights, used in their place (0: none)."
    )
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
        if not 0 < self.layer_decay <= 1:
            found.append(f"layer decay must be above 0 and at most 1, not {self.layer_decay}")
        if not 0 <= self.weight_average < 1:
            found.append(f"weight average must be 0 or more and below 1, not {self.weight_average}")
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
