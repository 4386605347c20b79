"""Tiny random encoders and tokenizers, so that no test needs weights from anywhere.

Every parameter is random, LayerNorm scales and biases too: nothing hides behind zeros and ones.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, WordPiece
from torch import nn
from transformers import CONFIG_MAPPING, AutoModelForMaskedLM, PreTrainedModel

from hbgl.backbones import Backbone, backbone_from_config

FAMILIES = ("bert", "roberta", "electra", "distilbert", "mpnet")

_COMMON_WORDS = """
    the a an of in on to and or for with is are was be this that it as by from at not no yes we
    you they he she i my your what how who when where why which all some many more most new old good
    bad one two three four five first last time day year week month people man woman child world
    life work home house school country city company bank money account card pay payment bill
    balance transfer travel flight hotel car road train food meal restaurant music film book game
    sport team player match science physics chemistry biology medicine health drug doctor computer
    software network data learning machine model language text word label level class paper study
    method result system market trade price oil gas grain wheat corn gold stock share bond interest
    rate tax law court police war peace president government election vote weather rain snow sun red
    green blue big small long short high low open close start stop show give take make get go come
    see know think say tell ask help want need like love play run walk talk read write
"""
WORDS = tuple(_COMMON_WORDS.split())

# In the order of their ids: padding is 0 in BERT's vocabularies and 1 in RoBERTa's, like the real.
_BERT_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_ROBERTA_SPECIAL = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
_LIKE_ROBERTA = ("roberta", "xlm-roberta", "camembert", "mpnet")
_PRINTABLE = [character for character in string.printable if not character.isspace()]


def tiny_tokenizer(family: str = "bert", words: Iterable[str] = WORDS) -> Tokenizer:
    """BERT, ELECTRA, DistilBERT, MPNet: WordPiece over letters, pieces and words; lower case.
    RoBERTa: byte-level BPE that knows the words after a space.
    """
    special = _special(family)
    if family in ("roberta", "xlm-roberta", "camembert"):
        tokenizer = _byte_pairs(special, words)
    else:
        tokenizer = _word_pieces(special, words)
    tokenizer.add_special_tokens(list(special.values()))
    cls, sep = special["cls"], special["sep"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (cls, sep)],
    )
    return tokenizer


def tiny_backbone(
    family: str = "bert",
    *,
    hidden: int = 16,
    layers: int = 2,
    heads: int = 2,
    seed: int = 0,
    max_positions: int = 64,
    with_transform: bool = False,
    words: Iterable[str] = WORDS,
) -> Backbone:
    """A random encoder in eval mode. ``max_positions``: what a text may use, in every family."""
    tokenizer = tiny_tokenizer(family, words)
    special = _special(family)
    backbone = backbone_from_config(
        {
            "name": f"tiny-{family}",
            "model_type": family,
            "sha256": None,
            "source": "random numbers",
            "encoder": _encoder_fields(family, tokenizer, hidden, layers, heads, max_positions),
            "special_tokens": {role: special[role] for role in ("cls", "sep", "mask", "pad")},
        },
        tokenizer.to_str(),
        has_transform=with_transform,
        initialise=False,
    )
    randomise(backbone.model, seed)
    if backbone.transform is not None:
        randomise(backbone.transform, seed + 1)
    return backbone


def tiny_folder(
    path: Path,
    family: str = "bert",
    *,
    hidden: int = 16,
    layers: int = 2,
    heads: int = 2,
    seed: int = 0,
    max_positions: int = 64,
    bare: bool = False,
) -> PreTrainedModel:
    """Save a Hugging Face folder and return the masked-LM model that is in it.

    ``bare`` saves its encoder alone, under names without prefix.
    """
    tokenizer = tiny_tokenizer(family)
    fields = _encoder_fields(family, tokenizer, hidden, layers, heads, max_positions)
    model = _masked_language_model(CONFIG_MAPPING[family].from_dict(fields))
    randomise(model, seed)
    saved: Any = model.base_model if bare else model
    saved.save_pretrained(path)
    tokenizer.save(str(path / "tokenizer.json"))
    special = {f"{role}_token": token for role, token in _special(family).items()}
    (path / "tokenizer_config.json").write_text(json.dumps(special), encoding="utf-8")
    return model


def randomise(module: nn.Module, seed: int) -> None:
    """Fill every parameter: LayerNorm scales around 1, all others around 0."""
    generator = torch.Generator().manual_seed(seed)
    scales = {
        id(part.weight) for part in module.modules() if isinstance(part, nn.LayerNorm)
    }  # identity: parameters of equal value are still different parameters
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
            if id(parameter) in scales:
                parameter.add_(1.0)


def _masked_language_model(config: Any) -> PreTrainedModel:
    automatic: Any = AutoModelForMaskedLM
    model: PreTrainedModel = automatic.from_config(config).eval()
    return model


def _special(family: str) -> dict[str, str]:
    return _ROBERTA_SPECIAL if family in _LIKE_ROBERTA else _BERT_SPECIAL


def _encoder_fields(
    family: str, tokenizer: Tokenizer, hidden: int, layers: int, heads: int, max_positions: int
) -> dict[str, object]:
    pad = tokenizer.get_vocab()[_special(family)["pad"]]
    # RoBERTa and MPNet count positions from the padding id + 1.
    unused = pad + 1 if family in _LIKE_ROBERTA else 0
    common: dict[str, object] = {
        "model_type": family,
        "vocab_size": tokenizer.get_vocab_size(),
        "max_position_embeddings": max_positions + unused,
        "pad_token_id": pad,
    }
    if family == "distilbert":
        sizes = {"dim": hidden, "n_layers": layers, "n_heads": heads, "hidden_dim": 2 * hidden}
        return common | sizes
    if family == "electra":
        common["embedding_size"] = hidden
    return common | {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 2 * hidden,
    }


def _word_pieces(special: dict[str, str], words: Iterable[str]) -> Tokenizer:
    pieces = [f"##{character}" for character in string.ascii_lowercase + string.digits]
    tokens = dict.fromkeys([*special.values(), *_PRINTABLE, *pieces, *words])
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=special["unk"]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def _byte_pairs(special: dict[str, str], words: Iterable[str]) -> Tokenizer:
    # <mask> comes last in RoBERTa's vocabulary.
    first = [token for role, token in special.items() if role != "mask"]
    tokens = dict.fromkeys([*first, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    merges: dict[tuple[str, str], None] = {}
    for word in words:
        left = "\u0120"  # a space, in the byte-level alphabet
        for character in word:
            merges[left, character] = None
            left += character
            tokens[left] = None
    vocabulary = {token: number for number, token in enumerate([*tokens, special["mask"]])}
    tokenizer = Tokenizer(BPE(vocabulary, list(merges), unk_token=special["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
