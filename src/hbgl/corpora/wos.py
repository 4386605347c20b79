"""Web of Science, WOS-46985 (Kowsari et al. 2017): 7 domains, 134 areas, one path a document.

Two raw forms are read:

- the metadata table, ``Data.xlsx`` or the same as tab-separated text (one header line; columns
  Y1, Y2, Y, Domain, area, keywords, Abstract). The text is no CSV: a row never spans lines, but an
  abstract may stand in double quotes with inner quotes doubled;
- ``X.txt``, ``YL1.txt``, ``YL2.txt``: a text, a domain number and an area number on each line.

A label is a pair of numbers (Y1, Y2), as in the field's taxonomy. The table has several names
under nine of the 134 numbers; the number's most frequent name becomes the label.

The split is that of the scripts published with HiAGM and HBGL: shuffle the row numbers with seed
7, then hold out a fifth and a fifth of the rest with seed 0. It depends on the row order only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hbgl.corpora.label_names import taxonomy_from_paths, unique_labels
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand, normalize_space, read_lines
from hbgl.corpora.split_choice import IdLists, shuffled_splits, twice_a_fifth
from hbgl.corpora.writing import CorpusWriter, Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError, Fault, MissingExtraError
from hbgl.taxonomy import Taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ("train_ids", "dev_ids", "test_ids")
COLUMNS = ("y1", "y2", "y", "domain", "area", "keywords", "abstract")
DOMAIN_WORDS = {
    "CS": "computer science",
    "ECE": "electrical and computer engineering",
    "MAE": "mechanical and aerospace engineering",
    "Civil": "civil engineering",
    "Medical": "medical science",
    "biochemistry": "biochemistry",
    "Psychology": "psychology",
}
ROWS = 46985
LITERATURE_SHUFFLE = 7
LITERATURE_HOLD_OUT = 0
FAULTS_SHOWN = 20


class Row(NamedTuple):
    """One document: its text, its label numbers, and their names where the source has them."""

    text: str
    domain: int
    area: int
    domain_name: str | None
    area_name: str | None


@dataclass(frozen=True, slots=True)
class _Sources:
    table: Path | None
    numbered: tuple[Path, Path, Path] | None


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert WOS-46985 into a corpus folder.

    Raises:
        CorpusError: a raw file is missing, damaged or malformed.
        MissingExtraError: a spreadsheet without openpyxl.
    """
    options.refuse_unused("wos", OPTIONS)
    lists = IdLists.from_options(options)
    sources = _find(expand(raw))
    rows = []
    for row in _rows(sources):
        rows.append(row)
        progress("reading", len(rows))
    labels, taxonomy = _label(rows)
    with corpus_writer("wos", destination, progress) as writer:
        split_note = _write(writer, rows, labels, lists, options.seed)
        if len(rows) != ROWS:
            writer.note(f"the raw files have {len(rows):,} rows, WOS-46985 has {ROWS:,}")
        if sources.table and sources.numbered:
            writer.note(f"texts and names are those of {sources.table.name}; X.txt was not needed")
        writer.finish(
            taxonomy,
            Description(
                "Web of Science (WOS-46985)",
                "Kowsari et al., HDLTex, 2017; Mendeley Data, doi 10.17632/9rw3vkcfy4",
                "CC BY 4.0 for the data set; the abstracts belong to their publishers",
                split_note,
            ),
        )
    return writer.result


def _write(
    writer: CorpusWriter,
    rows: Sequence[Row],
    labels: dict[tuple[int, int], tuple[str, str]],
    lists: IdLists | None,
    seed: int,
) -> str:
    splits: Sequence[str | None]
    if lists:
        splits = [lists.split(str(number)) for number in range(len(rows))]
        notes = [*lists.report(), "ids are row numbers of the raw file, the first row is 0"]
    elif seed == 0:
        splits = literature_split(len(rows))
        notes = [
            "split by the shuffle of the scripts that HiAGM and HBGL published (seeds 7 and 0); "
            "it yields their documents if the rows stand in the order of the distributed table, "
            "and other documents otherwise (X.txt has its own order); give --train-ids, "
            "--dev-ids and --test-ids to be sure"
        ]
    else:
        splits = shuffled_splits(len(rows), twice_a_fifth(len(rows)), seed)
        notes = [f"random split with seed {seed}: the sizes are the literature's, not the ids"]
    for note in notes:
        writer.note(note)
    for number, (row, split) in enumerate(zip(rows, splits, strict=True)):
        if split is None:
            writer.leave_out("documents that no id list names")
        elif not row.text:
            writer.leave_out("documents without text")
        else:
            writer.add(split, row.text, labels[row.domain, row.area], str(number))
    return "by id lists" if lists else f"a fifth test, a fifth of the rest dev, seed {seed}"


def literature_split(documents: int) -> list[str]:
    """Return the split of each row as the published scripts compute it."""
    order = np.arange(documents)
    np.random.RandomState(LITERATURE_SHUFFLE).shuffle(order)
    sizes = twice_a_fifth(documents)
    held_out = np.random.RandomState(LITERATURE_HOLD_OUT).permutation(documents)
    test, rest = np.split(order[held_out], [sizes["test"]])
    held_out = np.random.RandomState(LITERATURE_HOLD_OUT).permutation(len(rest))
    splits = np.full(documents, "train", dtype=object)
    splits[test] = "test"
    splits[rest[held_out][: sizes["dev"]]] = "dev"
    return list[str](splits)


def _find(files: Sequence[Path]) -> _Sources:
    by_name: dict[str, list[Path]] = {}
    for file in files:
        by_name.setdefault(file.name.lower(), []).append(file)
    tables = [file for file in files if file.suffix.lower() == ".xlsx" or _has_header(file)]
    tables.sort(key=lambda file: file.suffix.lower() == ".xlsx")
    numbered = None
    if any(name in by_name for name in ("x.txt", "yl1.txt", "yl2.txt")):
        numbered = _numbered_files(by_name, required=not tables)
    if not tables and numbered is None:
        raise CorpusError(
            "no WOS data found; give Data.xlsx, its tab-separated text (header "
            "Y1 Y2 Y Domain area keywords Abstract), or X.txt with YL1.txt and YL2.txt"
        )
    # Text is quicker to read than a spreadsheet of the same rows.
    return _Sources(tables[0] if tables else None, numbered)


def _numbered_files(
    by_name: dict[str, list[Path]], *, required: bool
) -> tuple[Path, Path, Path] | None:
    found = [by_name.get(name, []) for name in ("x.txt", "yl1.txt", "yl2.txt")]
    if all(len(files) == 1 for files in found):
        return found[0][0], found[1][0], found[2][0]
    if not required:
        return None
    raise CorpusError(
        "X.txt, YL1.txt and YL2.txt are needed, each once; found "
        + (", ".join(str(file) for files in found for file in files) or "none")
    )


def _has_header(file: Path) -> bool:
    if not file.name.lower().removesuffix(".gz").endswith((".txt", ".tsv")):
        return False
    try:
        _, first = next(read_lines(file, "utf-8-sig"), (0, ""))
    except CorpusError:
        return False
    return _is_header(first.split("\t"))


def _is_header(cells: Sequence[object]) -> bool:
    return tuple(str(cell or "").strip().lower() for cell in cells[: len(COLUMNS)]) == COLUMNS


def _rows(sources: _Sources) -> Iterator[Row]:
    if sources.table is None:
        if sources.numbered is not None:
            yield from _numbered_rows(*sources.numbered)
    elif sources.table.suffix.lower() == ".xlsx":
        yield from _checked(_spreadsheet_cells(sources.table), sources.table)
    else:
        yield from _checked(_text_cells(sources.table), sources.table)


def _text_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(path, "utf-8-sig"):
        if number > 1 and line.strip():
            cells = line.split("\t")
            cells[-1] = _unquote(cells[-1].strip())
            yield number, cells


def _spreadsheet_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("reading Data.xlsx", "openpyxl", "xlsx") from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = book.worksheets[0].iter_rows(values_only=True)
        header = next(rows, ())
        if not _is_header(header):
            raise CorpusError(f"{path}: the first row is not {' '.join(COLUMNS)}: {header[:7]}")
        for number, cells in enumerate(rows, 2):
            if any(cell is not None for cell in cells):
                kept = cells[: len(COLUMNS)]
                yield number, ["" if cell is None else str(cell) for cell in kept]
        book.close()
    except CorpusError:
        raise
    except Exception as error:  # openpyxl passes on whatever zip, XML and numbers raise
        raise CorpusError(f"{path}: damaged or not a spreadsheet ({error})") from error


def _checked(rows: Iterator[tuple[int, list[str]]], path: Path) -> Iterator[Row]:
    faults: list[Fault] = []
    for number, cells in rows:
        if len(cells) != len(COLUMNS):
            message = f"{len(cells)} columns, expected {len(COLUMNS)}"
            faults.append(Fault(message, str(path), number))
        else:
            domain, area = _number(cells[0]), _number(cells[1])
            names = normalize_space(cells[3]), normalize_space(cells[4])
            if domain is None or area is None or not all(names):
                message = f"no label in Y1 {cells[0]!r}, Y2 {cells[1]!r}, names {names}"
                faults.append(Fault(message, str(path), number))
            elif not faults:
                yield Row(normalize_space(cells[6]), domain, area, *names)
        if len(faults) == FAULTS_SHOWN:
            break
    if faults:
        raise CorpusError("rows that are not of the WOS form", faults)


def _numbered_rows(texts: Path, domains: Path, areas: Path) -> Iterator[Row]:
    streams = [
        (normalize_space(line) for _, line in read_lines(path, "utf-8-sig"))
        for path in (texts, domains, areas)
    ]
    number = 0
    while True:
        number += 1
        cells = [next(stream, None) for stream in streams]
        text, first, second = cells
        # A blank line may close each file.
        if not any(cells) and all(next(stream, None) is None for stream in streams):
            return
        domain, area = _number(first or ""), _number(second or "")
        if text is None or domain is None or area is None:
            found = f"text {'missing' if text is None else 'there'}, labels {first!r} {second!r}"
            place = Fault(f"lines do not fit together: {found}", texts.name, number)
            raise CorpusError("X.txt, YL1.txt and YL2.txt must have one line a document", [place])
        yield Row(text, domain, area, None, None)


def _label(rows: Sequence[Row]) -> tuple[dict[tuple[int, int], tuple[str, str]], Taxonomy]:
    """Name each domain and each (domain, area) pair, and build the taxonomy."""
    domain_names: dict[int, Counter[str]] = {}
    area_names: dict[tuple[int, int], Counter[str]] = {}
    for row in rows:
        domain_name = row.domain_name or str(row.domain)
        area_name = row.area_name or f"{row.domain}-{row.area}"
        domain_names.setdefault(row.domain, Counter())[domain_name] += 1
        area_names.setdefault((row.domain, row.area), Counter())[area_name] += 1
    paths: dict[tuple[int, int], tuple[str, str]] = {}
    for domain, area in sorted(area_names):
        # most_common is stable: among equals the name that the file has first.
        domain_name = domain_names[domain].most_common(1)[0][0]
        area_name = area_names[domain, area].most_common(1)[0][0]
        path = (domain_name, area_name)
        if path in paths.values():  # two numbers of a domain under one name
            path = (domain_name, f"{area_name} {area}")
        paths[domain, area] = path
    labels = unique_labels(paths.values())
    taxonomy = taxonomy_from_paths(labels, DOMAIN_WORDS)
    return {key: (labels[path[:1]], labels[path]) for key, path in paths.items()}, taxonomy


def _number(cell: str) -> int | None:
    text = cell.strip().removesuffix(".0")  # a spreadsheet may hold 5 as 5.0
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _unquote(cell: str) -> str:
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell
