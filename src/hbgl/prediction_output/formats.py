"""Prediction records as bytes: JSONL, CSV and TSV row by row, Parquet batch by batch.

Tables have one column per field: labels and paths delimited as in corpora (a JSON list where one
holds the delimiter), probabilities as a JSON object. Parquet has lists and a map instead.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from hbgl.records.labels import DELIMITER
from hbgl.records.sources import Format, compressed_output, format_of

__all__ = ["Encode", "check_format", "convert", "encoder", "json_line"]

Encode = Callable[[Mapping[str, Any]], bytes]

COLUMNS = ("id", "line", "labels", "paths", "path_probabilities", "probabilities", "error")
_BATCH = 4096  # records of a Parquet row group

_encode_json = json.JSONEncoder(ensure_ascii=False).encode


def json_line(record: Mapping[str, Any]) -> bytes:
    """One record and a line break; a lone surrogate becomes an escape."""
    return _encode_json(record).encode("utf-8", "backslashreplace") + b"\n"


def encoder(format: Format) -> tuple[bytes, Encode]:  # noqa: A002 (the word that users look for)
    """The bytes before the first record, and the function that encodes one."""
    if format == "jsonl":
        return b"", json_line
    delimiter = "\t" if format == "tsv" else ","
    return _table_row(COLUMNS, delimiter), lambda record: _table_row(_cells(record), delimiter)


def convert(records: Iterable[Mapping[str, Any]], out: Path, stream: BinaryIO) -> None:
    """Write all records in the format and compression that the name ``out`` promises."""
    format, compression = format_of(out)  # noqa: A001
    with compressed_output(stream, compression) as packed:
        if format == "parquet":
            _write_parquet(records, packed)
            return
        before, encode = encoder(format)
        packed.write(before)
        for record in records:
            packed.write(encode(record))


def check_format(out: Path) -> None:
    """Refuse at the start what could not be written at the end."""
    compression = format_of(out)[1]
    with compressed_output(io.BytesIO(), compression):
        pass


def _cells(record: Mapping[str, Any]) -> list[str]:
    probabilities = record.get("probabilities")
    return [
        record.get("id", ""),
        str(record.get("line", "")),
        _joined(record["labels"]),
        _joined(record["paths"]),
        _joined([str(value) for value in record.get("path_probabilities", ())]),
        "" if probabilities is None else _encode_json(probabilities),
        record.get("error", ""),
    ]


def _joined(parts: Sequence[str]) -> str:
    if any(DELIMITER in part or part.startswith("[") for part in parts):
        return _encode_json(list(parts))
    return DELIMITER.join(parts)


def _table_row(cells: Sequence[str], delimiter: str) -> bytes:
    buffer = io.StringIO()
    table = csv.writer(
        buffer,
        delimiter=delimiter,
        lineterminator="\n",
        # Before Python 3.13 the module leaves a lone carriage return unquoted.
        quoting=csv.QUOTE_ALL if any("\r" in cell for cell in cells) else csv.QUOTE_MINIMAL,
    )
    table.writerow(cells)
    return buffer.getvalue().encode("utf-8", "backslashreplace")


def _write_parquet(records: Iterable[Mapping[str, Any]], stream: BinaryIO) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    strings = pa.list_(pa.string())
    types = (
        pa.string(),
        pa.int64(),
        strings,
        strings,
        pa.list_(pa.float64()),
        pa.map_(pa.string(), pa.float64()),
        pa.string(),
    )
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    with parquet.ParquetWriter(stream, schema) as writer:
        for batch in _batches(records):
            columns = {name: [_value(record, name) for record in batch] for name in COLUMNS}
            writer.write_batch(pa.RecordBatch.from_pydict(columns, schema=schema))


def _value(record: Mapping[str, Any], name: str) -> object:
    value = record.get(name)
    if name == "probabilities" and value is not None:
        return [(_clean(label), number) for label, number in value.items()]
    return [_clean(part) for part in value] if isinstance(value, list) else _clean(value)


def _clean(value: Any) -> object:
    """Arrow's strings are UTF-8: escape what is not."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _batches(records: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(records)
    while batch := list(islice(iterator, _BATCH)):
        yield batch
