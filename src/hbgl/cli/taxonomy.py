"""``hbgl taxonomy``: check a taxonomy, show it as a tree, convert it between formats."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hbgl.errors import TaxonomyError, UsageError

if TYPE_CHECKING:
    from hbgl.taxonomy import Taxonomy

__all__ = ["app", "check", "convert", "show"]

_RECORD_SUFFIXES = {".jsonl", ".ndjson", ".parquet", ".pq", ".gz", ".zst"}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Check taxonomies, show them as trees, convert them between formats.",
    epilog="Example: hbgl taxonomy show clinc150",
)


_Format = Literal["tsv", "edges", "paths", "json", "yaml", "label-studio", "skos", "records"]
_Repeated = Literal["join", "qualify"]
_Written = Literal["tsv", "json"]
_Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A taxonomy file, a corpus folder or name, or records whose labels are paths "
        "(- reads them from standard input).",
    ),
]
_FormatOption = Annotated[
    _Format | None, typer.Option("--format", help="Default: what the suffix says.")
]
_Names = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="JSON, label to words; 'none' ignores the names.json beside SOURCE."
    ),
]
_RepeatedOption = Annotated[
    _Repeated,
    typer.Option(help="A name under two paths: one label with two parents, or named apart."),
]
_Separator = Annotated[str, typer.Option(help="Between the labels of a path.")]
_Root = Annotated[str, typer.Option(help="The name of the root in the file; it is no label.")]
_Language = Annotated[str, typer.Option(help="Of the labels to take from SKOS.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")]


@app.command(epilog="Example: hbgl taxonomy show clinc150 --levels 1")
def show(
    source: _Source,
    format: _FormatOption = None,  # noqa: A002
    names: _Names = None,
    repeated: _RepeatedOption = "join",
    separator: _Separator = " > ",
    root: _Root = "Root",
    language: _Language = "en",
    below: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Only this label and those below it.")
    ] = None,
    levels: Annotated[int | None, typer.Option(min=1, help="How many levels to draw.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Show the words of labels too.")] = False,
    counts: Annotated[
        Path | None, typer.Option(metavar="RECORDS", help="Show the documents of each label.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Draw the taxonomy as a tree."""
    from hbgl.taxonomy import draw_tree

    taxonomy = _read(source, format, names, repeated, separator, root, language)
    documents = _count(counts, taxonomy) if counts else None
    if below is not None:
        taxonomy = taxonomy.subtree(below)
    if as_json:
        typer.echo(json.dumps(_described(taxonomy, documents), ensure_ascii=False))
        return
    lines = draw_tree(
        taxonomy,
        counts=documents,
        names=words,
        levels=levels,
        ascii_only=not (sys.stdout.encoding or "").lower().startswith("utf"),
    )
    for line in lines:
        typer.echo(line)


@app.command(epilog="Example: hbgl taxonomy convert topics.ttl -o corpus/taxonomy.tsv")
def convert(
    source: _Source,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="- for standard output.")
    ],
    format: _FormatOption = None,  # noqa: A002
    to: Annotated[
        _Written | None, typer.Option(help="Default: json where FILE ends so, else tsv.")
    ] = None,
    names: _Names = None,
    repeated: _RepeatedOption = "join",
    separator: _Separator = " > ",
    root: _Root = "Root",
    language: _Language = "en",
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write the taxonomy as TSV (words in names.json beside it) or JSON."""
    from hbgl.taxonomy import NAMES_FILE, json_text, tsv_text, write_taxonomy

    taxonomy = _read(source, format, names, repeated, separator, root, language)
    target = Path(output)
    as_json = to == "json" or (to is None and target.suffix.lower() == ".json")
    kind: _Written = "json" if as_json else "tsv"
    if output == "-":
        typer.echo(json_text(taxonomy) if as_json else tsv_text(taxonomy), nl=False)
        return
    written = [target] if as_json else [target, target.parent / NAMES_FILE]
    there = [str(path) for path in written if path.exists()]
    if there and not force:
        raise UsageError(f"{' and '.join(there)} would be replaced; allow it with --force")
    write_taxonomy(taxonomy, target, format=kind)
    typer.echo(f"{target}: {_summary(taxonomy)}", err=True)


@app.command(epilog="Example: hbgl taxonomy check taxonomy.tsv --json")
def check(
    source: _Source,
    format: _FormatOption = None,  # noqa: A002
    names: _Names = None,
    repeated: _RepeatedOption = "join",
    separator: _Separator = " > ",
    root: _Root = "Root",
    language: _Language = "en",
    as_json: _Json = False,
) -> None:
    """Name every fault with file and line (exit code 1), or say what the taxonomy is."""
    try:
        taxonomy = _read(source, format, names, repeated, separator, root, language)
    except TaxonomyError as error:
        if not as_json:
            raise
        faults = [
            {"file": fault.file, "line": fault.line, "message": fault.message}
            for fault in error.faults
        ] or [{"file": source, "line": None, "message": str(error)}]
        typer.echo(json.dumps({"faults": faults}, ensure_ascii=False))
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps({"faults": [], **_facts(taxonomy)}, ensure_ascii=False))
        return
    typer.echo(f"{source}: no faults")
    for name, value in _facts(taxonomy).items():
        typer.echo(f"  {name.replace('_', ' '):<24}{value}")


def _read(
    source: str,
    kind: _Format | None,
    names: str | None,
    repeated: _Repeated,
    separator: str,
    root: str,
    language: str,
) -> Taxonomy:
    from hbgl.taxonomy import read_taxonomy

    if source == "-" and kind not in (None, "records"):
        raise UsageError(f"standard input may hold records; save a taxonomy as {kind} to a file")
    path = Path(source)
    if source == "-":
        kind = "records"
    elif not path.exists() and kind is None and not path.suffix:
        from hbgl.corpora import open_corpus

        path = open_corpus(source).path
    if path.is_dir():
        path = path / "taxonomy.tsv"
    if kind == "records" or (kind is None and path.suffix.lower() in _RECORD_SUFFIXES):
        from hbgl.records import infer_taxonomy

        return infer_taxonomy(path, path_separator=separator, repeated=repeated)
    return read_taxonomy(
        path,
        format=kind,
        names=False if names == "none" else names,
        repeated=repeated,
        separator=separator,
        root=root,
        language=language,
    )


def _count(records: Path, taxonomy: Taxonomy) -> Counter[str]:
    from hbgl.records import read_records

    documents: Counter[str] = Counter()
    for record in read_records(records, taxonomy=taxonomy):
        documents.update(record.labels)
    return documents


def _facts(taxonomy: Taxonomy) -> dict[str, Any]:
    import numpy as np

    per_level = np.bincount(taxonomy.levels, minlength=taxonomy.depth + 1)[1:]
    parents = np.bincount(taxonomy.edges[:, 1], minlength=len(taxonomy))
    return {
        "labels": len(taxonomy),
        "depth": taxonomy.depth,
        "labels_per_level": per_level.tolist(),
        "leaves": len(taxonomy.leaves),
        "several_parents": int((parents > 1).sum()),
        "words_of_their_own": len(taxonomy.names.own),
    }


def _described(taxonomy: Taxonomy, documents: Counter[str] | None) -> dict[str, Any]:
    """The JSON that hbgl reads as a taxonomy, with levels and counts added."""
    entries = []
    for i, label in enumerate(taxonomy.labels):
        entry: dict[str, Any] = {"label": label, "name": taxonomy.names[label]}
        entry["parents"] = [taxonomy.labels[parent] for parent in taxonomy.parents(i)]
        entry["level"] = int(taxonomy.levels[i])
        if documents is not None:
            entry["documents"] = documents[label]
        entries.append(entry)
    return {"format": "hbgl-taxonomy", "labels": entries}


def _summary(taxonomy: Taxonomy) -> str:
    return f"{len(taxonomy):,} labels, {taxonomy.depth} levels"
