"""A file -> taxonomy and back: which format it is, ``names.json`` beside it, atomic writing."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from hbgl.errors import TaxonomyError, UsageError
from hbgl.taxonomy.draft import Draft
from hbgl.taxonomy.names import PATH_SEPARATOR, ROOT
from hbgl.taxonomy.paths import Repeated
from hbgl.taxonomy.source import read_source
from hbgl.taxonomy.structure import Taxonomy
from hbgl.taxonomy.text_formats import read_edge_list, read_path_lines, read_tsv, tsv_text
from hbgl.taxonomy.words import read_names

__all__ = ["NAMES_FILE", "Format", "names_text", "read_taxonomy", "write_taxonomy"]

Format = Literal["tsv", "edges", "paths"]
"""The formats that are read."""

NAMES_FILE = "names.json"
"""Label -> words; taken up from beside a taxonomy."""

_BY_SUFFIX: dict[str, Format] = {".tsv": "tsv", ".csv": "edges", ".txt": "paths"}


def read_taxonomy(
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002
    names: Mapping[str, str] | str | Path | Literal[False] | None = None,
    repeated: Repeated = "join",
    separator: str = PATH_SEPARATOR,
    root: str = ROOT,
) -> Taxonomy:
    """Read a taxonomy; all its faults are raised at once.

    Args:
        path: The file.
        format: Its format; by default the suffix decides.
        names: Label -> words, or a JSON file of them; by default ``names.json`` beside the file
            if there is one; False for none.
        repeated: Where paths are read, whether a name under two paths is one label with several
            parents (``"join"``) or several labels named apart (``"qualify"``).
        separator: What stands between the labels of a path, where paths are read.
        root: The name that stands for the root in the file; it is not a label.
    """
    path = Path(path)
    kind = format or _guess_format(path)
    draft = Draft(str(path), root=root)
    content = read_source(path)
    if kind == "tsv":
        read_tsv(content, draft)
    elif kind == "edges":
        read_edge_list(content, draft)
    else:
        read_path_lines(content, draft, separator=separator, repeated=repeated)
    taxonomy = Taxonomy.from_draft(draft, root_promised=kind == "tsv")
    return _named(taxonomy, path, names)


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | Path,
    *,
    format: Literal["tsv"] | None = None,  # noqa: A002
) -> None:
    """Write a taxonomy as TSV; each file is complete or absent.

    Words go to ``names.json`` beside the TSV, which belongs to it: where no label has words of
    its own, an older ``names.json`` there is removed, so that what is read back is equal.
    """
    path = Path(path)
    names = path.parent / NAMES_FILE
    if taxonomy.names.own:
        _write(names, names_text(taxonomy))
    elif names.exists():
        names.unlink()
    _write(path, tsv_text(taxonomy))


def names_text(taxonomy: Taxonomy) -> str:
    """The content of ``names.json``: the words of every label, by id."""
    return json.dumps(dict(taxonomy.names), ensure_ascii=False, indent=1) + "\n"


def _guess_format(path: Path) -> Format:
    found = _BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        known = ", ".join(f"{suffix} ({name})" for suffix, name in _BY_SUFFIX.items())
        raise UsageError(
            f"the suffix of {path} says no taxonomy format; known are {known}; "
            f"or name one of the formats {', '.join(get_args(Format))}"
        )
    return found


def _named(
    taxonomy: Taxonomy, path: Path, names: Mapping[str, str] | str | Path | Literal[False] | None
) -> Taxonomy:
    if names is None:
        beside = path.parent / NAMES_FILE
        names = beside if beside.is_file() else False
    if names is False:
        return taxonomy
    if isinstance(names, (str, Path)):
        names = read_names(Path(names), taxonomy.labels)
    return taxonomy.with_names({**taxonomy.names.own, **names})


def _write(path: Path, text: str) -> None:
    """Write beside, then rename: a reader never sees half a file."""
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise TaxonomyError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except OSError as error:
        Path(beside).unlink(missing_ok=True)
        raise TaxonomyError(f"cannot write {path}: {error.strerror}") from error
