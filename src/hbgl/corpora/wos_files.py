"""The raw forms of WOS-46985: a spreadsheet, the same as text, or three files of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hbgl.corpora.raw_files import normalize_space, read_lines
from hbgl.errors import CorpusError, Fault, MissingExtraError

__all__ = ["Row", "Sources", "find_sources", "read_rows"]

COLUMNS = ("y1", "y2", "y", "domain", "area", "keywords", "abstract")
FAULTS_SHOWN = 20


class Row(NamedTuple):
    """One document: its text, its label numbers, and their names where the source has them."""

    text: str
    domain: int
    area: int
    domain_name: str | None
    area_name: str | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The files to read: the metadata table, or texts with two files of numbers."""

    table: Path | None
    numbered: tuple[Path, Path, Path] | None


def find_sources(files: Sequence[Path]) -> Sources:
    """Find the files of either form by name and header.

    Raises:
        CorpusError: neither form is there.
    """
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
    return Sources(tables[0] if tables else None, numbered)


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


def read_rows(sources: Sources) -> Iterator[Row]:
    """Yield the documents in the order of the raw file.

    Raises:
        CorpusError: a damaged file or malformed rows, with their lines.
        MissingExtraError: a spreadsheet without openpyxl.
    """
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


def _number(cell: str) -> int | None:
    text = cell.strip().removesuffix(".0")  # a spreadsheet may hold 5 as 5.0
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _unquote(cell: str) -> str:
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell
