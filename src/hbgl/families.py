"""Where each encoder family keeps its modules: one description that the two streams run on.

All supported families are post-norm transformers, ``x = LN(x + Attention(x)); x = LN(x + FF(x))``,
and differ in module names, segments, position offsets and MPNet's relative position bias. Nothing
is copied: every module named here is the Hugging Face model's own, weights included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import nn

from hbgl.errors import BackboneError

__all__ = ["EncoderParts", "Layer", "encoder_parts"]


@dataclass(frozen=True, slots=True)
class Layer:
    """The modules of one transformer layer."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    attention_output: nn.Linear
    attention_norm: nn.LayerNorm
    attention_dropout: nn.Dropout
    hidden_dropout: nn.Dropout
    widen: nn.Linear
    activation: Callable[[torch.Tensor], torch.Tensor]
    narrow: nn.Linear
    output_norm: nn.LayerNorm

    def modules(self) -> list[nn.Module]:
        """All of its modules."""
        parts = (getattr(self, field.name) for field in fields(self))
        return [part for part in parts if isinstance(part, nn.Module)]


@dataclass(frozen=True, slots=True)
class EncoderParts:
    """What the two streams need to know of an encoder."""

    word_embeddings: nn.Embedding
    position_embeddings: nn.Embedding
    segment_embeddings: nn.Embedding | None
    embedding_norm: nn.LayerNorm
    embedding_dropout: nn.Dropout
    layers: tuple[Layer, ...]
    heads: int
    hidden_size: int
    position_offset: int
    """Added to every position id (RoBERTa and MPNet count from padding id + 1)."""
    relative_bias: Callable[[torch.Tensor], torch.Tensor] | None
    """Relative positions [...] -> bias per head [..., heads] (MPNet), or None."""

    @property
    def max_positions(self) -> int:
        """How many positions a sequence may have."""
        return self.position_embeddings.num_embeddings - self.position_offset


def encoder_parts(model: nn.Module) -> EncoderParts:
    """The parts of a bare Hugging Face encoder.

    :raises BackboneError: if its family does not fit the two-stream form.
    """
    config: Any = model.config
    family = str(config.model_type)
    if family not in _FAMILIES:
        known = ", ".join(sorted(_FAMILIES))
        raise BackboneError(f"encoders of type {family!r} are not supported; use one of: {known}")
    if getattr(config, "embedding_size", config.hidden_size) != config.hidden_size:
        raise BackboneError(
            f"this {family} encoder has embeddings of width {config.embedding_size} and states of "
            f"width {config.hidden_size}; label vectors need one width, so use a checkpoint where "
            "both are equal (for ELECTRA: base or large)"
        )
    return _FAMILIES[family](model)


def _bert_layer(layer: Any) -> Layer:
    attention, output = layer.attention.self, layer.attention.output
    return Layer(
        query=attention.query,
        key=attention.key,
        value=attention.value,
        attention_output=output.dense,
        attention_norm=output.LayerNorm,
        attention_dropout=attention.dropout,
        hidden_dropout=output.dropout,
        widen=layer.intermediate.dense,
        activation=layer.intermediate.intermediate_act_fn,
        narrow=layer.output.dense,
        output_norm=layer.output.LayerNorm,
    )


def _bert_parts(model: Any, position_offset: int = 0) -> EncoderParts:
    embeddings, config = model.embeddings, model.config
    return EncoderParts(
        word_embeddings=embeddings.word_embeddings,
        position_embeddings=embeddings.position_embeddings,
        segment_embeddings=embeddings.token_type_embeddings,
        embedding_norm=embeddings.LayerNorm,
        embedding_dropout=embeddings.dropout,
        layers=tuple(_bert_layer(layer) for layer in model.encoder.layer),
        heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        position_offset=position_offset,
        relative_bias=None,
    )


def _roberta_parts(model: Any) -> EncoderParts:
    return _bert_parts(model, position_offset=model.config.pad_token_id + 1)


def _distilbert_parts(model: Any) -> EncoderParts:
    def layer_of(layer: Any) -> Layer:
        attention, feed_forward = layer.attention, layer.ffn
        return Layer(
            query=attention.q_lin,
            key=attention.k_lin,
            value=attention.v_lin,
            attention_output=attention.out_lin,
            attention_norm=layer.sa_layer_norm,
            attention_dropout=attention.dropout,
            hidden_dropout=feed_forward.dropout,
            widen=feed_forward.lin1,
            activation=feed_forward.activation,
            narrow=feed_forward.lin2,
            output_norm=layer.output_layer_norm,
        )

    embeddings, config = model.embeddings, model.config
    return EncoderParts(
        word_embeddings=embeddings.word_embeddings,
        position_embeddings=embeddings.position_embeddings,
        segment_embeddings=None,
        embedding_norm=embeddings.LayerNorm,
        embedding_dropout=embeddings.dropout,
        layers=tuple(layer_of(layer) for layer in model.transformer.layer),
        heads=config.n_heads,
        hidden_size=config.dim,
        position_offset=0,
        relative_bias=None,
    )


def _mpnet_parts(model: Any) -> EncoderParts:
    def layer_of(layer: Any) -> Layer:
        attention = layer.attention.attn
        return Layer(
            query=attention.q,
            key=attention.k,
            value=attention.v,
            attention_output=attention.o,
            attention_norm=layer.attention.LayerNorm,
            attention_dropout=attention.dropout,
            hidden_dropout=layer.attention.dropout,
            widen=layer.intermediate.dense,
            activation=layer.intermediate.intermediate_act_fn,
            narrow=layer.output.dense,
            output_norm=layer.output.LayerNorm,
        )

    encoder, embeddings, config = model.encoder, model.embeddings, model.config

    def relative_bias(relative: torch.Tensor) -> torch.Tensor:
        bias: torch.Tensor = encoder.relative_attention_bias(
            encoder.relative_position_bucket(relative)
        )
        return bias

    return EncoderParts(
        word_embeddings=embeddings.word_embeddings,
        position_embeddings=embeddings.position_embeddings,
        segment_embeddings=None,
        embedding_norm=embeddings.LayerNorm,
        embedding_dropout=embeddings.dropout,
        layers=tuple(layer_of(layer) for layer in encoder.layer),
        heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        position_offset=embeddings.padding_idx + 1,
        relative_bias=relative_bias,
    )


_FAMILIES: dict[str, Callable[[Any], EncoderParts]] = {
    "bert": _bert_parts,
    "camembert": _roberta_parts,
    "distilbert": _distilbert_parts,
    "electra": _bert_parts,
    "mpnet": _mpnet_parts,
    "roberta": _roberta_parts,
    "xlm-roberta": _roberta_parts,
}
