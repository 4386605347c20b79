"""A text's words, and the tokens that belong to each: what a person can read and delete.

Tokens are pieces of words, differently cut by every backbone. Words are cut here, the same way for
all of them: runs of letters and digits (with an apostrophe or a hyphen inside), single Han
characters, and runs of anything else that is no white space.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from hbgl.batching import text_tokenizer

__all__ = ["NO_WORD", "ReadText", "Span", "read_text", "word_spans"]

Span = tuple[int, int]
"""Characters ``text[start:end]``."""

NO_WORD = -1
"""The word of a token that has none: [CLS], [SEP], a line break."""

_JOINERS = frozenset("'\u2019-_")
_LETTERS = frozenset("LNM")  # the first letter of Unicode's categories: letters, numbers, marks


@dataclass(frozen=True, slots=True)
class ReadText:
    """What the model reads of a text: N tokens, W words."""

    text: str
    ids: tuple[int, ...]
    """N token ids, [CLS] and [SEP] included."""
    special: tuple[bool, ...]
    """Of N tokens: put there by the tokenizer, not by the text."""
    words: tuple[Span, ...]
    """W words that have a token, in the order of the text."""
    word_of_token: np.ndarray
    """[N] the word of each token, or ``NO_WORD``."""
    truncated: bool
    """The text goes on where the model has no positions left."""

    def sum_by_word(self, values: np.ndarray) -> tuple[np.ndarray, float]:
        """[N] values of tokens -> [W] values of words, and the sum of tokens without a word."""
        belongs = self.word_of_token != NO_WORD
        summed = np.bincount(
            self.word_of_token[belongs], weights=values[belongs], minlength=len(self.words)
        )
        return summed, float(values[~belongs].sum())


def read_text(text: str, tokenizer: Tokenizer, max_length: int) -> ReadText:
    """Tokenise one text as :func:`hbgl.batching.tokenize` does, keeping where tokens come from."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    encoding = text_tokenizer(tokenizer, max_length).encode(text)
    offsets: list[Span] = encoding.offsets
    special = [bool(one) for one in encoding.special_tokens_mask]
    end = max((stop for _, stop in offsets), default=0)
    spans = list(word_spans(text, end))
    owners = [
        NO_WORD if added else _word_at(spans, span)
        for span, added in zip(offsets, special, strict=True)
    ]
    # Control characters and the like are in the text but in no token.
    kept = sorted(set(owners) - {NO_WORD})
    renumbered = {NO_WORD: NO_WORD, **{word: number for number, word in enumerate(kept)}}
    return ReadText(
        text=text,
        ids=tuple(encoding.ids),
        special=tuple(special),
        words=tuple(spans[word] for word in kept),
        word_of_token=np.array([renumbered[word] for word in owners], dtype=np.int64),
        truncated=bool(encoding.overflowing),
    )


def word_spans(text: str, end: int | None = None) -> Iterator[Span]:
    """The words that begin before ``end``.

    >>> text = "Don't pay 3,5 :-) 中文"
    >>> [text[start:stop] for start, stop in word_spans(text)]
    ["Don't", 'pay', '3', ',', '5', ':-)', '中', '文']
    """
    last = len(text) if end is None else end
    start, before = 0, "space"
    for place in range(len(text)):
        kind = _kind(text, place)
        if kind != before or kind == "han":
            if before != "space":
                yield start, place
            start, before = place, kind
        if place >= last and (start == place or kind == "space"):
            return
    if before != "space":
        yield start, len(text)


def _kind(text: str, place: int) -> str:
    character = text[place]
    if character.isspace():
        return "space"
    if _is_letter(character):
        return "han" if _is_han(character) else "letter"
    inside = 0 < place < len(text) - 1
    if character in _JOINERS and inside and _joins(text[place - 1]) and _joins(text[place + 1]):
        return "letter"
    return "other"


def _joins(character: str) -> bool:
    return _is_letter(character) and not _is_han(character)


def _is_letter(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] in _LETTERS


def _is_han(character: str) -> bool:
    """Chinese characters, written without spaces: each is a token, and a word, of its own."""
    return (
        "\u3400" <= character <= "\u4dbf"
        or "\u4e00" <= character <= "\u9fff"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )


def _word_at(spans: Sequence[Span], token: Span) -> int:
    """The word that shares most characters with a token; ``NO_WORD`` where none shares any."""
    start, end = token
    found, most = NO_WORD, 0
    number = max(bisect_right(spans, (start, end)) - 1, 0)
    # A token may begin before its word, with the space in front of it.
    while number < len(spans) and spans[number][0] < end:
        shared = min(end, spans[number][1]) - max(start, spans[number][0])
        if shared > most:
            found, most = number, shared
        number += 1
    return found
