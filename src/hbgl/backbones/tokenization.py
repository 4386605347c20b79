"""A folder -> a ``tokenizers.Tokenizer`` without padding or truncation, and its special tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from hbgl.errors import BackboneError

__all__ = ["SpecialTokens", "parse_tokenizer", "read_json_object", "read_tokenizer"]

# What the role's token is called where tokenizer_config.json does not say: BERT's way, RoBERTa's.
_USUAL_NAMES = {
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
    "pad": ("[PAD]", "<pad>"),
}
_WORDPIECE_MODEL_TYPES = ("bert", "electra", "distilbert")
_WORDPIECE_CLASSES = ("BertTokenizer", "ElectraTokenizer", "DistilBertTokenizer")


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The tokens that frame a text, stand for a hidden one, and fill up a batch."""

    cls: str
    sep: str
    mask: str
    pad: str


def read_tokenizer(
    folder: Path, model_type: str, vocabulary_size: int
) -> tuple[Tokenizer, SpecialTokens]:
    """Read ``tokenizer.json``, or build a WordPiece tokenizer from ``vocab.txt``.

    Raises:
        BackboneError: neither is there, damaged, or larger than the encoder's vocabulary.
    """
    settings: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            settings |= read_json_object(folder / name)
    path = folder / "tokenizer.json"
    if path.is_file():
        tokenizer = parse_tokenizer(_read_text(path), str(path))
    else:
        path = folder / "vocab.txt"
        tokenizer = _wordpiece(path, model_type, settings)
    size = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
    if size > vocabulary_size:
        raise BackboneError(
            f"{path}: has {size} tokens, the encoder knows {vocabulary_size}; "
            "take both from the same checkpoint"
        )
    return tokenizer, _special_tokens(tokenizer, settings, str(path))


def parse_tokenizer(tokenizer_json: str, where: str) -> Tokenizer:
    """Parse the text of a ``tokenizer.json``; padding and truncation are switched off.

    Raises:
        BackboneError: it is not one.
    """
    try:
        tokenizer = Tokenizer.from_str(tokenizer_json)
    # The Rust library raises plain Exception.
    except Exception as error:
        raise BackboneError(f"{where}: not a tokenizer ({error}); fetch the file again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        BackboneError: the file is missing, damaged or something else.
    """
    try:
        value = json.loads(_read_text(path))
    except ValueError as error:
        raise BackboneError(f"{path}: not JSON ({error}); fetch the file again") from error
    if not isinstance(value, dict):
        raise BackboneError(f"{path}: not a JSON object; fetch the file again")
    return value


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BackboneError(f"{path}: no such file; fetch the checkpoint again") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BackboneError(f"{path}: not readable ({error}); fetch the file again") from error


def _wordpiece(path: Path, model_type: str, settings: Mapping[str, Any]) -> Tokenizer:
    tokenizer_class = str(settings.get("tokenizer_class", "BertTokenizer")).removesuffix("Fast")
    if (
        not path.is_file()
        or model_type not in _WORDPIECE_MODEL_TYPES
        or tokenizer_class not in _WORDPIECE_CLASSES
    ):
        raise BackboneError(
            f"{path.parent}: has no tokenizer.json, and none can be built for {model_type} with "
            f"{tokenizer_class}; make one with AutoTokenizer.from_pretrained(FOLDER)"
            ".save_pretrained(FOLDER)"
        )
    # One token a line; the line number is the id, so no line may be dropped.
    tokens = _read_text(path).removesuffix("\n").split("\n")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    built = BertWordPieceTokenizer(
        vocab=vocabulary,
        lowercase=bool(settings.get("do_lower_case", True)),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
    )
    return parse_tokenizer(built.to_str(), str(path))


def _special_tokens(tokenizer: Tokenizer, settings: Mapping[str, Any], where: str) -> SpecialTokens:
    found: dict[str, str] = {}
    for role, usual in _USUAL_NAMES.items():
        given = settings.get(f"{role}_token")
        given = given.get("content") if isinstance(given, dict) else given
        names = (given,) if isinstance(given, str) else usual
        known = [name for name in names if tokenizer.token_to_id(name) is not None]
        if not known:
            raise BackboneError(
                f"{where}: has no {role} token ({' or '.join(names)}); name it as {role}_token in "
                "tokenizer_config.json, or take another backbone"
            )
        found[role] = known[0]
    return SpecialTokens(**found)
