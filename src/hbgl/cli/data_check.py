"""``hbgl data check``: what is wrong with a corpus folder, then what it holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hbgl.corpus_check import CorpusReport, DuplicateTexts

__all__ = ["EXAMPLE", "check"]

EXAMPLE = "Example: hbgl data check corpora/arxiv"

SHOWN = 10  # labels named in one row of the table

Row = tuple[str, str]


def check(
    corpus: Annotated[
        str, typer.Argument(metavar="DIR", help="A corpus folder, or the name of a bundled corpus.")
    ],
    max_faults: Annotated[
        int, typer.Option(min=1, help="How many faults are listed; all are counted.")
    ] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Check a corpus folder: its faults with line numbers, then its statistics.

    The exit code is 1 if there are faults. Averages count train, dev and test together.
    Duplicates are texts that differ only in case, space and punctuation.
    """
    from hbgl.cli.data_progress import PrepareProgress
    from hbgl.corpus_check import check_corpus

    folder = Path(corpus)
    if not folder.is_dir():
        from hbgl.corpora import open_corpus

        folder = open_corpus(corpus).path
    with PrepareProgress(quiet=as_json) as progress:
        report = check_corpus(folder, max_faults=max_faults, progress=progress)
    if as_json:
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        _print_faults(report)
        _print_table(report.folder, [*_rows(report)])
    if report.fault_count:
        raise typer.Exit(1)


def _print_faults(report: CorpusReport) -> None:
    if not report.fault_count:
        return
    noun = "fault" if report.fault_count == 1 else "faults"
    typer.echo(f"{report.fault_count:,} {noun}:")
    for fault in report.faults:
        typer.echo(f"  {fault}")
    left = report.fault_count - len(report.faults)
    if left:
        typer.echo(f"  and {left:,} more (see --max-faults)")
    typer.echo()


def _print_table(title: str, rows: list[Row]) -> None:
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(title), show_header=False, title_justify="left")
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        for name, value in rows:
            table.add_row(Text(name), Text(value))
        Console().print(table)
        return
    typer.echo(title)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        first, *more = value.split("\n")
        typer.echo(f"  {name:<{width}}  {first}")
        for line in more:
            typer.echo(f"  {'':<{width}}  {line}")


def _rows(report: CorpusReport) -> Iterator[Row]:
    if report.labels:
        by_level = " + ".join(f"{count:,}" for count in report.labels_per_level)
        kind = "" if report.is_tree else ", some with several parents"
        yield (
            "labels L",
            f"{report.labels:,} ({by_level} by level; {report.leaves:,} leaves{kind})",
        )
        yield "depth D", str(report.depth)
    yield from _document_rows(report)
    if report.labels:
        yield from _label_rows(report)
    yield "duplicate texts", "\n".join(map(_duplicates, report.duplicates)) or "none"


def _document_rows(report: CorpusReport) -> Iterator[Row]:
    for name, split in report.splits.items():
        value = f"{split.documents:,}"
        if split.documents:
            value += f", {split.words_per_document:.1f} words each"
        if split.without_labels:
            value += f", {split.without_labels:,} without labels"
        if split.skipped:
            value += f"; {split.skipped:,} faulty left out"
        yield f"documents in {name}", value
    for name in report.missing_splits:
        yield f"documents in {name}", "there is no such file"
    if report.documents:
        yield "labels per document", f"{report.labels_per_document:.3f}"
        yield "words per document", f"{report.words_per_document:.1f}"


def _label_rows(report: CorpusReport) -> Iterator[Row]:
    if report.documents:
        yield "multi-path documents", f"{report.multi_path_share:.1%}"
        levels = enumerate(report.documents_by_deepest_level, start=1)
        shares = (f"level {level}: {count / report.documents:.1%}" for level, count in levels)
        yield "deepest label at", ", ".join(shares)
    if report.rarest_labels:
        rarest = ", ".join(f"{label} {count:,}" for label, count in report.rarest_labels)
        yield "rarest in train", rarest
    yield "labels without documents", _some(report.labels_without_documents)
    if report.labels_without_training_documents:
        yield "only in dev or test", _some(report.labels_without_training_documents)


def _some(labels: list[str]) -> str:
    if not labels:
        return "none"
    shown = ", ".join(labels[:SHOWN])
    return f"{len(labels):,}: {shown}{', ...' if len(labels) > SHOWN else ''}"


def _duplicates(found: DuplicateTexts) -> str:
    place = "within itself" if found.split == found.earlier else f"in {found.earlier}"
    other = f" ({found.other_labels:,} with other labels)" if found.other_labels else ""
    return f"{found.documents:,} of {found.split} {place}{other}, as {found.examples[0]}"
