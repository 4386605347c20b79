"""``write_records``: JSONL, CSV, TSV and Parquet, complete or absent."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from hbgl.errors import RecordError, UsageError
from hbgl.records.labels import DELIMITER
from hbgl.records.record import Columns, Record
from hbgl.records.sources import Format, atomic_output, compressed_output, format_of

__all__ = ["record_writer", "write_records"]

BATCH = 1024  # records handed over at once
# A row group of Parquet: so many records, or fewer where these are long.
GROUP_RECORDS = 20_000
GROUP_CHARACTERS = 1 << 26

Write: TypeAlias = Callable[[Sequence[Record]], None]


def write_records(
    records: Iterable[Record],
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 (the word that users look for)
    columns: Columns | None = None,
    label_delimiter: str = DELIMITER,
) -> int:
    """Write records and return their number; the file appears when it is complete.

    The name tells format and compression (``train.jsonl.gz``). Labels are a list in JSONL and
    Parquet and a delimited string in tables (a JSON list where a label holds the delimiter).
    """
    count = 0
    with record_writer(
        path, format=format, columns=columns, label_delimiter=label_delimiter
    ) as write:
        for batch in _batches(records):
            write(batch)
            count += len(batch)
    return count


@contextmanager
def record_writer(
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 (the word that users look for)
    columns: Columns | None = None,
    label_delimiter: str = DELIMITER,
) -> Iterator[Write]:
    """A function that takes records to write, for those who write several files at once."""
    columns = columns or Columns()
    if columns.labels is not None and not isinstance(columns.labels, str):
        raise UsageError(f"{path}: labels are written in one column, not one per level")
    named, compression = format_of(path) if format is None else (format, format_of(path)[1])
    with atomic_output(path) as raw, compressed_output(raw, compression) as stream:
        if named == "jsonl":
            yield _json_writer(stream, columns)
        elif named == "parquet":
            with _parquet_writer(stream, columns) as write:
                yield write
        else:
            yield _csv_writer(stream, columns, "\t" if named == "tsv" else ",", label_delimiter)


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    iterator = iter(records)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _json_writer(stream: BinaryIO, columns: Columns) -> Write:
    encode = json.JSONEncoder(ensure_ascii=False).encode

    def write(batch: Sequence[Record]) -> None:
        lines = []
        for record in batch:
            fields: dict[str, Any] = {columns.text: record.text}
            if isinstance(columns.labels, str):
                fields[columns.labels] = record.labels
            if columns.id is not None and record.id is not None:
                fields[columns.id] = record.id
            lines.append(encode(fields) + "\n")
        stream.write(_encoded("".join(lines)))

    return write


def _csv_writer(stream: BinaryIO, columns: Columns, delimiter: str, between: str) -> Write:
    buffer = io.StringIO()
    plain = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    # Before Python 3.13 the module leaves a lone carriage return unquoted.
    careful = csv.writer(buffer, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    names = [columns.text, *columns.label_names, *([] if columns.id is None else [columns.id])]
    plain.writerow(names)

    def write(batch: Sequence[Record]) -> None:
        for record in batch:
            row = [record.text]
            if columns.labels is not None:
                row.append(_joined(record.labels, between))
            if columns.id is not None:
                row.append(record.id or "")
            try:
                (careful if any("\r" in cell for cell in row) else plain).writerow(row)
            except csv.Error as error:  # U+0000, before Python 3.11
                raise _not_for_tables(row, error) from error
        stream.write(_encoded(buffer.getvalue()))
        buffer.seek(0)
        buffer.truncate()

    write(())  # the header, even if no record follows
    return write


def _joined(labels: tuple[str, ...], between: str) -> str:
    if any(between in label or label.startswith("[") for label in labels):
        return json.dumps(labels, ensure_ascii=False)
    return between.join(labels)


@contextmanager
def _parquet_writer(stream: BinaryIO, columns: Columns) -> Iterator[Write]:
    import pyarrow as pa
    from pyarrow import parquet

    fields = [(columns.text, pa.string())]
    if isinstance(columns.labels, str):
        fields.append((columns.labels, pa.list_(pa.string())))
    if columns.id is not None:
        fields.append((columns.id, pa.string()))
    schema = pa.schema(fields)

    waiting: list[Record] = []
    characters = 0

    with parquet.ParquetWriter(stream, schema) as writer:

        def flush() -> None:
            try:
                batch = pa.RecordBatch.from_pydict(_by_column(waiting, columns), schema=schema)
            except UnicodeEncodeError as error:
                raise _lone_surrogate(error) from error
            writer.write_batch(batch)
            waiting.clear()

        def write(batch: Sequence[Record]) -> None:
            nonlocal characters
            for record in batch:
                waiting.append(record)
                characters += len(record.text)
                if len(waiting) >= GROUP_RECORDS or characters >= GROUP_CHARACTERS:
                    flush()
                    characters = 0

        yield write
        if waiting:
            flush()


def _by_column(records: Sequence[Record], columns: Columns) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {columns.text: [record.text for record in records]}
    if isinstance(columns.labels, str):
        table[columns.labels] = [list(record.labels) for record in records]
    if columns.id is not None:
        table[columns.id] = [record.id for record in records]
    return table


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _lone_surrogate(error) from error


def _not_for_tables(row: Sequence[str], error: csv.Error) -> RecordError:
    around = ascii(next((cell for cell in row if "\0" in cell), row[0])[:60])
    return RecordError(f"a table cannot hold this text ({error}): {around}; write JSONL or Parquet")


def _lone_surrogate(error: UnicodeEncodeError) -> RecordError:
    around = ascii(error.object[max(0, error.start - 30) : error.end + 30])
    return RecordError(f"a text has a lone surrogate, which no file can hold: {around}")
