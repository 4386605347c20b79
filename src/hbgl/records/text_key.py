"""When two texts count as the same: without case, space and punctuation."""

from __future__ import annotations

import re
import string
import unicodedata
from hashlib import blake2b

__all__ = ["text_key"]

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_ASCII_MARKS = (string.punctuation + string.whitespace + "\x00").encode("ascii")


def text_key(text: str) -> bytes:
    """Eight bytes that two texts share iff they differ only in case, space and punctuation.

    >>> text_key("Hello, World!") == text_key("hello world")
    True
    """
    if text.isascii():
        letters = text.lower().encode("ascii").translate(None, _ASCII_MARKS)
    else:
        folded = unicodedata.normalize("NFKC", text).casefold()
        mostly = folded.encode("utf-8").translate(None, _ASCII_MARKS).decode("utf-8")
        letters = _NOT_ASCII.sub(lambda run: run[0].translate(_letters), mostly).encode("utf-8")
    # A text of nothing but punctuation is compared as it is.
    return blake2b(letters or text.strip().encode("utf-8"), digest_size=8).digest()


class _Letters(dict[int, int | None]):
    """A table for ``str.translate`` that drops punctuation, space and control characters."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code))[0] in "PZC" else code
        return self[code]


_letters = _Letters()
