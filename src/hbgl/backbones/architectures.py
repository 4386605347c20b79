"""Which encoders fit the two-stream form, and how their checkpoints name the parts.

An encoder fits when it is bidirectional, with learned or sinusoidal absolute positions (MPNet adds
a relative bias that the two streams know), and works in one width d from embeddings to output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import nn
from transformers import CONFIG_MAPPING, PreTrainedConfig, PreTrainedModel
from transformers.activations import ACT2FN

from hbgl.errors import BackboneError

__all__ = [
    "ARCHITECTURES",
    "MODEL_TYPES",
    "Architecture",
    "MaskedLMTransform",
    "build_encoder",
    "build_transform",
    "check_model_type",
    "encoder_config",
    "encoder_fields",
]


@dataclass(frozen=True, slots=True)
class Architecture:
    """How one model type's classes and checkpoints name things."""

    model_class: str
    """Class of the bare encoder in transformers."""
    prefix: str
    """What stands before the encoder's weight names in a checkpoint that has heads too."""
    dense: str
    """Name of the masked-LM transform's linear layer in a checkpoint."""
    norm: str
    """Name of the masked-LM transform's LayerNorm in a checkpoint."""
    has_pooler: bool = True
    """Whether the class takes ``add_pooling_layer``."""
    activation: str | None = None
    """Configuration field of the transform's activation; None: always the exact GELU."""
    norm_eps: float | None = None
    """Epsilon of the transform's LayerNorm; None: the configuration's ``layer_norm_eps``."""


_ROBERTA_HEAD = ("lm_head.dense", "lm_head.layer_norm")

ARCHITECTURES: Mapping[str, Architecture] = {
    "bert": Architecture(
        "BertModel",
        "bert",
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        activation="hidden_act",
    ),
    "roberta": Architecture("RobertaModel", "roberta", *_ROBERTA_HEAD),
    "xlm-roberta": Architecture("XLMRobertaModel", "roberta", *_ROBERTA_HEAD),
    "camembert": Architecture("CamembertModel", "roberta", *_ROBERTA_HEAD),
    "electra": Architecture(
        "ElectraModel",
        "electra",
        "generator_predictions.dense",
        "generator_predictions.LayerNorm",
        has_pooler=False,
    ),
    "distilbert": Architecture(
        "DistilBertModel",
        "distilbert",
        "vocab_transform",
        "vocab_layer_norm",
        has_pooler=False,
        activation="activation",
        norm_eps=1e-12,
    ),
    "mpnet": Architecture("MPNetModel", "mpnet", *_ROBERTA_HEAD),
}

MODEL_TYPES: tuple[str, ...] = tuple(ARCHITECTURES)

# Fields of a config.json that say nothing about the encoder's arithmetic: where it came from, the
# heads it once had, the precision it was stored in.
_NOT_OF_THE_ENCODER = frozenset(
    {
        "_name_or_path",
        "architectures",
        "dtype",
        "torch_dtype",
        "finetuning_task",
        "gradient_checkpointing",
        "id2label",
        "label2id",
        "output_attentions",
        "output_hidden_states",
        "problem_type",
        "return_dict",
        "task_specific_params",
        "transformers_version",
        "use_cache",
    }
)


class MaskedLMTransform(nn.Module):
    """What a masked-LM head does before the vocabulary: ``norm(activation(dense(h)))``."""

    def __init__(self, dense: nn.Linear, activation: nn.Module, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.dense = dense
        self.activation = activation
        self.norm = norm

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Transform hidden states.

        Args:
            hidden: ``[..., d]``

        Returns:
            ``[..., d]``
        """
        transformed: torch.Tensor = self.norm(self.activation(self.dense(hidden)))
        return transformed


def check_model_type(model_type: object, where: str) -> Architecture:
    """Look up the architecture of a model type, or refuse it.

    Raises:
        BackboneError: the type is not supported.
    """
    architecture = ARCHITECTURES.get(model_type) if isinstance(model_type, str) else None
    if architecture is None:
        found = (
            "names no model type, so it is not the configuration of a Hugging Face checkpoint"
            if model_type is None
            else f"model type {model_type!r} is not supported"
        )
        raise BackboneError(f"{where}: {found}; choose an encoder of type {', '.join(MODEL_TYPES)}")
    return architecture


def encoder_config(raw: Mapping[str, Any], where: str) -> PreTrainedConfig:
    """Check a ``config.json`` and make it the configuration of a bare float32 encoder.

    Args:
        raw: the parsed JSON.
        where: what to call it in messages.

    Raises:
        BackboneError: the encoder does not fit; says why.
    """
    check_model_type(raw.get("model_type"), where)
    _check_fits(raw, where)
    try:
        return CONFIG_MAPPING[raw["model_type"]].from_dict(encoder_fields(raw))
    # transformers raises ValueError, TypeError or its own validation errors here, by version.
    except Exception as error:
        raise BackboneError(
            f"{where}: not a valid configuration: {_one_line(error)}; take the config.json that "
            "came with the weights"
        ) from error


def encoder_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a ``config.json`` that the bare encoder depends on."""
    return {key: value for key, value in raw.items() if key not in _NOT_OF_THE_ENCODER}


def _check_fits(raw: Mapping[str, Any], where: str) -> None:
    positions = raw.get("position_embedding_type", "absolute")
    reason = None
    if raw.get("auto_map"):
        reason = "it needs its own Python code (auto_map), which hbgl never runs"
    elif raw.get("is_decoder") or raw.get("add_cross_attention") or raw.get("is_encoder_decoder"):
        reason = "it is a decoder; text must be read in both directions"
    elif positions != "absolute":
        reason = f"its positions are {positions!r}; only absolute positions fit the two streams"
    elif raw.get("quantization_config"):
        reason = "its weights are quantised; take the float checkpoint"
    elif raw["model_type"] == "electra":
        # Defaults of transformers where a config.json leaves them out.
        embedding, hidden = raw.get("embedding_size", 128), raw.get("hidden_size", 256)
        if embedding != hidden:
            reason = (
                f"its embedding size {embedding} is not its hidden size {hidden}, and label "
                "embeddings are both its input and its output; electra-base and -large fit"
            )
    if reason is not None:
        raise BackboneError(f"{where}: cannot be a backbone: {reason}")


def build_encoder(config: PreTrainedConfig, where: str) -> PreTrainedModel:
    """Make the bare encoder, float32, in evaluation mode.

    Raises:
        BackboneError: the configuration contradicts itself.
    """
    architecture = check_model_type(config.model_type, where)
    model_class = getattr(transformers, architecture.model_class)
    options = {"add_pooling_layer": False} if architecture.has_pooler else {}
    try:
        model: PreTrainedModel = model_class(config, **options)
    # Sizes that do not divide, unknown activations, ...: each layer has its own exception.
    except Exception as error:
        raise BackboneError(
            f"{where}: no encoder can be built from its configuration: {_one_line(error)}"
        ) from error
    # As statements: both are untyped in transformers, and both work in place.
    nn.Module.float(model)
    nn.Module.eval(model)
    return model


def build_transform(config: PreTrainedConfig) -> MaskedLMTransform:
    """Make the masked-LM transform that belongs to a configuration, in evaluation mode."""
    architecture = ARCHITECTURES[config.model_type]
    width = config.hidden_size
    eps = architecture.norm_eps if architecture.norm_eps is not None else config.layer_norm_eps
    name = getattr(config, architecture.activation) if architecture.activation else "gelu"
    return MaskedLMTransform(
        nn.Linear(width, width), ACT2FN[name], nn.LayerNorm(width, eps=eps)
    ).eval()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
