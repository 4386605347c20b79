"""A file -> taxonomy and back: which format it is, ``names.json`` beside it, atomic writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from hbgl.durable_files import replace_file
from hbgl.errors import TaxonomyError, UsageError
from hbgl.taxonomy.draft import Draft
from hbgl.taxonomy.label_studio import read_label_studio
from hbgl.taxonomy.located import parse_json, parse_yaml
from hbgl.taxonomy.names import PATH_SEPARATOR, ROOT
from hbgl.taxonomy.nested import json_text, read_tree
from hbgl.taxonomy.paths import Repeated
from hbgl.taxonomy.skos import read_skos
from hbgl.taxonomy.source import read_source
from hbgl.taxonomy.structure import Taxonomy
from hbgl.taxonomy.text_formats import read_edge_list, read_path_lines, read_tsv, tsv_text
from hbgl.taxonomy.words import read_names

__all__ = ["NAMES_FILE", "Format", "names_text", "read_taxonomy", "write_taxonomy"]

Format = Literal["tsv", "edges", "paths", "json", "yaml", "label-studio", "skos"]
"""The formats that are read; ``tsv`` and ``json`` are also written."""

NAMES_FILE = "names.json"
"""Label -> words; taken up from beside a taxonomy."""

_WITHOUT_WORDS = ("tsv", "edges", "paths")

_BY_SUFFIX: dict[str, Format] = {
    ".tsv": "tsv",
    ".csv": "edges",
    ".txt": "paths",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".ttl": "skos",
    ".rdf": "skos",
    ".skos": "skos",
}


def read_taxonomy(
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002
    names: Mapping[str, str] | str | Path | Literal[False] | None = None,
    repeated: Repeated = "join",
    separator: str = PATH_SEPARATOR,
    language: str = "en",
    root: str = ROOT,
) -> Taxonomy:
    """Read a taxonomy; all its faults are raised at once.

    Args:
        path: The file.
        format: Its format; by default the suffix decides.
        names: Label -> words, or a JSON file of them; by default ``names.json`` beside a TSV,
            CSV or path file (the other formats hold words themselves); False for none.
        repeated: Where paths are read, whether a name under two paths is one label with several
            parents (``"join"``) or several labels named apart (``"qualify"``).
        separator: What stands between the labels of a path, where paths are read.
        language: Of the labels to take, where SKOS is read.
        root: The name that stands for the root in the file; it is not a label.
    """
    path = Path(path)
    content = read_source(path)
    kind = format or _guess_format(path, content)
    draft = Draft(str(path), root=root)
    if kind == "tsv":
        read_tsv(content, draft)
    elif kind == "edges":
        read_edge_list(content, draft)
    elif kind == "paths":
        read_path_lines(content, draft, separator=separator, repeated=repeated)
    elif kind == "json":
        read_tree(parse_json(content, str(path)), draft, repeated=repeated)
    elif kind == "yaml":
        read_tree(parse_yaml(content, str(path)), draft, repeated=repeated)
    elif kind == "label-studio":
        read_label_studio(content, draft, repeated=repeated)
    else:
        read_skos(content, draft, language=language)
    taxonomy = Taxonomy.from_draft(draft, root_promised=kind == "tsv")
    if names is None and kind in _WITHOUT_WORDS:
        beside = path.parent / NAMES_FILE
        names = beside if beside.is_file() else False
    return _named(taxonomy, names)


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | Path,
    *,
    format: Literal["tsv", "json"] | None = None,  # noqa: A002
) -> None:
    """Write a taxonomy as TSV or JSON; each file is complete or absent.

    JSON holds the words of the labels. Beside a TSV they go to ``names.json``, which belongs to
    it: where no label has words of its own, an older one there is removed, so that what is read
    back is equal.

    Args:
        taxonomy: What to write.
        path: The file; ``.json`` makes JSON, anything else TSV.
        format: The format, whatever the suffix.
    """
    path = Path(path)
    kind = format or ("json" if path.suffix.lower() == ".json" else "tsv")
    if kind == "json":
        _write(path, json_text(taxonomy))
        return
    if kind != "tsv":
        raise UsageError(f"taxonomies are written as tsv or json, not {kind}")
    names = path.parent / NAMES_FILE
    if taxonomy.names.own:
        _write(names, names_text(taxonomy))
    else:
        names.unlink(missing_ok=True)
    _write(path, tsv_text(taxonomy))


def names_text(taxonomy: Taxonomy) -> str:
    """The content of ``names.json``: the words of every label, by id."""
    return json.dumps(dict(taxonomy.names), ensure_ascii=False, indent=1) + "\n"


def _guess_format(path: Path, content: bytes) -> Format:
    suffix = path.suffix.lower()
    if suffix == ".xml":
        return "skos" if b":RDF" in content[:4096] else "label-studio"
    found = _BY_SUFFIX.get(suffix)
    if found is None:
        known = ", ".join([*_BY_SUFFIX, ".xml"])
        raise UsageError(
            f"the suffix of {path} says no taxonomy format (known: {known}); "
            f"name one of the formats {', '.join(get_args(Format))}"
        )
    return found


def _named(
    taxonomy: Taxonomy, names: Mapping[str, str] | str | Path | Literal[False] | None
) -> Taxonomy:
    if names is None or names is False:
        return taxonomy
    if isinstance(names, (str, Path)):
        names = read_names(Path(names), taxonomy.labels)
    return taxonomy.with_names({**taxonomy.names.own, **names})


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        raise TaxonomyError(f"cannot write {path}: {error.strerror}") from error
