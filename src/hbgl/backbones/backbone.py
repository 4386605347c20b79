"""The backbone: an encoder with its tokenizer, loaded by name or rebuilt from a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from torch import nn
from transformers import PreTrainedModel
from transformers.initialization import no_init_weights

from hbgl.backbones.architectures import (
    build_encoder,
    build_transform,
    encoder_config,
    encoder_fields,
)
from hbgl.backbones.cache import Located
from hbgl.backbones.sources import locate_backbone
from hbgl.backbones.tokenization import (
    SpecialTokens,
    parse_tokenizer,
    read_json_object,
    read_tokenizer,
)
from hbgl.backbones.weights import load_encoder
from hbgl.errors import BackboneError

__all__ = [
    "Backbone",
    "backbone_config",
    "backbone_from_config",
    "load_backbone",
    "read_backbone",
]


@dataclass(slots=True)
class Backbone:
    """A pretrained encoder of width d, its tokenizer, and where it came from."""

    name: str
    """``minilm``, a hub id, or the last part of a folder's path."""
    model: PreTrainedModel
    """The bare encoder: no pooler, no heads; float32."""
    tokenizer: Tokenizer
    """No padding, no truncation."""
    transform: nn.Module | None
    """The masked-LM transform ``[..., d] -> [..., d]`` where the checkpoint has one."""
    sha256: str | None
    """Of the weights file; None where the weights are random."""
    source: str
    """Where the weights came from, without local paths."""
    cls_id: int
    sep_id: int
    mask_id: int
    pad_id: int


def load_backbone(name: str, *, cache: Path | None = None, offline: bool = False) -> Backbone:
    """Find, verify and load a pretrained encoder.

    Args:
        name: ``minilm``, ``bert-base-uncased``, a folder, or a hub id (``owner/name`` or
            ``owner/name@revision``).
        cache: where downloads are kept; default ``$HBGL_CACHE`` or ``~/.cache/hbgl``.
        offline: use only what is already on this machine.

    Raises:
        BackboneError: not found, not what it should be, or of a type that does not fit.
    """
    return read_backbone(locate_backbone(name, cache=cache, offline=offline))


def read_backbone(located: Located) -> Backbone:
    """Load a located checkpoint.

    Raises:
        BackboneError: damaged, incomplete, or of a type that does not fit.
    """
    raw_config = read_json_object(located.folder / "config.json")
    model, transform = load_encoder(located.folder, raw_config)
    tokenizer, special = read_tokenizer(
        located.folder, model.config.model_type, model.config.vocab_size
    )
    return Backbone(
        name=located.name,
        model=model,
        tokenizer=tokenizer,
        transform=transform,
        sha256=located.sha256,
        source=located.origin,
        **_ids(tokenizer, special, located.name),
    )


def backbone_config(backbone: Backbone) -> dict[str, Any]:
    """Describe a backbone in JSON values: all but weights and tokenizer.

    ``backbone_from_config(backbone_config(b), b.tokenizer.to_str(), has_transform=...)`` has b's
    shape, and b's outputs once the state dicts of ``model`` and ``transform`` are loaded.
    """
    config = backbone.model.config
    special = {
        role: backbone.tokenizer.id_to_token(getattr(backbone, f"{role}_id"))
        for role in ("cls", "sep", "mask", "pad")
    }
    return {
        "name": backbone.name,
        "model_type": config.model_type,
        "sha256": backbone.sha256,
        "source": backbone.source,
        "encoder": encoder_fields(config.to_dict()),
        "special_tokens": special,
    }


def backbone_from_config(
    config: Mapping[str, Any],
    tokenizer_json: str,
    *,
    has_transform: bool,
    initialise: bool = True,
) -> Backbone:
    """Rebuild a backbone's shape, with random weights.

    Args:
        config: what :func:`backbone_config` made.
        tokenizer_json: what ``backbone.tokenizer.to_str()`` made.
        has_transform: whether to make the masked-LM transform too.
        initialise: False leaves the weights as memory had them, which is faster where all of
            them are loaded next.

    Raises:
        BackboneError: the configuration or the tokenizer is damaged.
    """
    try:
        name, raw = str(config["name"]), dict(config["encoder"])
        special = SpecialTokens(**config["special_tokens"])
        sha256, source = config["sha256"], str(config["source"])
    except (KeyError, TypeError, ValueError) as error:
        raise BackboneError(
            f"the backbone's configuration is incomplete or damaged ({error!r}); "
            "take the model folder from its source again"
        ) from error
    encoder = encoder_config(raw, name)
    with nullcontext() if initialise else no_init_weights():
        model = build_encoder(encoder, name)
        transform = build_transform(encoder) if has_transform else None
    tokenizer = parse_tokenizer(tokenizer_json, f"tokenizer of {name}")
    return Backbone(
        name=name,
        model=model,
        tokenizer=tokenizer,
        transform=transform,
        sha256=sha256,
        source=source,
        **_ids(tokenizer, special, name),
    )


def _ids(tokenizer: Tokenizer, special: SpecialTokens, where: str) -> dict[str, int]:
    ids: dict[str, int] = {}
    for role, token in asdict(special).items():
        number = tokenizer.token_to_id(token)
        if number is None:
            raise BackboneError(
                f"{where}: its tokenizer does not know the {role} token {token!r}; "
                "tokenizer and configuration are not of the same backbone"
            )
        ids[f"{role}_id"] = number
    return ids
