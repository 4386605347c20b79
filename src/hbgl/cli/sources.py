"""What a FILE argument may be: a file, ``-``, or a split of a corpus, ``CORPUS:SPLIT``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hbgl.corpora import open_corpus
from hbgl.corpora.folder import BUNDLED, SPLITS
from hbgl.errors import CorpusError, RecordError, UsageError
from hbgl.records import Record, SkippedRecords, read_records
from hbgl.taxonomy import Taxonomy

__all__ = ["check_model", "check_side_file", "checked_source", "labelled_records"]


def checked_source(source: str) -> str:
    """The file of a FILE argument, or ``-``; refused at once where it cannot be opened.

    >>> checked_source("clinc150:test").endswith("clinc150/test.jsonl.gz")
    True
    """
    if source == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file")
        return source
    path = Path(source)
    if path.is_dir() or (not path.exists() and source in BUNDLED):
        raise UsageError(
            f"{source} is a folder; name a file, or a split of a corpus: {source}:test"
        )
    if not path.exists():
        path = _split_of_corpus(source) or path
    try:
        with path.open("rb"):
            return str(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordError(f"{path}: cannot be opened: {reason}") from error


def _split_of_corpus(source: str) -> Path | None:
    """``clinc150:test`` -> the file of that split; None for what does not look like one."""
    corpus, colon, split = source.rpartition(":")
    if not colon or not (split in SPLITS or corpus in BUNDLED or Path(corpus).is_dir()):
        return None
    splits = open_corpus(corpus).splits
    if split not in splits:
        raise CorpusError(f"{corpus}: no split {split!r}; it has {', '.join(splits)}")
    return splits[split]


def check_model(model: Path) -> None:
    """Refuse at once, before torch is loaded, what is no model folder."""
    from hbgl.checkpoint import MANIFEST, verify_folder

    if not (model / MANIFEST).is_file():
        verify_folder(model)


def check_side_file(
    side_file: Path | None, *others: str | Path | None, option: str = "--skip-bad"
) -> None:
    """Refuse a file for skipped records that is the input or the output, or that has no place."""
    if side_file is None:
        return
    if any(other is not None and _same(side_file, Path(other)) for other in others):
        raise UsageError(f"{option} {side_file} is the input or the output; name another file")
    if side_file.is_dir() or not side_file.absolute().parent.is_dir():
        raise UsageError(f"{option} {side_file} is a folder or lies in none; name a file")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def labelled_records(
    source: str, taxonomy: Taxonomy, *, skipped: SkippedRecords | None
) -> Iterator[Record]:
    """The records of a checked FILE argument, with labels of ``taxonomy``.

    Raises:
        RecordError: There is no document, or no document has labels: nothing can be scored.
    """
    documents = labelled = 0
    for record in read_records(
        source,
        taxonomy=taxonomy,
        on_error="fail" if skipped is None else "skip",
        skipped=skipped,
    ):
        documents += 1
        labelled += bool(record.labels)
        yield record
    name = "standard input" if source == "-" else source
    if not documents:
        raise RecordError(f"{name}: no documents, so there is nothing to score")
    if not labelled:
        raise RecordError(
            f"{name}: none of its {documents:,} documents has labels, so there is nothing to score"
        )
