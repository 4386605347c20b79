"""Texts to batches: tokenise once, bucket by length, pad little.

Token ids of a whole corpus live in one flat array with offsets, so a million documents are two
arrays. Which documents share a batch is a pure function of (lengths, seed, epoch): a resumed run
and every process of a distributed one see the same batches without telling each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from tokenizers import Tokenizer

from hbgl.errors import UsageError

__all__ = [
    "Batch",
    "TokenizedTexts",
    "collate",
    "epoch_batches",
    "forward_tokens",
    "prediction_batches",
    "prediction_tokens",
    "split_by_tokens",
    "text_tokenizer",
    "tokenize",
]

_WINDOW = 64
"""Batches per sorting window: long enough to even out lengths, short enough to stay random."""
_CHARACTERS_PER_TOKEN = 16
"""Of a long text only so many are tokenised at first; about four make a token."""


@dataclass(frozen=True, slots=True)
class TokenizedTexts:
    """Token ids of many texts: text i is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """[documents] tokens of each text."""
        return np.diff(self.offsets)

    def subset(self, indices: np.ndarray) -> TokenizedTexts:
        """The texts at ``indices``, in that order."""
        offsets = np.zeros(len(indices) + 1, dtype=np.int64)
        np.cumsum(self.lengths[indices], out=offsets[1:])
        rows = [self.ids[self.offsets[i] : self.offsets[i + 1]] for i in indices]
        return TokenizedTexts(np.concatenate([self.ids[:0], *rows]), offsets)


@dataclass(frozen=True, slots=True)
class Batch:
    """B documents, padded to N tokens."""

    ids: torch.Tensor
    """[B, N] token ids."""
    lengths: torch.Tensor
    """[B] real tokens."""
    gold: torch.Tensor | None = None
    """[B, L] boolean: the labels of each document, closed under ancestors."""
    weights: torch.Tensor | None = None
    """[B] weight of each document's loss; None: all 1."""

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(
            self.ids.to(device),
            self.lengths.to(device),
            None if self.gold is None else self.gold.to(device),
            None if self.weights is None else self.weights.to(device),
        )


def tokenize(texts: Sequence[str], tokenizer: Tokenizer, max_length: int) -> TokenizedTexts:
    """Token ids with [CLS] and [SEP], at most ``max_length`` of them; in parallel, in Rust."""
    own = text_tokenizer(tokenizer, max_length)
    # Lone surrogates can be in a Python string but not in UTF-8, which Rust wants.
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    fronts = [_front(text, max_length * _CHARACTERS_PER_TOKEN) for text in clean]
    rows = [encoding.ids for encoding in own.encode_batch_fast(fronts)]
    for number, (text, front) in enumerate(zip(clean, fronts, strict=True)):
        if len(front) < len(text) and len(rows[number]) < max_length:
            rows[number] = own.encode(text).ids
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    ids = np.empty(offsets[-1], dtype=np.int32)
    for row, start, end in zip(rows, offsets[:-1], offsets[1:], strict=True):
        ids[start:end] = row
    return TokenizedTexts(ids, offsets)


@lru_cache(maxsize=4)
def text_tokenizer(tokenizer: Tokenizer, max_length: int) -> Tokenizer:
    """A copy that cuts off and takes "[SEP]" in a text for text, not for an instruction.

    Copying a vocabulary takes longer than answering one text, so copies are kept.
    """
    own = Tokenizer.from_str(tokenizer.to_str())
    own.no_padding()
    own.encode_special_tokens = True
    own.enable_truncation(max_length)
    return own


def _front(text: str, characters: int) -> str:
    """The beginning of a long text, cut before white space, so that its tokens are the text's.

    The tokenizer would work through all of a book for its first page.
    """
    if len(text) <= characters:
        return text
    end = next((i for i in range(characters, 0, -1) if text[i] in " \t\n\r"), 0)
    front = text[:end].rstrip(" \t\n\r")
    return front or text


def epoch_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Document indices of each batch of one epoch.

    Shuffled; then, inside windows of many batches, sorted by length so that batches hold texts of
    like length; then the batches shuffled. Every document occurs exactly once.
    """
    if batch_size < 1:
        raise UsageError(f"batch size must be 1 or more, not {batch_size}")
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(lengths))
    window = batch_size * _WINDOW
    batches: list[np.ndarray] = []
    for start in range(0, len(order), window):
        part = order[start : start + window]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
    return [batches[i] for i in random.permutation(len(batches))]


def forward_tokens(device: torch.device) -> int:
    """Padded tokens of one forward pass: what suits a CPU's caches, or fills a GPU."""
    return 4096 if device.type == "cpu" else 65536


def prediction_tokens(device: torch.device) -> int:
    """Padded tokens of a batch in prediction.

    More than go through the text stream at once on a CPU: the label stream takes them all together.
    """
    return 4 * forward_tokens(device) if device.type == "cpu" else forward_tokens(device)


def prediction_batches(
    lengths: np.ndarray, token_budget: int, most_documents: int = 256
) -> Iterator[np.ndarray]:
    """Document indices, longest first, as many per batch as the padded token budget allows."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        widest = max(int(lengths[order[start]]), 1)
        count = min(max(token_budget // widest, 1), most_documents)
        yield order[start : start + count]
        start += count


def split_by_tokens(
    indices: np.ndarray, lengths: np.ndarray, token_budget: int
) -> list[np.ndarray]:
    """One batch cut into parts that each stay within the padded token budget."""
    ordered = indices[np.argsort(-lengths[indices], kind="stable")]
    parts: list[np.ndarray] = []
    start = 0
    while start < len(ordered):
        count = max(token_budget // max(int(lengths[ordered[start]]), 1), 1)
        parts.append(ordered[start : start + count])
        start += count
    return parts


def collate(
    texts: TokenizedTexts, indices: np.ndarray, pad_id: int, pad_to: int | None = None
) -> Batch:
    """The documents at ``indices`` as one padded batch (without labels)."""
    lengths = texts.lengths[indices]
    width = max(int(lengths.max(initial=1)), pad_to or 1)
    ids = np.full((len(indices), width), pad_id, dtype=np.int64)
    for row, (index, length) in enumerate(zip(indices, lengths, strict=True)):
        start = texts.offsets[index]
        ids[row, :length] = texts.ids[start : start + length]
    return Batch(torch.from_numpy(ids), torch.from_numpy(lengths.astype(np.int64)))
