"""Equal texts kept once: compared without case, white space and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Document", "text_key", "without_duplicates"]

_NOT_WORD = re.compile(r"[\W_]+")


class Document(NamedTuple):
    """One document on its way into a split."""

    split: str
    text: str
    labels: tuple[str, ...]
    identifier: str | None = None


def text_key(text: str) -> str:
    """Return what is left of a text without case, white space, punctuation and Unicode form.

    >>> text_key("What's  my balance?") == text_key("whats my balance")
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_WORD.sub("", folded)


def without_duplicates(
    documents: Iterable[Document],
) -> tuple[list[Document], dict[str, int]]:
    """Keep each text once, in test before dev before train; the order stays.

    Returns:
        The documents kept, and how many each split lost.
    """
    listed: Sequence[Document] = list(documents)
    seen: set[str] = set()
    kept: set[int] = set()
    lost: dict[str, int] = {}
    for split in ("test", "dev", "train"):
        for place, document in enumerate(listed):
            if document.split != split:
                continue
            key = text_key(document.text)
            if key and key in seen:
                lost[split] = lost.get(split, 0) + 1
            else:
                seen.add(key)
                kept.add(place)
    return [listed[place] for place in sorted(kept)], lost
