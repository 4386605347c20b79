"""The choices by part: frozen dataclasses, one documented field per choice.

Each field's help text also feeds ``hbgl train --help``. The rows of the presets are the points
where the paper's text and its authors' code differ, so that each can be switched on its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hbgl.settings.choices import (
    BestMetric,
    CalibrationKind,
    GatOutput,
    GatTrains,
    GlobalMask,
    Granularity,
    Head,
    Optimizer,
    Precision,
    Rule,
    Schedule,
    TuneFor,
)
from hbgl.settings.field import choice

__all__ = ["DecisionSettings", "GlobalStage", "TrainingSettings"]

_SEEDS = 2**63
"""Every library takes seeds below this."""


@dataclass(frozen=True, slots=True)
class GlobalStage:
    """The global stage: label vectors learn the taxonomy from the frozen backbone."""

    steps: int = choice(300, "Optimisation steps of the global stage (0 leaves it out).")
    learning_rate: float = choice(1e-3, "Learning rate of the label vectors in the global stage.")
    masks_per_step: int = choice(8, "Independent random masks per step of the global stage.")
    mask_ratio_start: float = choice(0.15, "Share of masked labels at the first step.")
    mask_ratio_end: float = choice(0.45, "Share of masked labels at the last step (linear).")
    attention: GlobalMask = choice(
        "self", "self: a label sees itself, parents, children; root: not itself, [CLS] as the root."
    )
    segment: int = choice(1, "Segment embedding added to the labels.")
    head: Head = choice(
        "dot", "dot: states times label vectors; transform: the masked-LM transform in between."
    )
    gat_layers: int = choice(2, "Layers of the graph-attention network (label vectors gat).")
    gat_heads: int = choice(4, "Heads of each of its layers.")
    gat_trains: GatTrains = choice(
        "both", "What trains in it: the network, the label vectors (a frozen network), or both."
    )
    gat_output: GatOutput = choice(
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
class TrainingSettings:
    """How the model is trained."""

    epochs: float = choice(4.0, "Passes over the training documents.")
    steps: int | None = choice(None, "Optimisation steps, in place of epochs.")
    batch_size: int = choice(32, "Documents per optimisation step, over all processes.")
    token_budget: int | None = choice(
        None, "Most tokens (padding included) in one forward pass; default: what suits the device."
    )
    learning_rate: float = choice(2e-4, "Peak learning rate.")
    label_learning_rate: float | None = choice(
        5e-3, "Peak learning rate of label vectors, biases and flat heads; None: the same."
    )
    layer_decay: float = choice(
        1.0, "Rate of each encoder layer: that of the layer above times this (1: all the same)."
    )
    optimizer: Optimizer = choice("adamw", "adam or adamw (decoupled weight decay).")
    weight_decay: float = choice(0.01, "Weight decay of weight matrices (adamw).")
    schedule: Schedule = choice("linear", "linear decay to zero after warm-up, or constant.")
    warmup: float = choice(
        0.1, "Warm-up: a share of all steps when below 1, otherwise a number of steps."
    )
    clip: float = choice(1.0, "Largest gradient norm (0: no clipping).")
    weight_average: float = choice(
        0.0, "Decay of a moving average of the weights, used in their place (0: none)."
    )
    precision: Precision = choice(
        "auto", "auto: bfloat16 where the hardware computes it natively, else float32."
    )
    attention_dropout: float = choice(0.0, "Dropout inside attention (0 keeps the fused kernel).")
    hidden_dropout: float | None = choice(None, "Dropout of hidden states; default: backbone's.")
    evaluate_every: int | None = choice(None, "Evaluate on dev every N steps; default: epochs.")
    patience: int | None = choice(
        None, "Stop after N evaluations on dev without a better score; default: never."
    )
    metric: BestMetric = choice(
        "mean_f1", "The dev score that picks the checkpoint; mean_f1: of Micro- and Macro-F1."
    )
    save_every: int | None = choice(None, "Steps between checkpoints; default: evaluations.")
    seed: int = choice(0, "Seed of everything random.")

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

    rule: Rule = choice(
        "backoff", "Rule that chooses labels: paper, closed, coherent, backoff or leaf."
    )
    tune: TuneFor = choice(
        "mean_f1", "The dev score that thresholds are tuned for; none: 0.5 before calibration."
    )
    granularity: Granularity = choice(
        "auto", "Thresholds per level, per label where dev has enough, or auto: what wins on dev."
    )
    calibration: CalibrationKind = choice(
        "auto", "Map from scores to probabilities per level; auto: what dev favours."
    )
    most_paths: int | None = choice(None, "At most N paths per text; default: no limit.")

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        if self.most_paths is not None and self.most_paths < 1:
            return [f"most paths must be 1 or more, not {self.most_paths}"]
        return []
