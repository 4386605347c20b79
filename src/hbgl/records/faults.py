"""Bad records: counted by reason, kept in a side file, never dropped in silence."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from hbgl.errors import Fault
from hbgl.records.sources import atomic_output

__all__ = ["BadRecordError", "ReadSummary", "SkippedRecords", "check_encodable"]

RAW_KEPT = 64 * 1024  # bytes of an oversize line that the side file keeps


class BadRecordError(Exception):
    """One record that cannot be used; becomes a ``RecordError`` or a line of the side file."""

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason


def check_encodable(text: str, name: str) -> None:
    """Refuse lone surrogates: half of a character, which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise BadRecordError(
            "broken Unicode",
            f"broken Unicode: {name} has a lone surrogate U+{code:04X} at position {error.start}",
        ) from error


@dataclass
class ReadSummary:
    """How many records were read, how many were skipped, and why."""

    read: int = 0
    skipped: int = 0
    by_reason: Counter[str] = field(default_factory=Counter)

    def add(self, other: ReadSummary) -> None:
        """Count another file's records in."""
        self.read += other.read
        self.skipped += other.skipped
        self.by_reason.update(other.by_reason)

    def __str__(self) -> str:
        text = f"read {self.read:,} records, skipped {self.skipped:,}"
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.by_reason.most_common())
        return f"{text} ({reasons})" if reasons else text


class SkippedRecords:
    """Takes the records that a reader skips.

    With a path, each becomes one JSON line there: ``file``, ``line``, ``reason``, ``message`` and
    the raw line (``raw``; ``raw_base64`` where it is no UTF-8; ``bytes`` where only its beginning
    is kept). The file appears when the object is closed, and only if something was skipped.

        with SkippedRecords("bad.jsonl") as skipped:
            for record in read_records("all.jsonl", on_error="skip", skipped=skipped):
                ...
        print(skipped.summary)
    """

    def __init__(self, path: str | Path | None = None, *, keep: int = 1000) -> None:
        self.path = None if path is None else Path(path)
        self.faults: list[Fault] = []  # the first ``keep`` of them
        self.summary = ReadSummary()
        self._keep = keep
        self._output: BinaryIO | None = None
        self._open = ExitStack()

    def add(
        self, fault: Fault, reason: str, raw: bytes | Mapping[str, object], size: int = 0
    ) -> None:
        """Take one record; ``size`` is its true size in bytes where ``raw`` is cut off."""
        if len(self.faults) < self._keep:
            self.faults.append(fault)
        if self.path is None:
            return
        if self._output is None:
            self._output = self._open.enter_context(atomic_output(self.path))
        entry: dict[str, object] = {
            "file": fault.file,
            "line": fault.line,
            "reason": reason,
            "message": fault.message,
            **_raw_fields(raw, size),
        }
        self._output.write(json.dumps(entry).encode("ascii") + b"\n")

    def close(self) -> None:
        """Put the side file in its place."""
        self._output = None
        self._open.close()

    def __enter__(self) -> SkippedRecords:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The side file is wanted above all when the run failed, so it is kept in any case.
        self.close()


def _raw_fields(raw: bytes | Mapping[str, object], size: int) -> dict[str, object]:
    """The raw record as JSON fields, without loss up to the size that is kept."""
    if not isinstance(raw, bytes):
        return {"raw": json.dumps(raw, default=str)}
    size = max(size, len(raw))
    kept = raw if size == len(raw) else raw[:RAW_KEPT]
    fields: dict[str, object]
    try:
        fields = {"raw": kept.decode("utf-8").rstrip("\r\n")}
    except UnicodeDecodeError:
        fields = {"raw_base64": base64.b64encode(kept).decode("ascii")}
    return fields if len(kept) == size else {**fields, "bytes": size}
