"""``hbgl data``: prepare public corpora, list and copy the bundled ones, check and split."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hbgl.cli import data_check, data_split

if TYPE_CHECKING:
    from hbgl.corpora import PreparedCorpus

__all__ = ["app", "get", "list_corpora", "prepare"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Prepare, check, split and list corpora.",
    epilog="Example: hbgl data prepare wos Data.xlsx -o wos",
)
app.command("check", epilog=data_check.EXAMPLE)(data_check.check)
app.command("split", epilog=data_split.EXAMPLE)(data_split.split)

_Json = Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")]
_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="A folder that is new or empty.")
]


@app.command("list", epilog="Example: hbgl data list --json")
def list_corpora(as_json: _Json = False) -> None:
    """List the bundled corpora, usable by name, and the public ones that can be prepared."""
    from hbgl.corpora import BUNDLED, CONVERTERS

    if as_json:
        content = {
            "bundled": [asdict(corpus) for corpus in BUNDLED.values()],
            "prepare": [asdict(converter) for converter in CONVERTERS.values()],
        }
        typer.echo(json.dumps(content, ensure_ascii=False))
        return
    typer.echo("Bundled, usable by name wherever a corpus folder is asked for:")
    for corpus in BUNDLED.values():
        documents = " / ".join(f"{number:,}" for number in corpus.documents)
        typer.echo(f"  {corpus.name:<14}{corpus.summary}")
        typer.echo(
            f"  {'':<14}{corpus.labels} labels, depth {corpus.depth}, {documents} documents "
            f"(train / dev / test), {corpus.licence}"
        )
    typer.echo("\nPrepared from their raw files by `hbgl data prepare NAME RAW... -o DIR`:")
    for converter in CONVERTERS.values():
        typer.echo(f"  {converter.name:<14}{converter.summary}")
        typer.echo(f"  {'':<14}from {converter.raw}")


@app.command(epilog="Example: hbgl data get clinc150 -o clinc150")
def get(
    name: Annotated[str, typer.Argument(help="A bundled corpus; see `hbgl data list`.")],
    output: _Output,
) -> None:
    """Copy a bundled corpus into a folder."""
    from hbgl.corpora import copy_bundled

    copy_bundled(name, output)
    typer.echo(str(output))


@app.command(epilog="Example: hbgl data prepare wos Data.xlsx -o wos")
def prepare(
    name: Annotated[str, typer.Argument(help="The corpus; see `hbgl data list`.")],
    raw: Annotated[
        list[Path],
        typer.Argument(
            metavar="RAW", help="Files and folders of the raw distribution, as they came."
        ),
    ],
    output: _Output,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of every random choice.")] = 0,
    train_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of the training documents.")
    ] = None,
    dev_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of the development documents.")
    ] = None,
    test_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of the test documents.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The labels to keep, one a line (nyt).")
    ] = None,
    taxonomy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="In place of the converter's own taxonomy.")
    ] = None,
    min_documents: Annotated[
        int | None, typer.Option(min=1, help="Leave out labels with fewer documents.")
    ] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Keep equal texts once, test first.")
    ] = False,
    text_column: Annotated[
        list[str] | None, typer.Option(help="Column of the text; may be repeated (table).")
    ] = None,
    label_column: Annotated[
        list[str] | None,
        typer.Option(help="Column of paths, or one per level, top first (table)."),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the id (table).")] = None,
    split_column: Annotated[
        str | None, typer.Option(help="Column that says train, dev or test (table).")
    ] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="Between labels in a cell; default ';' (table).")
    ] = None,
    path_separator: Annotated[
        str | None, typer.Option(help="Between the levels of a path; default ' > ' (table).")
    ] = None,
    dev_share: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of dev; default 0.1 (table).")
    ] = None,
    test_share: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of test; default 0.2 (table).")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Convert the raw distribution of a public corpus into a corpus folder.

    The split is the one that the literature uses. The counts are compared with the published
    ones at the end, and each difference is named.
    """
    from hbgl.cli.data_progress import PrepareProgress
    from hbgl.corpora import PrepareOptions, prepare_corpus

    options = PrepareOptions(
        seed=seed,
        train_ids=train_ids,
        dev_ids=dev_ids,
        test_ids=test_ids,
        labels=labels,
        taxonomy=taxonomy,
        min_documents=min_documents,
        drop_duplicates=drop_duplicates,
        text_column=tuple(text_column or ()),
        label_column=tuple(label_column or ()),
        id_column=id_column,
        split_column=split_column,
        label_separator=label_separator,
        path_separator=path_separator,
        dev_share=dev_share,
        test_share=test_share,
    )
    with PrepareProgress() as progress:
        prepared = prepare_corpus(name, raw, output, options, progress)
    if as_json:
        typer.echo(json.dumps(prepared.to_json(), ensure_ascii=False))
    else:
        _report(prepared)


def _report(prepared: PreparedCorpus) -> None:
    statistics = prepared.statistics
    documents = ", ".join(f"{split} {number:,}" for split, number in statistics.documents.items())
    typer.echo(f"{prepared.path}: {prepared.name}")
    typer.echo(f"  labels {statistics.labels:,}, depth {statistics.depth}")
    typer.echo(f"  documents: {documents}")
    typer.echo(f"  labels per document: {statistics.labels_per_document:.2f}")
    if statistics.labels_without_documents:
        typer.echo(f"  labels without documents: {statistics.labels_without_documents:,}")
    if statistics.documents_without_labels:
        typer.echo(f"  documents without labels: {statistics.documents_without_labels:,}")
    for reason, number in prepared.left_out.items():
        typer.echo(f"  left out: {number:,} {reason}")
    for note in prepared.notes:
        typer.echo(f"  note: {note}")
    if prepared.published and not prepared.differences:
        typer.echo(f"  equal to the published figures ({prepared.published})")
    elif prepared.differences:
        typer.echo(f"  differs from the published figures ({prepared.published}):")
        for difference in prepared.differences:
            typer.echo(f"    {difference}")
