"""Balanced taxonomies of any size and texts of random words, to see how cost grows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from tokenizers import Tokenizer

from hbgl.errors import UsageError
from hbgl.records import Record
from hbgl.taxonomy import Taxonomy

__all__ = ["balanced_taxonomy", "level_sizes", "random_records"]

_BEFORE_WORDS = ("\u0120", "\u2581")  # how byte-level and SentencePiece vocabularies write a space


def level_sizes(labels: int, levels: int) -> list[int]:
    """Labels of each level: about the same number of children everywhere.

    >>> level_sizes(100, 2), level_sizes(1000, 3)
    ([10, 90], [10, 93, 897])
    """
    if not 1 <= levels <= labels:
        raise UsageError(f"{labels} labels cannot have {levels} levels; give 1 to {labels} levels")
    low, high = 1.0, float(labels)
    for _ in range(100):
        ratio = (low + high) / 2
        if sum(ratio**level for level in range(1, levels + 1)) < labels:
            low = ratio
        else:
            high = ratio
    sizes = [max(1, round(high**level)) for level in range(1, levels)]
    last = labels - sum(sizes)
    # Rounding up many levels of one label each can leave too little for the last.
    while last < 1:
        sizes[sizes.index(max(sizes))] -= 1
        last += 1
    return [*sizes, last]


def balanced_taxonomy(labels: int, levels: int) -> Taxonomy:
    """A forest of ``labels`` labels on ``levels`` levels, named ``label LEVEL NUMBER``."""
    sizes = level_sizes(labels, levels)
    edges = [("Root", f"label 1 {number}") for number in range(sizes[0])]
    for level, (above, here) in enumerate(pairwise(sizes), start=2):
        edges += [
            (f"label {level - 1} {number * above // here}", f"label {level} {number}")
            for number in range(here)
        ]
    return Taxonomy.from_edges(edges)


def random_records(
    taxonomy: Taxonomy, tokenizer: Tokenizer, documents: int, words: int, seed: int
) -> list[Record]:
    """Texts of ``words`` random words on average, half as many to half again; one or two leaves."""
    # Apart, so that the texts are the same for every taxonomy.
    draw, draw_labels = np.random.default_rng(seed), np.random.default_rng((seed, 1))
    vocabulary = _whole_words(tokenizer)
    found = []
    for number in range(documents):
        count = int(draw.integers(max(1, words // 2), words + words // 2 + 1))
        text = " ".join(vocabulary[i] for i in draw.integers(len(vocabulary), size=count))
        leaves = draw_labels.choice(taxonomy.leaves, size=int(draw_labels.integers(1, 3)))
        labels = tuple(taxonomy.labels[i] for i in taxonomy.closure(leaves.tolist()))
        found.append(Record(text, labels, str(number)))
    return found


def _whole_words(tokenizer: Tokenizer) -> list[str]:
    words = set()
    for token in tokenizer.get_vocab(with_added_tokens=False):
        word = token[1:] if token.startswith(_BEFORE_WORDS) else token
        if len(word) > 2 and word.isascii() and word.isalpha():
            words.add(word)
    if not words:
        raise UsageError("the backbone's vocabulary has no words to make texts of; name a corpus")
    return sorted(words)
