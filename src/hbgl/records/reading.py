"""``read_records``: any file of documents as a stream of records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from hbgl.errors import Fault, RecordError, UsageError
from hbgl.records.faults import BadRecordError, ReadSummary, SkippedRecords
from hbgl.records.fields import FieldReader
from hbgl.records.labels import DELIMITER, SEPARATOR, LabelReader
from hbgl.records.lines import Row, json_rows
from hbgl.records.record import Columns, Record
from hbgl.records.sources import DAMAGED, Format, Source, damaged, open_source
from hbgl.records.tables import csv_rows, parquet_rows
from hbgl.taxonomy import Repeated, Taxonomy

__all__ = ["MAX_LINE_BYTES", "RecordReader", "infer_taxonomy", "read_records"]

MAX_LINE_BYTES = 64 * 1024 * 1024

_log = logging.getLogger(__name__)


class RecordReader(Iterator[Record]):
    """The records of one source; ``summary`` tells at any time what was read and skipped."""

    def __init__(
        self, rows: Iterator[Record], summary: ReadSummary, skipped: SkippedRecords | None
    ) -> None:
        self.summary = summary
        self.skipped = skipped
        self._records = rows

    def __iter__(self) -> Iterator[Record]:
        # The generator itself, so that a loop does not pass through __next__ below.
        return self._records

    def __next__(self) -> Record:
        return next(self._records)


def read_records(
    source: str | Path | BinaryIO,
    *,
    taxonomy: Taxonomy | None = None,
    format: Format | None = None,  # noqa: A002 (the word that users look for)
    columns: Columns | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    skipped: SkippedRecords | None = None,
    require_labels: bool = False,
    label_delimiter: str = DELIMITER,
    path_separator: str = SEPARATOR,
    max_line_bytes: int = MAX_LINE_BYTES,
    quoted: bool = True,
) -> RecordReader:
    """Stream the records of a file in constant memory.

    Args:
        source: a path, ``-`` for standard input, or a binary stream; gzip and zstd are seen by
            their first bytes.
        taxonomy: checks the labels and adds their ancestors.
        format: jsonl, csv, tsv or parquet; by default the file name tells, and for a stream the
            content (Parquet or JSONL).
        columns: the names of the fields; by default ``text``, ``labels`` and ``id``, or those of
            the older JSON (``token``/``label``, ``doc_token``/``doc_label``).
        on_error: ``fail`` raises ``RecordError`` at the first bad record; ``skip`` goes on.
        skipped: takes what is skipped; without it, a warning is logged at the end.
        require_labels: whether a document without labels is a bad record.
        label_delimiter: between the labels of a string.
        path_separator: between the labels of a path.
        max_line_bytes: longer lines are bad records and are never held in memory.
        quoted: whether cells of CSV and TSV may stand in quotes.
    """
    _check_on_error(on_error)
    if not label_delimiter or not path_separator or max_line_bytes < 1:
        raise UsageError("a delimiter is empty or the line limit is not positive")
    summary = ReadSummary()
    labels = LabelReader(taxonomy, delimiter=label_delimiter, separator=path_separator)
    fields = FieldReader(labels, columns, require_labels=require_labels)

    def records() -> Iterator[Record]:
        with open_source(source, format) as opened:
            rows = _rows(opened, columns, max_line_bytes, quoted=quoted)
            try:
                yield from _records(rows, fields, opened.name, on_error, skipped, summary)
            except DAMAGED as error:
                raise damaged(opened.name, summary.read + summary.skipped, error) from error
            finally:
                _settle(summary, skipped, opened.name)

    return RecordReader(records(), summary, skipped)


def _check_on_error(on_error: str) -> None:
    if on_error not in ("fail", "skip"):
        raise UsageError(f'on_error is "fail" or "skip", not "{on_error}"')


def _rows(source: Source, columns: Columns | None, limit: int, *, quoted: bool) -> Iterator[Row]:
    if source.format == "jsonl":
        return json_rows(source.stream, limit)
    if source.format == "parquet":
        return parquet_rows(source, limit, columns)
    return csv_rows(source, limit, columns, quoted=quoted)


def _records(
    rows: Iterator[Row],
    reader: FieldReader,
    name: str,
    on_error: str,
    skipped: SkippedRecords | None,
    summary: ReadSummary,
) -> Iterator[Record]:
    build = reader.record
    for line, fields, raw, size in rows:
        try:
            if isinstance(fields, BadRecordError):
                raise fields
            record = build(fields, line)
        except BadRecordError as error:
            fault = Fault(str(error), name, line)
            if on_error == "fail":
                raise _refused(fault) from error
            summary.skipped += 1
            summary.by_reason[error.reason] += 1
            if skipped is not None:
                skipped.add(fault, error.reason, raw, size)
            continue
        summary.read += 1
        yield record


def _refused(fault: Fault) -> RecordError:
    return RecordError("a record cannot be used; correct it, or skip such records", [fault])


def _settle(summary: ReadSummary, skipped: SkippedRecords | None, name: str) -> None:
    """Hand the counts over at the end, so that nothing is lost in silence."""
    if skipped is not None:
        skipped.summary.add(summary)
    elif summary.skipped:
        _log.warning("%s: %s", name, summary)


def infer_taxonomy(
    source: str | Path | BinaryIO,
    *,
    format: Format | None = None,  # noqa: A002 (the word that users look for)
    columns: Columns | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    label_delimiter: str = DELIMITER,
    path_separator: str = SEPARATOR,
    max_line_bytes: int = MAX_LINE_BYTES,
    quoted: bool = True,
    repeated: Repeated = "join",
) -> Taxonomy:
    """The taxonomy that the label paths of a file form.

    ``repeated`` says what a name under two paths is: one label with two parents (``join``), or
    two labels named apart (``qualify``). The other options are those of `read_records`; records
    that are skipped here are for a later reading to report, which refuses them as well.
    """
    _check_on_error(on_error)
    labels = LabelReader(delimiter=label_delimiter, separator=path_separator)
    paths: dict[tuple[str, ...], None] = {}

    def note(found: list[tuple[str, ...]]) -> tuple[str, ...]:
        paths.update(dict.fromkeys(found))
        return ()

    with open_source(source, format) as opened:
        reader = FieldReader(labels, columns)
        count = 0
        try:
            for line, fields, _, _ in _rows(opened, columns, max_line_bytes, quoted=quoted):
                count += 1
                try:
                    if isinstance(fields, BadRecordError):
                        raise fields
                    reader.read_labels(
                        fields,
                        reader.layout(fields),
                        lambda value: note(labels.paths(value)),
                        lambda cells: note(labels.level_paths(cells)),
                    )
                except BadRecordError as error:
                    if on_error == "fail":
                        raise _refused(Fault(str(error), opened.name, line)) from error
        except DAMAGED as error:
            raise damaged(opened.name, count, error) from error
        if not paths:
            raise RecordError(
                f"{opened.name}: no labels, so no taxonomy can be read from them; name the column "
                "that holds the labels"
            )
        if not any(len(path) > 1 for path in paths):
            raise RecordError(
                f"{opened.name}: its labels are no paths, so no taxonomy can be read from them; "
                f'give a taxonomy, or labels such as "A{path_separator}B"'
            )
    return Taxonomy.from_paths(paths, repeated=repeated)
