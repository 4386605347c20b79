"""The texts of `hbgl predict`: records of a file or of standard input, or plain lines."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal, cast

from hbgl.records import Columns, Record, SkippedRecords, read_records
from hbgl.records.sources import format_of

__all__ = ["InputFormat", "TextSource"]

InputFormat = Literal["text", "jsonl", "csv", "tsv", "parquet"]

_BOM = "\ufeff"
_PACKED = (b"{", b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # JSON, Parquet, gzip, zstd


@dataclass(frozen=True, slots=True)
class TextSource:
    """Where texts come from and how they are read."""

    file: str
    """``-``: standard input"""
    format: InputFormat | None
    """None: by the file's name, by the first bytes of standard input"""
    text_column: str
    id_column: str

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "standard input" if self.file == "-" else self.file

    def check(self) -> None:
        """Refuse at once a name that does not tell a format, and impossible columns."""
        self._columns()
        if self.file != "-" and self.format is None and not self.file.endswith(".txt"):
            format_of(self.file)

    def waits(self) -> bool:
        """Whether somebody may be waiting for an answer before writing the next text."""
        if self.file != "-":
            return False
        try:
            return not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
        except (OSError, ValueError):  # not a file of the system
            return True

    def records(self, skipped: SkippedRecords | None) -> Iterator[Record]:
        """The texts, as a stream; bad records go to ``skipped``, without it they are errors."""
        kind = self.format or self._guessed_format()
        if kind != "text":
            yield from read_records(
                self.file,
                format=kind,
                columns=self._columns(),
                on_error="fail" if skipped is None else "skip",
                skipped=skipped,
            )
        elif self.file == "-":
            yield from _lines(sys.stdin.buffer)
        else:
            with Path(self.file).open("rb") as stream:
                yield from _lines(stream)

    def _columns(self) -> Columns:
        return Columns(text=self.text_column, labels=None, id=self.id_column)

    def _guessed_format(self) -> InputFormat | None:
        """Plain lines for .txt, and for a standard input that does not begin like a format."""
        if self.file != "-":
            return "text" if self.file.endswith(".txt") else None
        head = cast(BufferedReader, sys.stdin.buffer).peek(4)
        return None if head.removeprefix(_BOM.encode()).lstrip().startswith(_PACKED) else "text"


def _lines(stream: BinaryIO) -> Iterator[Record]:
    """One record per line that is not blank; broken UTF-8 becomes replacement characters."""
    from hbgl.prediction import text_records

    for record in text_records(stream):
        if record.line == 1 and record.text.startswith(_BOM):
            record = Record(record.text.removeprefix(_BOM), line=1)
        if record.text and not record.text.isspace():
            yield record
