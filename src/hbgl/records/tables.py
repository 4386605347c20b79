"""Rows of CSV, TSV and Parquet, a bounded number of them in memory."""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO

from hbgl.errors import RecordError
from hbgl.records.faults import BadRecordError
from hbgl.records.fields import OPTIONAL, layout_of
from hbgl.records.lines import Row, oversize, read_lines
from hbgl.records.record import Columns
from hbgl.records.sources import Source

__all__ = ["csv_rows", "parquet_rows"]

BATCH = 1024  # rows of Parquet decoded at once
PARQUET_BUFFER = 1 << 20


def csv_rows(
    source: Source, limit: int, columns: Columns | None, *, quoted: bool = True
) -> Iterator[Row]:
    """The rows of a CSV or TSV with a header; a row may span lines inside quotes.

    Broken UTF-8 is carried through the parser as surrogate escapes, so that it spoils one row
    and not the structure of those that follow.
    """
    lines = _Lines(source.stream, limit)
    # A limit of the whole process, by default 128 KiB, which long documents exceed.
    csv.field_size_limit(max(limit, csv.field_size_limit()))
    reader = csv.reader(
        lines,
        delimiter="\t" if source.format == "tsv" else ",",
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    header = _header(reader, lines, source.name)
    columns = _checked_columns(header, columns, source.name)
    while True:
        lines.start()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except BadRecordError as error:
            yield lines.first, error, bytes(lines.raw), lines.size
            continue
        except csv.Error as error:
            yield lines.first, _broken_row(error), bytes(lines.raw), lines.size
            continue
        if cells:
            fields = _fields(cells, header)
            if lines.broken and isinstance(fields, dict):
                fields = _broken_utf8(fields)
            yield lines.first, fields, bytes(lines.raw), lines.size


class _Lines:
    """The lines for the CSV parser; keeps the raw bytes of the row that is being read."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._lines = read_lines(stream, limit)
        self._limit = limit
        self.first = 0
        self.start()

    def start(self) -> None:
        """Begin a new row."""
        self.raw = bytearray()
        self.size = 0
        self._fresh = True
        self.broken = False  # whether the row is no UTF-8

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, raw, excess = next(self._lines)
        if self._fresh:
            self.first, self._fresh = number, False
        self.raw += raw
        self.size += excess or len(raw)
        if excess or self.size > self._limit + 2:  # a line end does not count
            raise oversize(self.size, self._limit)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.broken = True
            return raw.decode("utf-8", "surrogateescape")


def _header(reader: Iterator[list[str]], lines: _Lines, name: str) -> list[str]:
    try:
        header, problem = next(reader, []), ""
    except (csv.Error, BadRecordError) as error:
        header, problem = [], str(error)
    if lines.broken:
        problem = "it is not UTF-8; save the file as UTF-8"
    if problem:
        raise RecordError(f"{name}: the header line cannot be read: {problem}")
    return header


def _broken_row(error: csv.Error) -> BadRecordError:
    message = str(error)
    if "end of data" in message:
        message = "a quote is opened here and never closed"
    return BadRecordError("broken row", f"broken row: {message}")


def _fields(cells: list[str], header: list[str]) -> dict[str, Any] | BadRecordError:
    if len(cells) != len(header):
        return BadRecordError(
            "broken row",
            f"broken row: {len(cells)} cells, the header has {len(header)}; "
            "put quotes around cells that hold a delimiter or a line end",
        )
    return {name: cell or None for name, cell in zip(header, cells, strict=True)}


def _broken_utf8(fields: dict[str, Any]) -> BadRecordError:
    """The fault of a row in which some cells hold surrogate escapes."""
    cells = ((name, cell) for name, cell in fields.items() if cell)
    columns = [name for name, cell in cells if any("\udc80" <= c <= "\udcff" for c in cell)]
    names = ", ".join(f'"{name}"' for name in columns)
    return BadRecordError("broken UTF-8", f"broken UTF-8 in column {names}; save the file as UTF-8")


def _checked_columns(header: Sequence[str], columns: Columns | None, name: str) -> Columns:
    """The columns to read; refuses a table that lacks one, or has one twice."""
    if not header:
        raise RecordError(f"{name}: empty; a table begins with a line that names its columns")
    found = ", ".join(f'"{column}"' for column in header[:20])
    if len(header) == 1 and any(mark in header[0] for mark in ",;\t|"):
        found += "; the cells of CSV are divided by commas, those of TSV by tabs"
    columns = columns or layout_of(dict.fromkeys(header))
    if columns is None:
        raise RecordError(
            f'{name}: there is no column "text"; name the text column (found: {found})'
        )
    wanted = [columns.text, *columns.label_names, *([columns.id] if columns.id else [])]
    for column in wanted:
        if column not in header and (column == columns.text or column not in OPTIONAL):
            raise RecordError(f'{name}: there is no column "{column}" (found: {found})')
        if list(header).count(column) > 1:
            raise RecordError(f'{name}: the column "{column}" is there twice; rename one')
    return columns


def parquet_rows(source: Source, limit: int, columns: Columns | None) -> Iterator[Row]:
    """The rows of a Parquet file, batch by batch; ``line`` is the number of the row."""
    import pyarrow as pa
    from pyarrow import parquet

    damaged = (pa.ArrowException, OSError, ValueError, TypeError, NotImplementedError)
    with ExitStack() as stack:
        file: Any = source.path
        if file is None:  # Parquet is read from its end
            file = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(source.stream, file)
        try:
            table = parquet.ParquetFile(file, buffer_size=PARQUET_BUFFER, pre_buffer=False)
            header = list(table.schema_arrow.names)
        except damaged as error:
            raise _damaged(source.name, error) from error
        stack.callback(table.close)
        columns = _checked_columns(header, columns, source.name)
        wanted = {columns.text, columns.id, *columns.label_names}
        batches = table.iter_batches(BATCH, columns=[name for name in header if name in wanted])
        number = 0
        while True:
            try:
                batch = next(batches, None)
            except damaged as error:
                raise _damaged(source.name, error, number) from error
            if batch is None:
                return
            names = batch.schema.names
            cells = [
                _cells(column, name) for name, column in zip(names, batch.columns, strict=True)
            ]
            for row in zip(*cells, strict=True):
                number += 1
                fields = dict(zip(names, row, strict=True))
                yield number, _checked(fields, columns.text, limit), fields, 0


def _cells(column: Any, name: str) -> list[Any]:
    """The values of a column; where one cannot be decoded, what is wrong with it."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_cell(value, name) for value in column]


def _cell(value: Any, name: str) -> object:
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return BadRecordError("broken UTF-8", f'broken UTF-8 in column "{name}"')
    except (ValueError, OverflowError) as error:
        return BadRecordError("wrong type", f'wrong type: column "{name}": {error}')


def _checked(fields: dict[str, Any], text: str, limit: int) -> dict[str, Any] | BadRecordError:
    for value in fields.values():
        if isinstance(value, BadRecordError):
            return value
    value = fields[text]
    if isinstance(value, str) and len(value) > limit:
        return oversize(len(value), limit)
    return fields


def _damaged(name: str, error: Exception, rows: int = 0) -> RecordError:
    first_line = str(error).strip().partition("\n")[0]
    return RecordError(f"{name}: damaged Parquet after {rows:,} rows: {first_line}")
