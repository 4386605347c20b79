"""tokenizer.json, vocab.txt, special tokens, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from hbgl.backbones.tokenization import read_tokenizer
from hbgl.errors import BackboneError
from tests.tiny import FAMILIES, tiny_backbone, tiny_tokenizer

TEXT = "The bank's CARD, to Paris! é 漢 🙂 [x]"


def save(folder: Path, tokenizer: Tokenizer, **settings: object) -> None:
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def refused(folder: Path, model_type: str = "bert", vocabulary_size: int = 10_000) -> str:
    with pytest.raises(BackboneError) as caught:
        read_tokenizer(folder, model_type, vocabulary_size)
    return str(caught.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_usual_special_tokens(family: str, tmp_path: Path) -> None:
    save(tmp_path, tiny_tokenizer(family))
    tokenizer, special = read_tokenizer(tmp_path, family, 10_000)
    like_roberta = family in ("roberta", "mpnet")
    assert special.cls == ("<s>" if like_roberta else "[CLS]")
    assert special.mask == ("<mask>" if like_roberta else "[MASK]")
    tokens = tokenizer.encode("a bank").tokens
    assert (tokens[0], tokens[-1]) == (special.cls, special.sep)


@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json"])
def test_named_special_tokens(name: str, tmp_path: Path) -> None:
    """A token is given as text or as an object with its content."""
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    named = {"cls_token": "bank", "sep_token": {"content": "card", "lstrip": False}}
    (tmp_path / name).write_text(json.dumps(named))
    _, special = read_tokenizer(tmp_path, "bert", 10_000)
    assert (special.cls, special.sep, special.mask) == ("bank", "card", "[MASK]")


def test_padding_and_truncation_are_off(tmp_path: Path) -> None:
    """all-MiniLM-L6-v2 comes with padding to 128 and truncation at 128."""
    tokenizer = tiny_tokenizer()
    tokenizer.enable_padding(length=128)
    tokenizer.enable_truncation(128)
    save(tmp_path, tokenizer)
    read, _ = read_tokenizer(tmp_path, "bert", 10_000)
    assert (read.padding, read.truncation) == (None, None)
    assert len(read.encode("a").ids) == 3
    assert len(read.encode("a " * 500).ids) == 502


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_from_vocabulary_file(tmp_path: Path, lower: bool, ending: str) -> None:
    """The same ids as the tokenizer whose vocabulary the file lists, one token a line."""
    expected = tiny_tokenizer()
    tokens = sorted(expected.get_vocab(), key=expected.get_vocab().__getitem__)
    separator = ending or "\n"
    text = separator.join(tokens) + ending
    (tmp_path / "vocab.txt").write_bytes(text.encode())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower}))
    built, special = read_tokenizer(tmp_path, "bert", 10_000)
    wanted = TEXT.lower() if lower else TEXT
    assert built.get_vocab() == expected.get_vocab()
    assert built.encode(TEXT).ids == built.encode(wanted).ids
    if lower:
        assert built.encode(TEXT).ids == expected.encode(TEXT).ids
    else:
        assert "T" in built.encode(TEXT).tokens
    assert special.mask == "[MASK]"


@pytest.mark.parametrize(
    ("model_type", "settings"),
    [("roberta", {}), ("mpnet", {}), ("bert", {"tokenizer_class": "BertJapaneseTokenizer"})],
)
def test_no_tokenizer_can_be_built(
    tmp_path: Path, model_type: str, settings: dict[str, str]
) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    message = refused(tmp_path, model_type)
    assert "has no tokenizer.json, and none can be built" in message
    assert model_type in message


def test_nothing_there(tmp_path: Path) -> None:
    assert "has no tokenizer.json" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"version": "1.0"}'])
def test_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    assert str(tmp_path / "tokenizer.json") in refused(tmp_path)


def test_larger_than_the_encoders_vocabulary(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    save(tmp_path, tokenizer)
    size = tokenizer.get_vocab_size()
    read_tokenizer(tmp_path, "bert", size)
    message = refused(tmp_path, vocabulary_size=size - 1)
    assert f"has {size} tokens, the encoder knows {size - 1}" in message


def test_special_token_that_is_not_in_the_vocabulary(tmp_path: Path) -> None:
    save(tmp_path, tiny_tokenizer(), mask_token="<hidden>")
    message = refused(tmp_path)
    assert "has no mask token (<hidden>)" in message
    assert "mask_token in tokenizer_config.json" in message


def test_tiny_backbones_are_reproducible() -> None:
    """Their parameters are those of the seed, and none is zero or one throughout."""
    first, again, other = (tiny_backbone(seed=seed) for seed in (1, 1, 2))
    for name, tensor in first.model.state_dict().items():
        assert tensor.equal(again.model.state_dict()[name])
        assert not tensor.equal(other.model.state_dict()[name])
        assert tensor.std() > 0.1
