"""Blurb Genre Collection, English (Aly et al. 2019): book blurbs, genres on up to 4 levels.

Raw: ``BlurbGenreCollection_EN_train.txt``, ``..._dev.txt``, ``..._test.txt`` and
``hierarchy.txt``. The blurb files look like XML and are none (no root, bare ampersands)::

    <book date="2018-08-18" xml:lang="en">
    <title>...</title>
    <body>...</body>
    <metadata>
    <topics>
    <d0>Nonfiction</d0><d1>Games</d1>
    </topics>
    ...
    </book>

so each book is read for its few known tags. ``hierarchy.txt`` has ``parent<TAB>child`` lines and
top genres without children alone on a line. The text is the title and the blurb.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand, normalize_space, read_lines
from hbgl.corpora.writing import Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError, Fault
from hbgl.taxonomy import Taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ()
BOOK_LIMIT = 1 << 20  # characters; longer means that an end tag is missing
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_BODY = re.compile(r"<body>(.*?)</body>", re.DOTALL)
_TOPICS = re.compile(r"<topics>(.*?)</topics>", re.DOTALL)
_GENRE = re.compile(r"<d\d+>(.*?)</d\d+>", re.DOTALL)
_ISBN = re.compile(r"<isbn>\s*(\w+)\s*</isbn>")


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert the Blurb Genre Collection into a corpus folder.

    Raises:
        CorpusError: a raw file is missing or malformed.
    """
    options.refuse_unused("bgc", OPTIONS)
    files = expand(raw)
    hierarchy = next((file for file in files if file.name.lower() == "hierarchy.txt"), None)
    if hierarchy is None:
        raise CorpusError("hierarchy.txt of the Blurb Genre Collection is needed")
    splits = {split: _split_file(files, split) for split in ("train", "dev", "test")}
    taxonomy = _read_hierarchy(hierarchy)
    with corpus_writer("bgc", destination, progress) as writer:
        for split, file in splits.items():
            writer.step = f"reading {file.name}"
            for line, book in _books(file):
                genres = _genres(book)
                text = "\n".join(filter(None, (_field(_TITLE, book), _field(_BODY, book))))
                if not text:
                    writer.leave_out("books without text")
                elif not genres:
                    raise CorpusError(
                        "a book without genres",
                        [Fault("no <d0>...</d0> inside <topics>", str(file), line)],
                    )
                else:
                    isbn = _ISBN.search(book)
                    writer.add(split, text, genres, isbn[1] if isbn else None)
        writer.finish(
            taxonomy,
            Description(
                "Blurb Genre Collection (English)",
                "Aly, Remus and Biemann, 2019, Universität Hamburg; blurbs of Penguin Random House",
                "CC BY-NC 4.0",
                "the collection's own files",
            ),
        )
    return writer.result


def _split_file(files: Sequence[Path], split: str) -> Path:
    found = [file for file in files if file.name.lower().endswith(f"_{split}.txt")]
    if len(found) != 1:
        names = ", ".join(str(file) for file in found) or "none"
        raise CorpusError(f"one BlurbGenreCollection_EN_{split}.txt is needed, found {names}")
    return found[0]


def _books(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (first line, content) of each book."""
    lines: list[str] = []
    start = size = 0
    for number, line in read_lines(path):
        if line.lstrip().startswith("<book"):
            if lines:
                raise _unclosed(path, start)
            start, size = number, 0
        if not start:
            if line.strip():
                raise CorpusError("text outside of a book", [Fault(line[:60], str(path), number)])
            continue
        lines.append(line)
        size += len(line)
        if size > BOOK_LIMIT:
            raise _unclosed(path, start)
        if "</book>" in line:
            yield start, "\n".join(lines)
            lines, start = [], 0
    if lines:
        raise _unclosed(path, start)


def _unclosed(path: Path, line: int) -> CorpusError:
    return CorpusError("a book is not closed", [Fault("no </book> follows", str(path), line)])


def _field(pattern: re.Pattern[str], book: str) -> str:
    match = pattern.search(book)
    return normalize_space(html.unescape(match[1])) if match else ""


def _genres(book: str) -> tuple[str, ...]:
    topics = _TOPICS.search(book)
    found = _GENRE.findall(topics[1]) if topics else []
    return tuple(dict.fromkeys(filter(None, (_genre(name) for name in found))))


def _genre(name: str) -> str:
    return normalize_space(html.unescape(name))


def _read_hierarchy(path: Path) -> Taxonomy:
    edges, alone = [], []
    for number, line in read_lines(path):
        names = [_genre(name) for name in line.split("\t")]
        if len(names) == 2 and all(names):
            edges.append((names[0], names[1]))
        elif len(names) == 1 and names[0]:
            alone.append(names[0])
        elif any(names):
            fault = Fault(f"expected parent<TAB>child, found {line[:60]!r}", str(path), number)
            raise CorpusError("bad genre hierarchy", [fault])
    return Taxonomy.from_edges(dict.fromkeys(edges), labels=dict.fromkeys(alone))
