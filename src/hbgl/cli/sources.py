"""What a FILE argument may be: a file, ``-``, or a split of a corpus, ``CORPUS:SPLIT``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hbgl.corpora import open_corpus
from hbgl.corpora.folder import SPLITS
from hbgl.records import Record, SkippedRecords, read_records
from hbgl.taxonomy import Taxonomy

__all__ = ["labelled_records", "split_of_corpus"]


def split_of_corpus(source: str) -> Path | None:
    """``clinc150:test`` -> the file of that split; None for what is a file itself."""
    corpus, colon, split = source.rpartition(":")
    if not colon or split not in SPLITS or Path(source).exists():
        return None
    return open_corpus(corpus).splits.get(split)


def labelled_records(
    source: str, taxonomy: Taxonomy, *, skipped: SkippedRecords | None
) -> Iterator[Record]:
    """The records of a FILE argument, checked against ``taxonomy``."""
    return read_records(
        split_of_corpus(source) or source,
        taxonomy=taxonomy,
        on_error="fail" if skipped is None else "skip",
        skipped=skipped,
    )
