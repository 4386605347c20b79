"""Documents with labels: read from JSONL, CSV, TSV and Parquet as a stream, and written back.

Reading order: ``record`` (what a document is), ``sources`` (bytes, compression), ``lines`` and
``tables`` (rows of each format), ``labels`` (from what a file says to a closed label set),
``fields`` (from a row to a record), ``faults`` (what is done with bad records), ``reading`` and
``writing`` (the two entry points).
"""

from __future__ import annotations

from hbgl.records.faults import ReadSummary, SkippedRecords
from hbgl.records.reading import RecordReader, infer_taxonomy, read_records
from hbgl.records.record import Columns, Record
from hbgl.records.writing import write_records

__all__ = [
    "Columns",
    "ReadSummary",
    "Record",
    "RecordReader",
    "SkippedRecords",
    "infer_taxonomy",
    "read_records",
    "write_records",
]
