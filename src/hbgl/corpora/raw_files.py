"""Reading raw distributions: files and archives as streams, XML without surprises.

Archives are never unpacked to disk: members are read one at a time, each with a size limit.
XML is parsed by expat with entity declarations refused and external references never fetched.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from html.entities import html5
from pathlib import Path
from typing import IO, cast
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from hbgl.errors import CorpusError, Fault

__all__ = [
    "archive_members",
    "expand",
    "normalize_space",
    "parse_xml",
    "read_id_list",
    "read_lines",
]

MEMBER_LIMIT = 64 << 20  # bytes; the largest news items have some hundred kilobytes
NESTING_LIMIT = 3
TAR_END = 1024  # bytes of zeros that close a tar archive
TAR_SUFFIXES = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError)


def expand(raw: Sequence[Path]) -> list[Path]:
    """List files, those of folders in sorted order; hidden files are left out.

    Raises:
        CorpusError: something does not exist.
    """
    files: list[Path] = []
    missing = [path for path in raw if not path.exists()]
    if missing:
        raise CorpusError("not found: " + ", ".join(str(path) for path in missing))
    for path in raw:
        if path.is_dir():
            found = (file for file in sorted(path.rglob("*")) if file.is_file())
            files += [
                file
                for file in found
                if not any(part.startswith(".") for part in file.relative_to(path).parts)
            ]
        else:
            files.append(path)
    return files


def archive_members(path: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Yield (place, content) of each member of a zip or tar archive whose name has the suffix.

    Tar archives inside tar archives are followed. A plain file with the suffix is one member.

    Raises:
        CorpusError: the archive is damaged or a member is too large.
    """
    name = path.name.lower()
    try:
        if name.endswith(suffix):
            with path.open("rb") as stream:
                yield str(path), _bounded(stream, str(path))
        elif name.endswith(".zip"):
            yield from _zip_members(path, suffix)
        elif name.endswith(TAR_SUFFIXES):
            with path.open("rb") as stream:
                yield from _tar_members(stream, str(path), suffix, NESTING_LIMIT)
    except _DAMAGED as error:
        raise CorpusError(f"{path}: damaged or unreadable archive ({error})") from error


def parse_xml(content: bytes, place: str) -> Element:
    """Parse one XML document; entity declarations are refused, the DTD is not read.

    Character entities of HTML that only an unread DTD would declare are resolved.

    Raises:
        CorpusError: not well-formed, or it declares entities.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(name: str, *_: object) -> None:
        raise CorpusError(f"{place}: declares the entity {name!r}; such files are refused")

    def skipped(name: str, is_parameter: bool) -> None:
        if not is_parameter:
            builder.data(html5.get(name + ";", " "))

    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    parser.SkippedEntityHandler = skipped
    try:
        parser.Parse(content, True)
        return builder.close()
    except expat.ExpatError as error:
        fault = Fault(f"not well-formed XML: {expat.ErrorString(error.code)}", place, error.lineno)
        raise CorpusError("bad raw file", [fault]) from error
    except (LookupError, ValueError) as error:
        raise CorpusError(f"{place}: unreadable XML encoding ({error})") from error


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line without its end) of a text file, plain or gzipped.

    Raises:
        CorpusError: text that is not in the encoding, or a damaged file.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            packed = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            with io.TextIOWrapper(cast(IO[bytes], packed), encoding, newline="\n") as text:
                for number, line in enumerate(text, 1):
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        place = Fault(f"not {encoding} text ({error.reason})", str(path), number + 1)
        raise CorpusError("bad raw file", [place]) from error
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: damaged or unreadable ({error})") from error


def read_id_list(path: Path) -> list[str]:
    """Read document ids, one per line; of ``.I 2286`` and ``Nytimes/1987/0057880.xml`` the id.

    Token files of LYRL2004 (lines ``.I id``, ``.W``, tokens) are read for their ``.I`` lines.
    Leading zeros do not count: ``0057880`` is ``57880``.

    Raises:
        CorpusError: a line without an id, an id twice, or none at all.
    """
    ids: dict[str, int] = {}
    rows = [(number, line.strip()) for number, line in read_lines(path) if line.strip()]
    if any(row.startswith(".I") for _, row in rows):
        rows = [(number, row[2:].strip()) for number, row in rows if row.startswith(".I")]
    faults = []
    for number, row in rows:
        name = row.replace("\\", "/").rpartition("/")[2].partition(".")[0]
        identifier = name.lstrip("0") or name
        if not name.isalnum():
            faults.append(Fault(f"no document id in {row[:60]!r}", str(path), number))
        elif identifier in ids:
            first = ids[identifier]
            faults.append(Fault(f"{identifier} again, first in line {first}", str(path), number))
        ids.setdefault(identifier, number)
    if faults:
        raise CorpusError("faults in a list of document ids", faults[:20])
    if not ids:
        raise CorpusError(f"{path}: no document ids")
    return list(ids)


def normalize_space(text: str) -> str:
    """Join all runs of white space to one blank."""
    return " ".join(text.split())


def _zip_members(path: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.lower().endswith(suffix):
                place = f"{path}!{member.filename}"
                if member.flag_bits & 0x1:
                    raise CorpusError(f"{place}: encrypted; unpack it with its password first")
                with archive.open(member) as stream:
                    yield place, _bounded(stream, place)


def _tar_members(
    packed: io.BufferedReader, place: str, suffix: str, nesting: int
) -> Iterator[tuple[str, bytes]]:
    stream = _Tail(_decompressed(packed))
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            inner = f"{place}!{member.name}"
            if member.name.lower().endswith(suffix):
                yield inner, _bounded(content, inner)
            elif member.name.lower().endswith(TAR_SUFFIXES):
                if nesting <= 1:
                    raise CorpusError(f"{inner}: archives nested too deeply")
                reader = cast(io.BufferedReader, content)
                yield from _tar_members(reader, inner, suffix, nesting - 1)
    stream.require_end(place)


def _decompressed(packed: io.BufferedReader) -> IO[bytes]:
    head = packed.peek(6)
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=packed))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(packed)
    if head.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(packed)
    return packed


class _Tail:
    """A stream that remembers its end; tarfile takes a cut archive for a complete one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._tail = b""

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._tail = (self._tail + content[-TAR_END:])[-TAR_END:]
        return content

    def require_end(self, place: str) -> None:
        """Read on to the end, which checks the compression too; a tar file ends with zeros."""
        while self.read(1 << 16):
            pass
        if self._tail != bytes(TAR_END):
            raise CorpusError(f"{place}: damaged archive, it ends early; get the file again")


def _bounded(stream: IO[bytes], place: str) -> bytes:
    content = stream.read(MEMBER_LIMIT + 1)
    if len(content) > MEMBER_LIMIT:
        raise CorpusError(f"{place}: larger than {MEMBER_LIMIT >> 20} MiB, no such document exists")
    return content
