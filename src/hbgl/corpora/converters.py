"""The converters by name; each module is imported when its corpus is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.writing import PreparedCorpus
from hbgl.errors import UsageError

__all__ = ["CONVERTERS", "Converter", "prepare_corpus"]


@dataclass(frozen=True, slots=True)
class Converter:
    """A public corpus that can be prepared: what it is, and the raw files it is made from."""

    name: str
    summary: str
    raw: str


CONVERTERS: dict[str, Converter] = {
    converter.name: converter
    for converter in (
        Converter(
            "wos",
            "Web of Science abstracts, 141 labels on 2 levels",
            "Data.xlsx or its tab-separated text; or X.txt, YL1.txt, YL2.txt",
        ),
        Converter(
            "nyt",
            "New York Times articles, 166 labels on 8 levels",
            "archives or folders of LDC2008T19",
        ),
        Converter(
            "rcv1",
            "Reuters news (RCV1-V2), 103 topics on 4 levels",
            "zips or folder of news items, rcv1.topics.hier.orig, rcv1-v2.topics.qrels",
        ),
        Converter(
            "bgc",
            "book blurbs (Blurb Genre Collection), 4 levels",
            "BlurbGenreCollection_EN_{train,dev,test}.txt, hierarchy.txt",
        ),
        Converter(
            "hwv",
            "Wikipedia introductions (Hierarchical WikiVitals)",
            "hwv_{train,val,test}.json, hwv.taxonomy",
        ),
        Converter(
            "reuters21578",
            "Reuters news of 1987, 142 labels on 3 levels",
            "reut2-000.sgm to reut2-021.sgm",
        ),
        Converter(
            "clinc150",
            "requests to a voice assistant, 160 labels on 2 levels",
            "data_full.json, domains.json",
        ),
        Converter("table", "any table with text and label columns", "CSV, TSV or Parquet files"),
    )
}


def prepare_corpus(
    name: str,
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions | None = None,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert a raw distribution into a corpus folder that is complete or absent.

    Args:
        name: one of ``CONVERTERS``.
        raw: files and folders of the raw distribution; folders are searched.
        destination: a folder that does not exist or is empty.
        options: what the corpus needs to be told.
        progress: called for each document.

    Raises:
        UsageError: an unknown name, options without effect, a destination in use.
        CorpusError: raw files that are missing, damaged or malformed.
    """
    if name not in CONVERTERS:
        raise UsageError(f"no corpus {name!r}; there are {', '.join(CONVERTERS)}")
    if not raw:
        raise UsageError(f"{name} needs raw files: {CONVERTERS[name].raw}")
    module = import_module(f"hbgl.corpora.{name}")
    prepared = module.prepare(raw, destination, options or PrepareOptions(), progress)
    if not isinstance(prepared, PreparedCorpus):
        raise TypeError(f"hbgl.corpora.{name}.prepare returned {type(prepared).__name__}")
    return prepared
