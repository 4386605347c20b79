"""JSON and YAML taxonomies: nested in any of the usual shapes, and the flat one hbgl writes.

Nested::

    {"science": {"physics": ["optics", "acoustics"], "biology": null}, "sports": []}
    [{"name": "science", "children": [{"name": "physics"}]}, "sports"]

Flat, for several parents and any depth::

    {"format": "hbgl-taxonomy", "labels": [
     {"label": "science", "name": "the sciences"},
     {"label": "physics", "parents": ["science"]}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from hbgl.taxonomy.draft import NO_PARENT, Draft
from hbgl.taxonomy.located import Items, Pairs, Scalar, Value
from hbgl.taxonomy.names import quoted
from hbgl.taxonomy.paths import PathForest, Repeated
from hbgl.taxonomy.structure import Taxonomy

__all__ = ["json_text", "read_tree"]

_FLAT = "hbgl-taxonomy"


def json_text(taxonomy: Taxonomy) -> str:
    """The taxonomy as flat JSON, one label per line, by id."""
    return "\n".join(_json_lines(taxonomy)) + "\n"


def read_tree(top: Value, draft: Draft, *, repeated: Repeated = "join") -> None:
    """Read the tree of a JSON or YAML text."""
    if isinstance(top, Pairs):
        marker = top.get("format")
        if isinstance(marker, Scalar) and marker.text == _FLAT:
            _read_flat(top, draft)
            return
    if isinstance(top, Scalar) and top.text is not None:
        draft.fault(f"one text {quoted(top.text)} where a taxonomy was expected", top.line)
        return
    _read_nested(top, draft, repeated)


def _json_lines(taxonomy: Taxonomy) -> Iterator[str]:
    yield f'{{"format": "{_FLAT}", "labels": ['
    last = len(taxonomy) - 1
    for i, label in enumerate(taxonomy.labels):
        entry: dict[str, object] = {"label": label}
        if label in taxonomy.names.own:
            entry["name"] = taxonomy.names[label]
        parents = taxonomy.parents(i).tolist()
        if parents:
            entry["parents"] = [taxonomy.labels[parent] for parent in parents]
        yield f" {json.dumps(entry, ensure_ascii=False)}{',' if i < last else ''}"
    yield "]}"


def _read_flat(top: Pairs, draft: Draft) -> None:
    entries = top.get("labels")
    if not isinstance(entries, Items):
        draft.fault('"labels" must be a list of labels', top.line)
        return
    for entry in entries.values:
        label = entry.get("label") if isinstance(entry, Pairs) else None
        if not isinstance(entry, Pairs) or not isinstance(label, Scalar) or label.text is None:
            draft.fault('an entry must have a "label"', entry.line)
            continue
        if not label.text.strip():
            draft.fault("empty name", label.line)
            continue
        _read_flat_entry(entry, label.text, draft)
    draft.root_seen = True


def _read_flat_entry(entry: Pairs, label: str, draft: Draft) -> None:
    draft.label(label, entry.line)
    words = entry.get("name")
    if isinstance(words, Scalar) and words.text is not None:
        draft.names[label] = words.text
    parents = entry.get("parents") or Items(entry.line)
    if not isinstance(parents, Items):
        draft.fault(f"the parents of {quoted(label)} must be a list", parents.line)
        parents = Items(entry.line)
    placed = False
    for parent in parents.values:
        if isinstance(parent, Scalar) and parent.text is not None:
            draft.edge(parent.text, label, parent.line)
            placed = True
        else:
            draft.fault(f"a parent of {quoted(label)} is no text", parent.line)
    if not placed:
        draft.edge(None, label, entry.line)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: Scalar
    children: Value | None = None
    words: str | None = None


def _read_nested(top: Value, draft: Draft, repeated: Repeated) -> None:
    forest = PathForest(draft)
    first_lines: dict[int, int] = {}
    # Values whose entries hang below a node, in the order of the file; NO_PARENT is the top.
    waiting: list[tuple[int, Value]] = [(NO_PARENT, top)]
    while waiting:
        node, value = waiting.pop()
        below: list[tuple[int, Value]] = []
        for entry in _entries(value, draft):
            name, line = entry.name.text, entry.name.line
            if name is None or not name.strip():
                draft.fault("a name must be text" if name is None else "empty name", line)
                continue
            step = node
            if value is not top or not forest.begin(name, line):
                step, new = forest.step(node, name, line, entry.words)
                earlier = first_lines.setdefault(step, line)
                if not new:
                    draft.fault(
                        f"duplicate sibling {quoted(name)} (already on line {earlier})", line
                    )
            if entry.children is not None:
                below.append((step, entry.children))
        waiting.extend(reversed(below))
    forest.finish(repeated)


def _entries(value: Value, draft: Draft) -> Iterator[_Entry]:
    """The labels that a value lists."""
    if isinstance(value, Scalar):
        if value.text is not None:
            yield _Entry(value)
    elif isinstance(value, Pairs):
        yield from _entries_of_pairs(value, draft)
    else:
        for item in value.values:
            if isinstance(item, Pairs):
                yield from _entries_of_pairs(item, draft)
            elif isinstance(item, Scalar):
                yield _Entry(item)
            else:
                draft.fault("a list directly inside a list; labels need a name", item.line)


def _entries_of_pairs(pairs: Pairs, draft: Draft) -> Iterator[_Entry]:
    """``{"name": ..., "children": ...}`` is one label, any other mapping one label per key."""
    label, name = pairs.get("label"), pairs.get("name")
    known = label if label is not None else name
    if not isinstance(known, Scalar) or known.text is None:
        for key, below in pairs.values:
            yield _Entry(key, below)
        return
    children = pairs.get("children")
    if children is None:
        for key, lost in pairs.values:
            if not isinstance(lost, Scalar):
                draft.fault(
                    f"{quoted(key.text or '')} of {quoted(known.text)} is not read; "
                    'children stand under "children"',
                    key.line,
                )
    words = name.text if label is not None and isinstance(name, Scalar) else None
    yield _Entry(known, children, words)
