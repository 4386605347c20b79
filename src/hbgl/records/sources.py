"""Byte streams in and out: paths, standard input, compression, files that appear whole."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Literal, cast

from hbgl.errors import MissingExtraError, RecordError, UsageError

__all__ = [
    "DAMAGED",
    "FORMATS",
    "Compression",
    "Format",
    "Source",
    "atomic_output",
    "compressed_output",
    "damaged",
    "format_of",
    "open_source",
]

Format = Literal["jsonl", "csv", "tsv", "parquet"]
Compression = Literal["", "gz", "zst"]

FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}
MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}

# What reading a damaged or vanished stream raises.
DAMAGED = (OSError, EOFError, zlib.error)

BUFFER = 1 << 18
# One compressed block of zstd can hold 128 KiB in 4 bytes: small bites keep what one call of the
# decompressor can return (32 MiB at worst) bounded.
ZSTD_BITE = 1024
ZSTD_WINDOW = 1 << 27


@dataclass(frozen=True)
class Source:
    """An open stream of uncompressed bytes; ``path`` where it is an uncompressed file."""

    stream: BinaryIO
    name: str
    format: Format
    path: Path | None


def format_of(path: str | Path) -> tuple[Format, Compression]:
    """Format and compression that a file name promises: ``a.jsonl.gz`` -> jsonl, gz."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1], "") if suffixes else ""
    suffix = "".join((suffixes[:-1] if compression else suffixes)[-1:])
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(
            f"{path}: the format does not show in the name; name the format, or use one of {known} "
            "(each may end in .gz or .zst)"
        )
    return FORMATS[suffix], compression


@contextmanager
def open_source(source: str | Path | BinaryIO, named: Format | None) -> Iterator[Source]:
    """Open a path, ``-`` (standard input) or a binary stream, and take its compression away."""
    with ExitStack() as stack:
        promised: Compression = ""
        path = None
        if isinstance(source, (str, Path)) and str(source) != "-":
            name, path = str(source), Path(source)
            promised = COMPRESSIONS.get(path.suffix.lower(), "")
            named = named or format_of(path)[0]
            buffered = stack.enter_context(_open_file(path))
        else:
            name, buffered = _open_stream(source, stack)
        try:
            head = buffered.peek(4)
        except DAMAGED as error:
            raise RecordError(f"{name}: cannot be read: {error}") from error
        found = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")
        if promised and found != promised:
            raise RecordError(f"{name}: named .{promised}, but its content is not {promised} data")
        stream = _decompressed(buffered, cast(Compression, found))
        yield Source(stream, name, named or _format_inside(stream, name), None if found else path)


def _format_inside(stream: io.BufferedReader, name: str) -> Format:
    """What a stream without a name holds: Parquet says so, anything else is taken as JSONL."""
    try:
        return "parquet" if stream.peek(4).startswith(b"PAR1") else "jsonl"
    except DAMAGED as error:
        raise damaged(name, 0, error) from error


def damaged(name: str, records: int, error: Exception) -> RecordError:
    """What to raise where reading a stream raised one of ``DAMAGED``."""
    return RecordError(f"{name}: damaged after {records:,} records: {error}; get the file again")


def _open_file(path: Path) -> io.BufferedReader:
    try:
        return cast(io.BufferedReader, path.open("rb", buffering=BUFFER))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordError(f"{path}: cannot be opened: {reason}") from error


def _open_stream(source: str | Path | BinaryIO, stack: ExitStack) -> tuple[str, io.BufferedReader]:
    if isinstance(source, (str, Path)):
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file")
        return "standard input", cast(io.BufferedReader, sys.stdin.buffer)
    name = getattr(source, "name", None)
    name = name if isinstance(name, str) else "stream"
    if getattr(source, "closed", False):
        raise UsageError(f"{name}: the stream is closed")
    if isinstance(source, io.BufferedReader):
        return name, source
    if not (hasattr(source, "readable") and hasattr(source, "readinto")):
        raise UsageError(f"{name}: not a binary stream; open the file in mode 'rb'")
    buffered = io.BufferedReader(cast(Any, source), BUFFER)
    # Detached, so that the caller's stream is not closed with the buffer.
    stack.callback(_detach, buffered)
    return name, buffered


def _detach(buffered: io.BufferedReader) -> None:
    with suppress(ValueError):  # the caller has closed the stream in the meantime
        buffered.detach()


def _decompressed(stream: io.BufferedReader, compression: Compression) -> io.BufferedReader:
    if compression == "gz":
        return io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=stream, mode="rb")), BUFFER)
    if compression == "zst":
        return io.BufferedReader(_ZstdStream(stream), BUFFER)
    return stream


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError("reading and writing .zst", "zstandard", "zstd") from error
    return zstandard


class _ZstdStream(io.RawIOBase):
    """Frames of zstd; unlike the library's own reader it notices a file that ends early."""

    def __init__(self, stream: BinaryIO) -> None:
        self._library = _zstandard()
        self._stream = stream
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._output:
            if not self._input:
                self._input = self._stream.read(ZSTD_BITE)
            if not self._input:
                if self._frame is not None:
                    raise EOFError("the zstd data ends early")
                return 0
            self._decompress()
        size = min(len(buffer), len(self._output))
        buffer[:size] = self._output[:size]
        self._output = self._output[size:]
        return size

    def _decompress(self) -> None:
        if self._frame is None:
            library = self._library.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
            self._frame = library.decompressobj()
        try:
            self._output = memoryview(self._frame.decompress(self._input))
        except self._library.ZstdError as error:
            raise OSError(f"damaged zstd data: {error}") from error
        self._input = b""
        if self._frame.eof:
            self._input = self._frame.unused_data
            self._frame = None


@contextmanager
def atomic_output(path: str | Path) -> Iterator[BinaryIO]:
    """A file written beside ``path`` and renamed onto it; nothing is left where writing fails."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        stream = beside.open("xb", buffering=BUFFER)
    except OSError as error:
        raise RecordError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def compressed_output(stream: BinaryIO, compression: Compression) -> Iterator[BinaryIO]:
    """A stream that compresses into another; the same content gives the same bytes."""
    if compression == "gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif compression == "zst":
        compressor = _zstandard().ZstdCompressor()
        with compressor.stream_writer(stream, closefd=False) as packed:
            yield packed
    else:
        yield stream
