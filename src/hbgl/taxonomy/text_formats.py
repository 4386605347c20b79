"""The line-based formats: the field's TSV, an edge list as CSV, one path per line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from hbgl.taxonomy.draft import Draft
from hbgl.taxonomy.names import PATH_SEPARATOR, ROOT, quoted
from hbgl.taxonomy.paths import PathForest, Repeated
from hbgl.taxonomy.source import read_lines
from hbgl.taxonomy.structure import Taxonomy

__all__ = ["read_edge_list", "read_path_lines", "read_tsv", "tsv_text"]

_PARENT_HEADS = frozenset({"parent", "source", "from", "broader"})
_CHILD_HEADS = frozenset({"child", "target", "to", "label", "narrower"})
_NAME_HEADS = frozenset({"name", "words"})


def read_tsv(content: bytes, draft: Draft) -> None:
    """Read ``parent<TAB>child<TAB>child...`` lines; the top labels are children of the root."""
    for line, text in read_lines(content, draft):
        parent, *children = text.split("\t")
        if parent == draft.root:
            draft.root_seen = True
        elif parent.strip():
            draft.label(parent, line)
        else:
            draft.fault("empty name of the parent", line)
            continue
        for child in children:
            draft.edge(parent, child, line)


def tsv_text(taxonomy: Taxonomy) -> str:
    """The taxonomy as TSV: the root's line, then one line per inner node, by id."""
    labels = taxonomy.labels
    lines = ["\t".join([ROOT, *labels[taxonomy.level_slice(1)]])]
    for i, label in enumerate(labels):
        children = taxonomy.children(i).tolist()
        if children:
            lines.append("\t".join([label, *(labels[child] for child in children)]))
    return "\n".join(lines) + "\n"


def read_edge_list(content: bytes, draft: Draft) -> None:
    """Read CSV rows ``parent,child[,words]``; an empty parent puts the child at the top.

    A first row such as ``child,parent`` names the columns; then others may stand beside them.
    Commas, semicolons or tabs divide them.
    """
    columns: _Columns | None = None
    for line, row in _csv_rows(content, draft):
        if columns is None:
            columns = _header(row)
            if columns is not None:
                continue
            columns = _Columns(parent=0, child=1, words=2, width=3)
        if not max(columns.parent, columns.child) < len(row) <= columns.width:
            draft.fault(f"a row has the columns parent and child, this one has {len(row)}", line)
            continue
        draft.edge(row[columns.parent] or None, row[columns.child], line)
        words = row[columns.words] if columns.words < len(row) else ""
        if words:
            draft.names[row[columns.child]] = words


def read_path_lines(
    content: bytes, draft: Draft, *, separator: str = PATH_SEPARATOR, repeated: Repeated = "join"
) -> None:
    """Read one path per line, ``A > B > C``; notes (``# ...``) may stand above them."""
    forest = PathForest(draft)
    first_lines: dict[str, int] = {}
    for line, text in read_lines(content, draft):
        if not first_lines and text.startswith("# "):
            continue
        earlier = first_lines.setdefault(text, line)
        if earlier != line:
            draft.fault(f"duplicate path {quoted(text)} (already on line {earlier})", line)
        path = text.split(separator)
        if all(name.strip() for name in path):
            forest.add_path(path, line)
        else:
            draft.fault(f"empty name in the path {quoted(text)}", line)
    forest.finish(repeated)


@dataclass(frozen=True)
class _Columns:
    parent: int
    child: int
    words: int
    width: int
    """The most cells that a row may have."""


def _header(row: list[str]) -> _Columns | None:
    """The columns that a first row names, or None where it is data."""
    heads = [cell.strip().lower() for cell in row]
    parent, child, words = (
        next((i for i, head in enumerate(heads) if head in known), len(heads))
        for known in (_PARENT_HEADS, _CHILD_HEADS, _NAME_HEADS)
    )
    named = parent < len(heads) and child < len(heads)
    return _Columns(parent, child, words, width=len(heads)) if named else None


def _csv_rows(content: bytes, draft: Draft) -> Iterator[tuple[int, list[str]]]:
    """Number of the last line and cells of each row."""
    line = 0

    def lines() -> Iterator[str]:
        nonlocal line
        for number, text in numbered:
            line = number
            yield text + "\n"

    numbered = read_lines(content, draft)
    start = list(islice(numbered, 1))
    numbered = chain(start, numbered)
    delimiter = max(",;\t", key=start[0][1].count) if start else ","
    try:
        for row in csv.reader(lines(), delimiter=delimiter, strict=True):
            yield line, row
    except csv.Error as error:
        draft.fault(f"broken CSV: {error}", line)
