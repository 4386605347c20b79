"""Equal texts kept once: compared without case, white space and punctuation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hbgl.records.text_key import text_key

__all__ = ["Document", "without_duplicates"]


class Document(NamedTuple):
    """One document on its way into a split."""

    split: str
    text: str
    labels: tuple[str, ...]
    identifier: str | None = None


def without_duplicates(
    documents: Iterable[Document],
) -> tuple[list[Document], dict[str, int]]:
    """Keep each text once, in test before dev before train; the order stays.

    Returns:
        The documents kept, and how many each split lost.
    """
    listed: Sequence[Document] = list(documents)
    seen: set[bytes] = set()
    kept: set[int] = set()
    lost: dict[str, int] = {}
    for split in ("test", "dev", "train"):
        for place, document in enumerate(listed):
            if document.split != split:
                continue
            key = text_key(document.text)
            if key in seen:
                lost[split] = lost.get(split, 0) + 1
            else:
                seen.add(key)
                kept.add(place)
    return [listed[place] for place in sorted(kept)], lost
