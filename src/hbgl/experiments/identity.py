"""Is what lies in a folder the result of this very run: the same settings, the same data?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from hbgl.corpora import CorpusFolder
from hbgl.errors import UsageError
from hbgl.settings import settings_from_json

__all__ = ["data_fingerprint", "differences"]


def data_fingerprint(corpus: CorpusFolder) -> dict[str, str]:
    """SHA-256 of every file of a corpus folder that a run reads, by its name."""
    files = [corpus.path / "taxonomy.tsv", corpus.path / "names.json", *corpus.splits.values()]
    found = {}
    for file in files:
        if file.is_file():
            with file.open("rb") as content:
                found[file.name] = _digest(content)
    return found


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not equal, a few words for each; a setting that did not exist counts as its default.

    >>> differences({"a": {"b": 1}}, {"a": {"b": 2}})
    ['a.b was 1, now 2']
    """
    return list(_differences(_with_new_fields(then), now, ""))


def _with_new_fields(then: Mapping[str, Any]) -> Mapping[str, Any]:
    if not then.get("settings"):
        return then
    try:
        return {**then, "settings": settings_from_json(then["settings"]).to_json()}
    except UsageError:
        return then


def _differences(then: Any, now: Any, name: str) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in sorted(then.keys() | now.keys()):
            inner = f"{name}.{key}" if name and name != "settings" else str(key)
            yield from _differences(then.get(key), now.get(key), inner)
    elif then != now:
        if name.startswith("data."):
            yield f"{name.removeprefix('data.')} has other content"
        else:
            yield f"{name} was {then}, now {now}"


def _digest(file: Any) -> str:
    found = hashlib.sha256()
    while piece := file.read(1 << 20):
        found.update(piece)
    return found.hexdigest()
