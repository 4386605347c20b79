"""Texts to token ids to batches."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hbgl.backbones import Backbone
from hbgl.batching import (
    TokenizedTexts,
    collate,
    epoch_batches,
    prediction_batches,
    split_by_tokens,
    tokenize,
)
from hbgl.errors import UsageError
from tests.tiny import FAMILIES, tiny_backbone

LENGTHS = st.lists(st.integers(2, 60), min_size=1, max_size=100).map(np.array)


@cache
def backbone_of(family: str = "bert") -> Backbone:
    return tiny_backbone(family)


def texts_of(*rows: list[int]) -> TokenizedTexts:
    offsets = np.cumsum([0, *map(len, rows)])
    return TokenizedTexts(np.array([one for row in rows for one in row], dtype=np.int32), offsets)


# ---------------------------------------------------------------------- tokenize


def test_offsets_cut_the_flat_ids_into_texts() -> None:
    """ "cat" is spelt c ##a ##t; so [CLS] c ##a ##t [SEP] is five tokens, "" is two."""
    backbone = backbone_of()
    texts = tokenize(["cat", "", "money"], backbone.tokenizer, 32)
    assert texts.lengths.tolist() == [5, 2, 3]
    assert len(texts) == 3
    cut = [texts.ids[texts.offsets[i] : texts.offsets[i + 1]].tolist() for i in range(3)]
    money = backbone.tokenizer.token_to_id("money")
    assert cut[1] == [backbone.cls_id, backbone.sep_id]
    assert cut[2] == [backbone.cls_id, money, backbone.sep_id]


def test_no_texts() -> None:
    texts = tokenize([], backbone_of().tokenizer, 32)
    assert len(texts) == 0
    assert texts.lengths.tolist() == []


def test_a_long_text_is_cut_and_closed() -> None:
    """Ten words in at most five tokens: [CLS], three words, [SEP]."""
    backbone = backbone_of()
    texts = tokenize(["money " * 10], backbone.tokenizer, 5)
    money = backbone.tokenizer.token_to_id("money")
    assert texts.ids.tolist() == [backbone.cls_id, money, money, money, backbone.sep_id]


def test_the_backbones_tokenizer_is_left_alone() -> None:
    backbone = backbone_of()
    before = backbone.tokenizer.to_str()
    tokenize(["money " * 50], backbone.tokenizer, 5)
    tokenize(["money " * 50], backbone.tokenizer, 9)
    assert backbone.tokenizer.to_str() == before
    assert not backbone.tokenizer.encode_special_tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_that_spells_special_tokens_gets_none(family: str) -> None:
    """Only the first and the last token are special, whatever the text says."""
    backbone = backbone_of(family)
    special = [backbone.cls_id, backbone.sep_id, backbone.mask_id, backbone.pad_id]
    spelt = [str(backbone.tokenizer.id_to_token(number)) for number in special]
    said = [" ".join(spelt), "".join(spelt), *spelt, *(f"a{word}b" for word in spelt)]
    texts = tokenize(said, backbone.tokenizer, 64)
    for i in range(len(texts)):
        ids = texts.ids[texts.offsets[i] : texts.offsets[i + 1]].tolist()
        assert ids[0] == backbone.cls_id
        assert ids[-1] == backbone.sep_id
        assert not set(ids[1:-1]) & set(special), said[i]
        assert len(ids) > 2


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\t", "😀", "\x00\x01\x1b[0m\x7f", "\ud800 money \udfff", "\u202e\ufeff", "é" * 9],
    ids=["empty", "space", "breaks", "emoji", "control", "surrogates", "invisible", "accents"],
)
def test_odd_texts_have_tokens_of_the_vocabulary(family: str, text: str) -> None:
    backbone = backbone_of(family)
    texts = tokenize([text, "money"], backbone.tokenizer, 16)
    assert 2 <= texts.lengths[0] <= 16
    assert texts.ids[0] == backbone.cls_id
    assert texts.ids[texts.offsets[1] - 1] == backbone.sep_id
    assert texts.ids.max() < backbone.tokenizer.get_vocab_size()


def test_a_million_characters_take_no_longer_than_their_front() -> None:
    """The tokens are those of the whole text, and its end is not even looked at."""
    backbone = backbone_of()
    tokenize(["money"], backbone.tokenizer, 16)
    started = time.process_time()
    texts = tokenize(["rain, snow " * 100_000], backbone.tokenizer, 16)
    assert time.process_time() - started < 0.5
    expected = backbone.tokenizer.encode("rain, snow " * 10).ids[:15]
    assert texts.ids.tolist() == [*expected, backbone.sep_id]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "text",
    ["a" * 100_000, " " * 100_000 + "money", "\x00" * 100_000 + " money", "money" + " " * 100_000],
    ids=["one word", "spaces first", "control first", "spaces last"],
)
def test_long_texts_without_a_usable_front(family: str, text: str) -> None:
    """Where the front says too little, the whole text is read."""
    backbone = backbone_of(family)
    whole = backbone.tokenizer.encode(text).ids
    expected = whole if len(whole) <= 16 else [*whole[:15], backbone.sep_id]
    assert tokenize([text], backbone.tokenizer, 16).ids.tolist() == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_the_front_of_a_text_has_the_tokens_of_the_text(family: str) -> None:
    """Any mixture of words, spaces and signs: like encoding all of it and cutting then."""
    backbone = backbone_of(family)
    random = np.random.default_rng(0)
    pieces = [
        "money",
        "x",
        "  ",
        " ",
        "\n",
        "\u00a0",
        ", ",
        "...",
        "é",
        "\u0301",
        "😀",
        "中文",
        "-",
    ]
    for _ in range(30):
        text = "".join(random.choice(pieces, size=random.integers(20, 400)))
        whole = backbone.tokenizer.encode(text).ids
        expected = whole if len(whole) <= 6 else [*whole[:5], backbone.sep_id]
        assert tokenize([text], backbone.tokenizer, 6).ids.tolist() == expected


# ---------------------------------------------------------------------- which documents together


@settings(max_examples=40, deadline=None)
@given(LENGTHS, st.integers(1, 40), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_every_document_once(
    lengths: np.ndarray, size: int, seed: int, epoch: int
) -> None:
    batches = epoch_batches(lengths, size, seed, epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert all(len(batch) <= size for batch in batches)
    assert sum(len(batch) < size for batch in batches) <= 1


def test_batches_are_a_function_of_seed_and_epoch() -> None:
    lengths = np.random.default_rng(0).integers(2, 50, size=100)

    def order(seed: int, epoch: int) -> list[list[int]]:
        np.random.seed(seed + epoch)  # global state must play no part
        return [batch.tolist() for batch in epoch_batches(lengths, 8, seed, epoch)]

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3)
    assert order(1, 2) != order(2, 2)
    assert order(0, 1) != order(1, 0)


def test_batches_hold_texts_of_like_length() -> None:
    """A random order of 2..101 tokens in batches of 10 pads about 45%; sorted windows below 6%."""
    lengths = np.arange(2, 102)
    batches = epoch_batches(lengths, 10, 0, 0)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded < 1.1 * lengths.sum()


def test_a_batch_without_documents_is_refused() -> None:
    with pytest.raises(UsageError, match="batch size must be 1 or more, not 0"):
        epoch_batches(np.array([3]), 0, 0, 0)


@settings(max_examples=40, deadline=None)
@given(LENGTHS, st.integers(1, 500), st.integers(1, 20))
def test_prediction_batches_keep_to_the_budget(lengths: np.ndarray, budget: int, most: int) -> None:
    """Every document once, longest first; one that is over the budget alone comes alone."""
    batches = list(prediction_batches(lengths, budget, most))
    together = np.concatenate(batches)
    assert sorted(together.tolist()) == list(range(len(lengths)))
    assert (np.diff(lengths[together]) <= 0).all()
    for batch in batches:
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= budget


@settings(max_examples=40, deadline=None)
@given(LENGTHS, st.integers(1, 500), st.data())
def test_parts_of_a_batch_keep_to_the_budget(
    lengths: np.ndarray, budget: int, data: st.DataObject
) -> None:
    indices = np.array(
        data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, unique=True))
    )
    parts = split_by_tokens(indices, lengths, budget)
    assert sorted(np.concatenate(parts).tolist()) == sorted(indices.tolist())
    for part in parts:
        assert len(part) == 1 or len(part) * lengths[part].max() <= budget


def test_a_batch_within_the_budget_is_one_part() -> None:
    parts = split_by_tokens(np.array([2, 0, 1]), np.array([4, 2, 3]), 12)
    assert [part.tolist() for part in parts] == [[0, 2, 1]]


def test_nothing_to_predict() -> None:
    assert list(prediction_batches(np.zeros(0, dtype=np.int64), 100)) == []


# ---------------------------------------------------------------------- collate


def test_collate_pads_to_the_longest_text() -> None:
    """Texts 5 6 7 and 8 9, in the order asked for: [8 9 0], [5 6 7], lengths 2 and 3."""
    batch = collate(texts_of([5, 6, 7], [1], [8, 9]), np.array([2, 0]), 0)
    assert batch.ids.tolist() == [[8, 9, 0], [5, 6, 7]]
    assert batch.lengths.tolist() == [2, 3]
    assert batch.ids.dtype == batch.lengths.dtype == torch.int64
    assert batch.gold is None
    assert batch.weights is None


def test_collate_pads_with_the_backbones_token_up_to_a_width() -> None:
    batch = collate(texts_of([5, 6, 7], [1]), np.array([1]), 99, pad_to=4)
    assert batch.ids.tolist() == [[1, 99, 99, 99]]
    assert collate(texts_of([5, 6, 7]), np.array([0]), 99, pad_to=2).ids.shape == (1, 3)
