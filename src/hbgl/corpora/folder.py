"""Corpus folders: train/dev/test records, a taxonomy, names.

A corpus folder holds ``train``, ``dev`` and ``test`` as ``.jsonl``, ``.jsonl.gz`` or
``.jsonl.zst`` (each optional but at least one present), ``taxonomy.tsv`` and optionally
``names.json`` and ``descriptions.json``. Two small corpora come with the package and open by name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from hbgl.errors import CorpusError, UsageError
from hbgl.records import Record, read_records
from hbgl.taxonomy import DESCRIPTIONS_FILE, Taxonomy, read_descriptions, read_taxonomy

__all__ = [
    "BUNDLED",
    "SPLITS",
    "BundledCorpus",
    "CorpusFolder",
    "bundled_path",
    "copy_bundled",
    "new_corpus_folder",
    "open_corpus",
]

SPLITS = ("train", "dev", "test")
RECORD_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")


@dataclass(frozen=True, slots=True)
class BundledCorpus:
    """A corpus that comes with the package; its figures are those of its README."""

    name: str
    folder: str
    summary: str
    licence: str
    labels: int
    depth: int
    documents: tuple[int, int, int]


BUNDLED: dict[str, BundledCorpus] = {
    corpus.name: corpus
    for corpus in (
        BundledCorpus(
            "clinc150",
            "clinc150",
            "requests to a voice assistant: domain > intent, one path each",
            "CC BY 3.0",
            160,
            2,
            (14939, 2995, 4499),
        ),
        BundledCorpus(
            "arxiv-sample",
            "arxiv",
            "titles and abstracts of papers: group > archive > category, several paths",
            "CC0 1.0",
            157,
            3,
            (3126, 398, 644),
        ),
    )
}


@dataclass
class CorpusFolder:
    """An opened corpus folder: its taxonomy is read, its records are streamed on demand."""

    path: Path
    taxonomy: Taxonomy
    splits: dict[str, Path] = field(default_factory=dict)

    def records(self, split: str) -> Iterator[Record]:
        """Stream the records of ``train``, ``dev``, ``test`` or of another records file.

        Args:
            split: the file name without its suffix; ``oos_test`` reads ``oos_test.jsonl.gz``.

        Raises:
            CorpusError: no such file in the folder.
        """
        source = self.splits.get(split) or _records_file(self.path, split)
        if source is None:
            present = ", ".join(self.splits) or "none"
            raise CorpusError(f"{self.path}: no split {split!r}; it has {present}")
        return read_records(source, taxonomy=self.taxonomy)

    def descriptions(self) -> dict[str, str]:
        """Label -> a sentence about it, for the labels that have one.

        Raises:
            CorpusError: there is no ``descriptions.json``.
            TaxonomyError: it has faults.
        """
        file = self.path / DESCRIPTIONS_FILE
        if not file.is_file():
            raise CorpusError(
                f"{self.path}: no {DESCRIPTIONS_FILE} (label -> sentence), which a description "
                "weight needs; add it, or leave the weight at 0"
            )
        return read_descriptions(file, self.taxonomy.labels)


def open_corpus(name_or_dir: str | Path) -> CorpusFolder:
    """Open a corpus folder, or a bundled corpus by its name.

    A folder of that name in the current directory comes before the bundled corpus.

    Raises:
        CorpusError: neither a folder nor a bundled name, or the folder is incomplete.
        TaxonomyError: its taxonomy has faults.
    """
    path = Path(name_or_dir)
    if not path.is_dir():
        if path.exists():
            raise CorpusError(f"{path}: a file, but a corpus folder is needed")
        path = bundled_path(str(name_or_dir))
    taxonomy_file = path / "taxonomy.tsv"
    if not taxonomy_file.is_file():
        raise CorpusError(
            f"{path}: no taxonomy.tsv; a corpus folder holds train/dev/test.jsonl[.gz] and "
            "taxonomy.tsv"
        )
    splits = {split: file for split in SPLITS if (file := _records_file(path, split)) is not None}
    if not splits:
        raise CorpusError(f"{path}: none of train, dev, test as .jsonl, .jsonl.gz or .jsonl.zst")
    return CorpusFolder(path=path, taxonomy=read_taxonomy(taxonomy_file), splits=splits)


def bundled_path(name: str) -> Path:
    """Return the folder of a bundled corpus inside the installed package.

    Raises:
        CorpusError: no bundled corpus has that name.
    """
    if name not in BUNDLED:
        raise CorpusError(
            f"{name!r} is neither a folder nor a bundled corpus; bundled are "
            f"{', '.join(sorted(BUNDLED))} (see: hbgl data list)"
        )
    folder = resources.files("hbgl.corpora") / "data" / BUNDLED[name].folder
    if not isinstance(folder, Path) or not folder.is_dir():
        raise CorpusError(f"the bundled corpus {name!r} is missing from this installation of hbgl")
    return folder


def copy_bundled(name: str, destination: Path) -> Path:
    """Copy a bundled corpus to a new folder, complete or not at all.

    Raises:
        UsageError: the destination exists and is not empty.
    """
    source = bundled_path(name)
    with new_corpus_folder(destination) as beside:
        for file in sorted(source.iterdir()):
            if file.is_file():
                shutil.copyfile(file, beside / file.name)
    return destination


@contextmanager
def new_corpus_folder(destination: Path) -> Iterator[Path]:
    """Yield a folder beside the destination that takes its place once the block has ended.

    After an error inside the block nothing is left.

    Raises:
        UsageError: the destination exists and is not empty.
    """
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise UsageError(f"{destination}: exists already; name a new or an empty folder")
    beside = destination.absolute().parent / f".{destination.name}-{os.getpid()}"
    try:
        beside.mkdir(parents=True)
        yield beside
        if destination.exists():
            destination.rmdir()
        beside.rename(destination)
    except OSError as error:
        raise CorpusError(f"{destination}: cannot be written ({error})") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _records_file(folder: Path, stem: str) -> Path | None:
    found = [folder / (stem + suffix) for suffix in RECORD_SUFFIXES]
    present = [file for file in found if file.is_file()]
    if len(present) > 1:
        names = " and ".join(file.name for file in present)
        raise CorpusError(f"{folder}: has both {names}; keep one of them")
    return present[0] if present else None
