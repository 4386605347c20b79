"""Lines of a byte stream, never more of one in memory than the limit, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from hbgl.records.faults import RAW_KEPT, BadRecordError

__all__ = ["BOM", "Row", "json_rows", "oversize", "read_lines"]

BOM = b"\xef\xbb\xbf"

# Where the row stands, its fields or what is wrong with it, the raw bytes (or fields, where the
# format has no lines), and its true size if the raw bytes are cut off.
Row = tuple[int, "dict[str, Any] | BadRecordError", "bytes | dict[str, Any]", int]


def read_lines(stream: BinaryIO, limit: int) -> Iterator[tuple[int, bytes, int]]:
    """Number, bytes and excess of each line.

    The excess is 0; for a line of more than ``limit`` bytes it is the whole size of the line, of
    which only the beginning is given.
    """
    number = 0
    readline = stream.readline
    while raw := readline(limit + 1):
        number += 1
        if len(raw) > limit and not raw.endswith(b"\n"):
            size, kept = len(raw), raw[:RAW_KEPT]
            while raw and not raw.endswith(b"\n"):
                raw = readline(RAW_KEPT)
                size += len(raw)
            yield number, kept, size
        elif number == 1 and raw.startswith(BOM):
            yield number, raw[len(BOM) :], 0
        else:
            yield number, raw, 0


def json_rows(stream: BinaryIO, limit: int) -> Iterator[Row]:
    """The objects of a JSONL stream; blank lines hold nothing and are passed over."""
    parse = json.JSONDecoder().decode
    for number, raw, size in read_lines(stream, limit):
        if size:
            yield number, oversize(size, limit), raw, size
            continue
        try:
            fields = parse(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield number, _broken_utf8(error), raw, 0
        except (ValueError, RecursionError) as error:
            if raw.strip():
                yield number, BadRecordError("broken JSON", f"broken JSON: {error}"), raw, 0
        else:
            if isinstance(fields, dict):
                yield number, fields, raw, 0
            else:
                kind = type(fields).__name__
                message = f"wrong type: a line must be a JSON object, not {kind}"
                yield number, BadRecordError("wrong type", message), raw, 0


def oversize(size: int, limit: int) -> BadRecordError:
    """The fault of a line that is too long."""
    return BadRecordError(
        "oversize line",
        f"oversize line: {size:,} bytes, the limit is {limit:,}; raise it if this is one document",
    )


def _broken_utf8(error: UnicodeDecodeError) -> BadRecordError:
    byte = error.object[error.start]
    return BadRecordError(
        "broken UTF-8",
        f"broken UTF-8: byte 0x{byte:02x} at position {error.start}; save the file as UTF-8",
    )
