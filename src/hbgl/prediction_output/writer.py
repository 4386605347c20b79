"""Predictions into a file that appears when it is complete, or onto a stream.

    OUT.part        complete JSONL records so far, whatever the format of OUT
    OUT.part.json   what the run was; a resumed run must be the same

At the end OUT.part becomes OUT: renamed if that is JSONL, otherwise rewritten as a stream. A run
killed at any instant loses at most the record that was being written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from hbgl.durable_files import replace_file, sync_folder, try_lock
from hbgl.errors import HBGLError, UsageError
from hbgl.prediction_output.formats import check_format, convert, encoder, json_line
from hbgl.prediction_output.prediction import Prediction
from hbgl.prediction_output.run import PredictionRun
from hbgl.records.sources import Format, format_of

__all__ = ["PredictionStream", "PredictionWriter"]


class PredictionWriter:
    """Writes the predictions of one run, in the order in which they come.

    As a context manager it makes the output complete, unless an error ends the block; then the
    unfinished output stays and ``resume`` goes on from it.
    """

    def __init__(
        self, out: Path, run: PredictionRun, file: FileIO, written: int = 0, line: int = 0
    ) -> None:
        """Use ``create`` or ``resume`` instead."""
        self.out, self.run = out, run
        self.written = written
        """complete records so far: a resumed run skips as many input records"""
        self.last_line = line
        """the input line of the last record; 0 if there is none or it had no line"""
        self._file = file

    @classmethod
    def create(cls, out: Path, run: PredictionRun, *, overwrite: bool = False) -> PredictionWriter:
        """Begin an output.

        Args:
            out: The extension tells the format: .jsonl, .csv, .tsv, .parquet, also with .gz, .zst.
                A file of this name is replaced at the end.
            run: What the predictions depend on.
            overwrite: Throw an unfinished output away.

        Raises:
            UsageError: The extension is unknown, or there is an unfinished output.
            HBGLError: The place cannot be written.
        """
        _check_place(out, run)
        part = _part(out)
        with _writing(out):
            if part.exists():
                if not overwrite:
                    raise UsageError(
                        f"{part} is the unfinished output of an earlier run; "
                        "resume that run, or remove the file to begin anew"
                    )
                _lock(FileIO(part, "r+"), part).close()
                part.unlink()
            replace_file(_sidecar(out), run.to_bytes())
            return cls(out, run, _lock(FileIO(part, "x"), part))

    @classmethod
    def resume(cls, out: Path, run: PredictionRun) -> PredictionWriter:
        """Go on after the records that are complete, or begin when there are none.

        Raises:
            UsageError: The output is complete already, or belongs to another run.
            HBGLError: The place cannot be read or written.
        """
        _check_place(out, run)
        if run.input == "-":
            raise UsageError("standard input cannot be read again: resume needs an input file")
        part = _part(out)
        if not part.exists():
            if out.exists():
                raise UsageError(f"{out} is complete, nothing is left to resume")
            return cls.create(out, run)
        with _writing(out):
            file = _lock(FileIO(part, "r+"), part)
            try:
                run.check_same(_sidecar(out))
                written, size, line = _complete_records(part)
                file.truncate(size)
                file.seek(size)
            except BaseException:
                file.close()
                raise
            return cls(out, run, file, written, line)

    def write(self, prediction: Prediction) -> None:
        """Append one record; it survives the end of this process.

        Raises:
            HBGLError: The disk is full or the like; what was written before can be resumed.
        """
        with _writing(self.out):
            _write_all(self._file, json_line(prediction.to_json()))
        self.written += 1
        self.last_line = prediction.line

    def complete(self) -> None:
        """Make the output appear under its name and remove what was beside it."""
        part = _part(self.out)
        with _writing(self.out):
            os.fsync(self._file.fileno())
            if format_of(self.out) == ("jsonl", ""):
                part.replace(self.out)
            else:
                done = self.out.with_name(self.out.name + ".part.done")
                with done.open("wb") as stream:
                    convert(_records(part), self.out, stream)
                    stream.flush()
                    os.fsync(stream.fileno())
                done.replace(self.out)
                part.unlink()
            _sidecar(self.out).unlink(missing_ok=True)
            sync_folder(self.out.parent)
        self._file.close()

    def close(self) -> None:
        """Leave the output unfinished, to be resumed."""
        self._file.close()

    def __enter__(self) -> PredictionWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.complete()
        finally:
            self.close()


class PredictionStream:
    """Writes predictions to an open stream such as standard output, each at once."""

    def __init__(self, stream: BinaryIO, format: Format = "jsonl") -> None:  # noqa: A002
        if format == "parquet":
            raise UsageError("Parquet cannot be written to a stream; name an output file")
        before, self._encode = encoder(format)
        self._stream = stream
        self.written = 0
        self._put(before)

    def write(self, prediction: Prediction) -> None:
        """Write one record and flush it."""
        self._put(self._encode(prediction.to_json()))
        self.written += 1

    def _put(self, content: bytes) -> None:
        self._stream.write(content)
        self._stream.flush()

    def __enter__(self) -> PredictionStream:
        return self

    def __exit__(self, *_: object) -> None:
        """The stream stays open: it belongs to the caller."""


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """Turn failures of the disk into one message that names the output."""
    try:
        yield
    except OSError as error:
        raise HBGLError(
            f"cannot write {out}: {error.strerror or error}; what is complete stays in "
            f"{_part(out)}, resume after freeing space or changing the permissions"
        ) from error


def _check_place(out: Path, run: PredictionRun) -> None:
    check_format(out)
    if str(out.resolve()) == run.input:
        raise UsageError(f"{out} is the input; name another file for the output")
    if out.is_dir():
        raise UsageError(f"{out} is a folder; name a file")


def _part(out: Path) -> Path:
    return out.with_name(out.name + ".part")


def _sidecar(out: Path) -> Path:
    return out.with_name(out.name + ".part.json")


def _lock(file: FileIO, part: Path) -> FileIO:
    if try_lock(file.fileno()) is False:
        file.close()
        raise UsageError(f"{part} is being written by another process; wait for its end")
    return file


def _write_all(file: FileIO, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]


def _complete_records(part: Path) -> tuple[int, int, int]:
    """Number of records before the first torn or damaged line, their bytes, the last's line."""
    count = size = last = 0
    with part.open("rb") as lines:
        for line in lines:
            record = _record(line)
            if record is None:
                break
            count, size, last = count + 1, size + len(line), int(record.get("line", 0))
    return count, size, last


def _record(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _records(part: Path) -> Iterator[dict[str, Any]]:
    with part.open("rb") as lines:
        for line in lines:
            yield json.loads(line)
