"""What a label may be called, and the words that stand for it.

A label is an identifier ("credit_cards"); its words ("credit cards") are what a language model
reads. Words come from ``names.json`` where it has them and from the label itself otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "PATH_SEPARATOR",
    "ROOT",
    "LabelNames",
    "default_words",
    "fold_name",
    "name_fault",
    "quoted",
]

ROOT = "Root"
"""How files name the node above all labels; it is not a label itself."""

PATH_SEPARATOR = " > "
"""What stands between the labels of a written path: ``A > B > C``."""

_MAX_QUOTED = 100
_INVISIBLE = "\u200b\u2060\ufeff"
# Control characters, the two Unicode line separators, and surrogates that UTF-8 cannot hold.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def quoted(name: str) -> str:
    r"""The name in double quotes for a message, unprintable characters escaped.

    >>> print(quoted("tab\there"))
    "tab\there"
    """
    short = name if len(name) <= _MAX_QUOTED else name[: _MAX_QUOTED - 3] + "..."
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in short) + '"'


def name_fault(name: str) -> str | None:
    """What is wrong with a name, or None.

    >>> name_fault("A > B")
    'separator " > " inside the name "A > B"'
    """
    if not name.strip():
        return "empty name"
    found = _UNPRINTABLE.search(name)
    if found:
        kind = {"\t": "separator (tab)", "\n": "separator (line break)"}
        what = kind.get(found[0], f"unprintable character U+{ord(found[0]):04X}")
        return f"{what} inside the name {quoted(name)}"
    if name != name.strip() or name[0] in _INVISIBLE or name[-1] in _INVISIBLE:
        return f"padded name {quoted(name)}: remove the space around it"
    # With a space at both ends "A >" is caught too: "A > > B" could not be split again.
    if PATH_SEPARATOR in f" {name} ":
        return f'separator "{PATH_SEPARATOR}" inside the name {quoted(name)}'
    return None


def fold_name(name: str) -> str:
    """The name without case and Unicode form: equal for names that readers would confuse."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def default_words(label: str) -> str:
    """The label as words: underscores and hyphens become spaces.

    >>> default_words("credit_card-limit")
    'credit card limit'
    """
    return " ".join(label.replace("_", " ").replace("-", " ").split()) or label


class LabelNames(Mapping[str, str]):
    """Label -> words for every label; only words that differ from the default are stored."""

    def __init__(
        self, labels: Sequence[str], index: Mapping[str, int], own: Mapping[str, str]
    ) -> None:
        self._labels = labels
        self._index = index
        self.own = {
            label: own[label]
            for label in labels
            if label in own and own[label] != default_words(label)
        }

    def __getitem__(self, label: str) -> str:
        """The words of a label."""
        words = self.own.get(label)
        if words is not None:
            return words
        if label not in self._index:
            raise KeyError(label)
        return default_words(label)

    def __iter__(self) -> Iterator[str]:
        """The labels, in the order of their ids."""
        return iter(self._labels)

    def __len__(self) -> int:
        """The number of labels."""
        return len(self._labels)
