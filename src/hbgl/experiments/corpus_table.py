"""The paper's Table 1: what corpora hold, beside what is published of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hbgl.corpora import open_corpus
from hbgl.corpora.counts import PUBLISHED
from hbgl.corpus_check import check_corpus
from hbgl.report.frame import framed
from hbgl.report.markup import Content, element, section, table

__all__ = ["CorpusRow", "corpus_files", "corpus_lines", "corpus_rows"]

_HEAD = ("Corpus", "L", "D", "Labels per document", "Train", "Dev", "Test")
_EXPLAINED = (
    "L: labels, D: levels. Labels per document counts a document's labels with their ancestors, "
    "over train, dev and test."
)


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One line of the table; None where a publication does not say."""

    corpus: str
    source: str
    """``measured``, or the publication"""
    labels: int | None
    depth: int | None
    labels_per_document: float | None
    train: int | None
    dev: int | None
    test: int | None
    faults: int = 0


def corpus_rows(
    corpora: Sequence[str], progress: Callable[[str, int], None] | None = None
) -> list[CorpusRow]:
    """Count each corpus; below it comes what is published of one that has its name."""
    rows = []
    for name in corpora:
        folder = open_corpus(name).path
        report = check_corpus(folder, progress=progress)
        shown = folder.resolve().name if Path(name).is_dir() else name
        splits = {split: one.documents for split, one in report.splits.items()}
        rows.append(
            CorpusRow(
                shown,
                "measured",
                report.labels,
                report.depth,
                report.labels_per_document,
                splits.get("train"),
                splits.get("dev"),
                splits.get("test"),
                report.fault_count,
            )
        )
        published = PUBLISHED.get(shown.lower().removesuffix("-v2"))
        if published is not None:
            of_split = published.documents or {}
            rows.append(
                CorpusRow(
                    shown,
                    published.source,
                    published.labels,
                    published.depth,
                    published.labels_per_document,
                    of_split.get("train"),
                    of_split.get("dev"),
                    of_split.get("test"),
                )
            )
    return rows


def corpus_lines(rows: Sequence[CorpusRow]) -> list[str]:
    """The table as Markdown."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{' --- |' * len(_HEAD)}"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    lines += [
        f"{row.corpus}: {row.faults:,} faults, left out here; `hbgl data check` shows them"
        for row in rows
        if row.faults
    ]
    return lines


def corpus_files(rows: Sequence[CorpusRow]) -> dict[str, bytes]:
    """``results.*`` by name: Markdown, CSV, and a page. The JSON is for the caller to wrap."""
    text = ["# Table 1: statistics of the corpora", "", _EXPLAINED, "", *corpus_lines(rows), ""]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(asdict(rows[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _blank(value) for key, value in asdict(row).items()} for row in rows)
    cells: list[list[Content]] = [list(_cells(row)) for row in rows]
    shown = table(_HEAD, cells, caption="Statistics, measured and published")
    page = framed(
        "Table 1: statistics of the corpora",
        "",
        [("corpora", "Corpora", section("corpora", "Corpora", element("p", _EXPLAINED), shown))],
    )
    return {
        "results.md": "\n".join(text).encode(),
        "results.csv": file.getvalue().encode(),
        "results.html": page.encode(),
    }


def _cells(row: CorpusRow) -> list[str]:
    name = row.corpus if row.source == "measured" else f"{row.corpus}, {row.source}"
    average = "-" if row.labels_per_document is None else f"{row.labels_per_document:.2f}"
    counts = [_count(one) for one in (row.train, row.dev, row.test)]
    return [name, _count(row.labels), _count(row.depth), average, *counts]


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _blank(value: Any) -> Any:
    return "" if value is None else value
