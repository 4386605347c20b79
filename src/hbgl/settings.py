"""All choices of a run: frozen dataclasses, one documented field per choice, presets by name.

Each field's help text also feeds ``hbgl train --help``. Contradictions are collected and refused
at once. The rows of the presets are the points where the paper's text and its authors' code
differ, so that each can be switched on its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from hbgl.errors import UsageError

__all__ = [
    "PRESETS",
    "GlobalStage",
    "ModelSettings",
    "Settings",
    "TrainingSettings",
    "preset",
    "settings_from_json",
    "with_overrides",
]

Method = Literal["hbgl", "multilabel"]
LabelVectors = Literal["random", "name", "global"]
NameVector = Literal["mean", "sum"]
Head = Literal["dot", "transform"]
EndOfHierarchy = Literal["empty-is-sep", "sep-class"]
LossColumns = Literal["level", "all"]
LossReduction = Literal["sum", "mean"]
GlobalMask = Literal["self", "root"]
Optimizer = Literal["adam", "adamw"]
Schedule = Literal["linear", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]
BestMetric = Literal["micro_f1", "macro_f1"]


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

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        found = []
        if self.steps < 0:
            found.append(f"global stage: steps must be 0 or more, not {self.steps}")
        if self.learning_rate <= 0:
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
        if self.pad_to_max and self.max_length is None:
            found.append("padding to the longest length needs a max length")
        return found


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the model is trained."""

    epochs: float = _choice(4.0, "Passes over the training documents.")
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
    metric: BestMetric = _choice("macro_f1", "The dev score that picks the checkpoint.")
    save_every: int | None = _choice(None, "Steps between checkpoints; default: evaluations.")
    seed: int = _choice(0, "Seed of everything random.")

    def faults(self) -> list[str]:
        """What contradicts itself, one sentence each."""
        positive = {
            "epochs": self.epochs,
            "batch size": self.batch_size,
            "token budget": self.token_budget,
            "learning rate": self.learning_rate,
            "label learning rate": self.label_learning_rate or 1.0,
            "evaluate every": self.evaluate_every or 1,
            "patience": self.patience or 1,
            "save every": self.save_every or 1,
        }
        found = [
            f"{name} must be positive, not {value}"
            for name, value in positive.items()
            if value <= 0
        ]
        not_negative = {
            "weight decay": self.weight_decay,
            "warm-up": self.warmup,
            "clip": self.clip,
        }
        found += [
            f"{name} must be 0 or more, not {value}"
            for name, value in not_negative.items()
            if value < 0
        ]
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
class Settings:
    """Everything that decides a run, except the data."""

    backbone: str = _choice("minilm", "Backbone: a known name, a folder or a hub id.")
    model: ModelSettings = ModelSettings()
    global_stage: GlobalStage = GlobalStage()
    training: TrainingSettings = TrainingSettings()

    def __post_init__(self) -> None:
        parts = (self.model, self.global_stage, self.training)
        found = [fault for part in parts for fault in (*_wrong_values(part), *part.faults())]
        if found:
            raise UsageError("settings that cannot be used: " + "; ".join(found))

    def to_json(self) -> dict[str, Any]:
        """A JSON object that :func:`settings_from_json` reads back."""
        return dataclasses.asdict(self)


def _wrong_values(part: GlobalStage | ModelSettings | TrainingSettings) -> list[str]:
    """Fields with a fixed set of values that hold another."""
    aliases = {name: get_args(alias) for name, alias in globals().items() if get_args(alias)}
    found = []
    for one in dataclasses.fields(part):
        allowed = aliases.get(str(one.type))
        value = getattr(part, one.name)
        if allowed and value not in allowed:
            words = ", ".join(map(str, allowed))
            found.append(f"{one.name.replace('_', ' ')} must be one of {words}, not {value!r}")
    return found


PRESETS: dict[str, Settings] = {
    "default": Settings(),
    "paper": Settings(
        backbone="bert-base-uncased",
        model=ModelSettings(label_bias=False, teacher_masking=0.0),
        training=TrainingSettings(
            optimizer="adam",
            learning_rate=3e-5,
            batch_size=12,
            schedule="constant",
            warmup=0.0,
            weight_decay=0.0,
            clip=0.0,
            attention_dropout=0.1,
        ),
    ),
    "authors": Settings(
        backbone="bert-base-uncased",
        model=ModelSettings(
            name_vector="sum",
            head="transform",
            end_of_hierarchy="sep-class",
            loss_columns="all",
            loss_reduction="mean",
            input_gradient=False,
        ),
        global_stage=GlobalStage(attention="root", segment=0, mask_ratio_end=0.15),
        training=TrainingSettings(
            learning_rate=3e-5,
            batch_size=12,
            warmup=500,
            attention_dropout=0.1,
        ),
    ),
}
"""``paper``: what the paper says; ``authors``: what its authors ran; ``default``: what wins on dev.

Two points of the authors' runs are lengths, not rules, and are left to the user: the text length
(``max_length`` 509, 472, 492 for WOS, NYT, RCV1, with ``pad_to_max``) and the 96,000 steps with an
evaluation every 1,500 to 3,000.
"""


def preset(name: str) -> Settings:
    """The settings of a preset.

    :raises UsageError: for a name that is none.
    """
    if name not in PRESETS:
        raise UsageError(f"no preset {name!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[name]


def with_overrides(settings: Settings, overrides: dict[str, Any]) -> Settings:
    """``settings`` with single fields replaced, named ``model.head``, ``training.epochs``, ..."""
    top: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {"model": {}, "global_stage": {}, "training": {}}
    for key, value in overrides.items():
        part, _, name = key.rpartition(".")
        (parts[part] if part else top)[name] = value
    replaced = {
        part: dataclasses.replace(getattr(settings, part), **fields)
        for part, fields in parts.items()
    }
    return dataclasses.replace(settings, **top, **replaced)


def settings_from_json(data: dict[str, Any]) -> Settings:
    """The inverse of :meth:`Settings.to_json`.

    :raises UsageError: for missing or unknown fields.
    """
    try:
        return Settings(
            backbone=data["backbone"],
            model=ModelSettings(**data["model"]),
            global_stage=GlobalStage(**data["global_stage"]),
            training=TrainingSettings(**data["training"]),
        )
    except (KeyError, TypeError) as fault:
        raise UsageError(f"settings that this version does not know: {fault}") from fault
