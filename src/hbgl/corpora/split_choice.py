"""Which document goes to train, dev or test: published id lists, or a seeded shuffle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hbgl.corpora.options import PrepareOptions
from hbgl.corpora.raw_files import read_id_list
from hbgl.errors import CorpusError, UsageError

__all__ = ["IdLists", "plain_id", "shares_to_sizes", "shuffled_splits", "twice_a_fifth"]


class IdLists:
    """The published splits: each document id belongs to one of them or to none."""

    def __init__(self, files: dict[str, Path]) -> None:
        self.files = files
        self._split_of: dict[str, str] = {}
        for split, path in files.items():
            for identifier in read_id_list(path):
                other = self._split_of.setdefault(identifier, split)
                if other != split:
                    raise CorpusError(f"{path}: document {identifier} is in {files[other]} too")
        self._missing = set(self._split_of)

    @classmethod
    def from_options(cls, options: PrepareOptions) -> IdLists | None:
        """Read the lists that the user named; None where there are none.

        Raises:
            UsageError: lists that leave train or test open.
        """
        named = {"train": options.train_ids, "dev": options.dev_ids, "test": options.test_ids}
        files = {split: path for split, path in named.items() if path is not None}
        if not files:
            return None
        if "train" not in files or "test" not in files:
            raise UsageError("give --train-ids and --test-ids together (and --dev-ids if there is)")
        return cls(files)

    def split(self, identifier: str) -> str | None:
        """Return the split of a document and note that it was found."""
        key = plain_id(identifier)
        self._missing.discard(key)
        return self._split_of.get(key)

    def report(self) -> list[str]:
        """Say where the splits come from and which ids no document has."""
        names = ", ".join(f"{split}: {path.name}" for split, path in self.files.items())
        lines = [f"split by the id lists given ({names})"]
        if self._missing:
            some = ", ".join(sorted(self._missing)[:5])
            lines.append(f"{len(self._missing):,} ids of the lists were not found (such as {some})")
        return lines


def plain_id(identifier: str) -> str:
    """Return the id without leading zeros: ``0057880`` and ``57880`` are one document."""
    return identifier.lstrip("0") or identifier[:1]


def twice_a_fifth(documents: int) -> dict[str, int]:
    """Return the sizes of the field's usual split: a fifth is test, a fifth of the rest is dev.

    >>> twice_a_fifth(46985)
    {'train': 30070, 'dev': 7518, 'test': 9397}
    """
    test = math.ceil(0.2 * documents)
    dev = math.ceil(0.2 * (documents - test))
    return {"train": documents - test - dev, "dev": dev, "test": test}


def shares_to_sizes(documents: int, published: dict[str, int]) -> dict[str, int]:
    """Scale published sizes to another number of documents; exact where the number is theirs."""
    total = sum(published.values())
    dev = round(documents * published["dev"] / total)
    test = round(documents * published["test"] / total)
    return {"train": documents - dev - test, "dev": dev, "test": test}


def shuffled_splits(documents: int, sizes: dict[str, int], seed: int) -> Sequence[str]:
    """Return the split of each document 0..n-1 after a seeded shuffle.

    ``RandomState`` promises the same sequence in every release of numpy.
    """
    order = np.random.RandomState(seed).permutation(documents)
    splits = np.empty(documents, dtype=object)
    start = 0
    for split in ("test", "dev", "train"):
        splits[order[start : start + sizes[split]]] = split
        start += sizes[split]
    return list[str](splits)
