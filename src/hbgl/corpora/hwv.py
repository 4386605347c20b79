"""Hierarchical WikiVitals (Plaud et al. 2024): introductions of Wikipedia's vital articles.

Raw, as its authors publish it: ``hwv_train.json``, ``hwv_val.json``, ``hwv_test.json``, one JSON
object a line, ``{"token": ["the text"], "label": ["People", "Writers", ...], ...}`` with the
labels of one path, top first; and ``hwv.taxonomy``, lines ``parent<TAB>child...`` from ``Root``.
The train file may be stored with Git LFS: a clone without LFS has a pointer in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand, normalize_space
from hbgl.corpora.writing import Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError
from hbgl.records import read_records
from hbgl.taxonomy import read_taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ()
SPLIT_NAMES = {"train": ("train",), "dev": ("val", "dev", "valid"), "test": ("test",)}
SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
LFS_POINTER = b"version https://git-lfs"


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert Hierarchical WikiVitals into a corpus folder.

    Raises:
        CorpusError: a raw file is missing or a Git LFS pointer.
        RecordError: a line that is no document or has labels that the taxonomy lacks.
        TaxonomyError: the taxonomy file has faults.
    """
    options.refuse_unused("hwv", OPTIONS)
    files = expand(raw)
    taxonomies = [file for file in files if file.suffix in (".taxonomy", ".taxnomy")]
    if len(taxonomies) != 1:
        raise CorpusError(f"hwv.taxonomy is needed, once; found {len(taxonomies)}")
    taxonomy = read_taxonomy(taxonomies[0], format="tsv")
    with corpus_writer("hwv", destination, progress) as writer:
        for split, names in SPLIT_NAMES.items():
            file = _split_file(files, names)
            writer.step = f"reading {file.name}"
            for record in read_records(file, taxonomy=taxonomy, format="jsonl"):
                text = normalize_space(record.text)
                if text:
                    writer.add(split, text, record.labels, record.id)
                else:
                    writer.leave_out("documents without text")
        writer.note("counts are not compared: none were at hand in a form that could be checked")
        writer.finish(
            taxonomy,
            Description(
                "Hierarchical WikiVitals",
                "Plaud, Labeau, Saillenfest and Bonald, CoNLL 2024; texts of Wikipedia",
                "MIT for the data set; the texts are Wikipedia's (CC BY-SA)",
                "the authors' own files",
            ),
        )
    return writer.result


def _split_file(files: Sequence[Path], names: Sequence[str]) -> Path:
    wanted = {f"hwv_{name}{suffix}" for name in names for suffix in SUFFIXES}
    found = [file for file in files if file.name.lower() in wanted]
    if len(found) != 1:
        shown = ", ".join(str(file) for file in found) or "none"
        raise CorpusError(f"one hwv_{names[0]}.json is needed, found {shown}")
    with found[0].open("rb") as stream:
        if stream.read(len(LFS_POINTER)) == LFS_POINTER:
            raise CorpusError(
                f"{found[0]}: a Git LFS pointer, not the data; run `git lfs pull` in the clone"
            )
    return found[0]
