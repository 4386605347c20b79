"""Bytes and lines of a source file, with broken text turned into faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hbgl.errors import Fault, TaxonomyError
from hbgl.taxonomy.draft import Draft

__all__ = ["decode_text", "read_lines", "read_source"]

_BOM = b"\xef\xbb\xbf"


def read_source(path: Path) -> bytes:
    """The bytes of a file without a UTF-8 byte order mark; a clear error where it cannot be."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TaxonomyError(f"cannot read the taxonomy {path}: {reason}") from error
    return content.removeprefix(_BOM)


def decode_text(content: bytes, file: str | None) -> str:
    """The text of UTF-8 bytes; the line of the first broken one is named."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fault = Fault(_broken(content, error), file, line)
        raise TaxonomyError("the text is not UTF-8", [fault]) from error


def read_lines(content: bytes, draft: Draft) -> Iterator[tuple[int, str]]:
    r"""Number and text of each line that is not blank, ended by ``\n`` or ``\r\n``.

    A line that is not UTF-8 becomes a fault of the draft.
    """
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            text = line.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError as error:
            draft.fault(_broken(content, error), number)
            continue
        if text.strip():
            yield number, text


def _broken(content: bytes, error: UnicodeDecodeError) -> str:
    byte = error.object[error.start]
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    kind = "it is UTF-16" if wide else f"broken UTF-8 (byte 0x{byte:02X})"
    return f"{kind}; save the file as UTF-8"
