"""``hbgl data split``: one file of documents into train, dev and test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from hbgl.taxonomy import Taxonomy

__all__ = ["EXAMPLE", "split"]

EXAMPLE = "Example: hbgl data split reviews.csv -o corpora/reviews --labels level1,level2"


def split(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSONL, CSV, TSV or Parquet.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Corpus folder.")],
    taxonomy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Default: taxonomy.tsv beside FILE, or what the label paths in FILE form.",
        ),
    ] = None,
    train: Annotated[float, typer.Option(help="Share of the training documents.")] = 0.8,
    dev: Annotated[float, typer.Option(help="Share of the dev documents.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the test documents.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same splits.")] = 0,
    input_format: Annotated[
        Literal["jsonl", "csv", "tsv", "parquet"] | None,
        typer.Option("--format", help="Default: by the name of FILE."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="The text column. Default: text.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="The label column, or one per level: level1,level2. Default: labels."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column of document ids. Default: id.")
    ] = None,
    label_delimiter: Annotated[
        str, typer.Option(help="Between the labels of one document, in a table.")
    ] = ";",
    path_separator: Annotated[str, typer.Option(help="Between the labels of a path.")] = " > ",
    repeated: Annotated[
        Literal["join", "qualify"],
        typer.Option(
            help="A name under two paths, where the paths make the taxonomy: "
            "one label (join) or two (qualify)."
        ),
    ] = "join",
    on_error: Annotated[
        Literal["fail", "skip"], typer.Option(help="At a bad record: stop, or go on without it.")
    ] = "fail",
    skipped_file: Annotated[
        Path | None,
        typer.Option(
            "--skipped",
            metavar="FILE",
            help="Where skipped records go. Default: FILE.skipped.jsonl",
        ),
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Write .jsonl.gz.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the corpus files that are in DIR.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Divide a file of documents into train, dev and test, as a corpus folder.

    Each split keeps the label distribution (iterative stratification). Texts that differ only in
    case, space and punctuation are never in two splits.
    """
    from hbgl.cli.data_progress import PrepareProgress
    from hbgl.cli.sources import check_side_file
    from hbgl.errors import UsageError
    from hbgl.records import Columns, Record, RecordReader, SkippedRecords, read_records
    from hbgl.splitting import check_fractions, corpus_files, write_splits

    if str(file) == "-":
        raise UsageError("standard input cannot be read twice; save it to a file first")
    fractions = {"train": train, "dev": dev, "test": test}
    check_fractions(fractions)
    written = corpus_files(output, fractions)
    check_side_file(skipped_file, file, taxonomy, *written, option="--skipped")
    options: dict[str, Any] = {
        "format": input_format,
        "columns": None,
        "label_delimiter": label_delimiter,
        "path_separator": path_separator,
    }
    if text or labels or id_column:
        names = labels.split(",") if labels else "labels"
        options["columns"] = Columns(text or "text", names, id_column or "id")
    known = _taxonomy(file, taxonomy, {**options, "on_error": on_error, "repeated": repeated})
    skipped_path = skipped_file or file.with_name(f"{file.name}.skipped.jsonl")
    readers: list[RecordReader] = []

    with SkippedRecords(skipped_path) as skipped, PrepareProgress(quiet=as_json) as progress:

        def read() -> Iterator[Record]:
            # The second reading skips the same records, which are noted already.
            reader = read_records(
                file,
                taxonomy=known,
                on_error=on_error,
                skipped=SkippedRecords() if readers else skipped,
                **options,
            )
            readers.append(reader)
            step = "reading" if len(readers) == 1 else "writing"
            for number, record in enumerate(reader, start=1):
                progress(step, number)
                yield record

        try:
            made = write_splits(
                read,
                output,
                taxonomy=known,
                fractions=fractions,
                seed=seed,
                compress=gzip,
                overwrite=force,
                keep=[file, *([taxonomy] if taxonomy else [])],
            )
        finally:  # what was skipped is said above all when nothing is left
            if skipped.summary.skipped and not as_json:
                where = f"the skipped ones are in {skipped_path}"
                typer.echo(f"{skipped.summary}; {where}", err=True)
    report = {
        "folder": str(output),
        "documents": made.documents,
        "near_duplicates": made.near_duplicates,
        "without_labels": made.without_labels,
        "labels": len(known),
        "seed": seed,
        "skipped": skipped.summary.skipped,
        "skipped_by_reason": dict(skipped.summary.by_reason),
        "skipped_file": str(skipped_path) if skipped.summary.skipped else None,
    }
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    parts = ", ".join(f"{name} {count:,}" for name, count in made.documents.items())
    typer.echo(f"{output}: {parts}; {len(known):,} labels, seed {seed}")
    if made.near_duplicates:
        typer.echo(f"{made.near_duplicates:,} documents repeat a text and stay in its split")
    if made.without_labels:
        typer.echo(f"{made.without_labels:,} documents have no labels")


def _taxonomy(file: Path, given: Path | None, inferring: dict[str, Any]) -> Taxonomy:
    from hbgl.records import infer_taxonomy
    from hbgl.taxonomy import read_taxonomy

    beside = file.with_name("taxonomy.tsv")
    if given is None and beside.is_file():
        given = beside
    if given is not None:
        return read_taxonomy(given)
    return infer_taxonomy(file, **inferring)
