"""Any table with a text column and label columns: CSV, TSV or Parquet, plain or compressed.

Labels stand in one column per level (top first; empty cells end the path), or in one column as
paths (``A > B; A > C``), as lists, or as plain labels of a taxonomy file that the user names.
Without a taxonomy the paths make it; a name that stands at two places becomes two labels, named
apart as ``Depression (Medical)``.

Splits come from a column, or from the file names where each file is called train, dev (val,
valid) or test, or are made: stratified by label, equal texts together, with the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hbgl.corpora.label_names import taxonomy_from_paths, unique_labels
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand
from hbgl.corpora.writing import CorpusWriter, Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError, Fault, UsageError
from hbgl.records import Columns, Record
from hbgl.records.faults import BadRecordError
from hbgl.records.labels import DELIMITER, SEPARATOR, LabelReader
from hbgl.records.sources import DAMAGED, damaged, format_of, open_source
from hbgl.records.tables import csv_rows, parquet_rows
from hbgl.splitting import assign_splits
from hbgl.taxonomy import Taxonomy, read_taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = (
    "text_column",
    "label_column",
    "id_column",
    "split_column",
    "label_separator",
    "path_separator",
    "taxonomy",
    "dev_share",
    "test_share",
)
DEV_SHARE = 0.1
TEST_SHARE = 0.2
ROW_LIMIT = 64 << 20  # bytes
SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "development": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
    "testing": "test",
}
Path_ = tuple[str, ...]


class Entry(NamedTuple):
    """One row: its text, its label paths (or labels of a taxonomy), its id and split."""

    text: str
    paths: tuple[Path_, ...]
    identifier: str | None
    split: str | None


@dataclass(frozen=True, slots=True)
class _Table:
    files: list[Path]
    text: tuple[str, ...]
    labels: tuple[str, ...]
    identifier: str | None
    split: str | None
    reader: LabelReader
    taxonomy: Taxonomy | None

    @property
    def columns(self) -> Columns:
        """All columns to read: the reader of tables wants one text, and levels of labels."""
        others = (*self.text[1:], *self.labels, *([self.split] if self.split else []))
        return Columns(text=self.text[0], labels=others, id=self.identifier)


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert tables into a corpus folder; reads twice and keeps no text in memory.

    Raises:
        CorpusError: a row that cannot be used.
        RecordError: a file that is damaged or lacks a column.
        UsageError: options that do not fit together.
    """
    options.refuse_unused("table", OPTIONS)
    table = _open(expand(raw), options)
    named = len(table.files) > 1 and all(_split_of_file(file) for file in table.files)
    made = table.split is None and not named
    paths: dict[Path_, None] = {}
    chosen: list[str] | None = None
    first_pass = _records(table, paths, progress)
    if made:
        chosen, _ = assign_splits(first_pass, _fractions(options), seed=options.seed)
    else:
        for _ in first_pass:
            pass
    names = unique_labels(paths) if table.taxonomy is None else {}
    taxonomy = table.taxonomy or taxonomy_from_paths(names)
    with corpus_writer("table", destination, progress) as writer:
        for number, entry in enumerate(_entries(table)):
            split = chosen[number] if chosen is not None else entry.split
            _write(writer, entry, split or "train", names)
        if not table.taxonomy and taxonomy.depth == 1:
            writer.note("all labels are on one level; give --taxonomy, or paths such as A > B")
        how = f"stratified, seed {options.seed}" if made else "given by the table"
        source = ", ".join(file.name for file in table.files)
        writer.finish(taxonomy, Description("A prepared table", source, "that of the table", how))
    return writer.result


def _write(writer: CorpusWriter, entry: Entry, split: str, names: Mapping[Path_, str]) -> None:
    if not entry.text.strip():
        writer.leave_out("rows without text")
        return
    if names:
        nodes = (path[:end] for path in entry.paths for end in range(1, len(path) + 1))
        labels = [names[node] for node in nodes]
    else:
        labels = [path[-1] for path in entry.paths]
    writer.add(split, entry.text, labels, entry.identifier)


def _open(files: list[Path], options: PrepareOptions) -> _Table:
    if not options.text_column or not options.label_column:
        raise UsageError("table needs --text-column and --label-column")
    taxonomy = read_taxonomy(options.taxonomy) if options.taxonomy else None
    reader = LabelReader(
        taxonomy,
        delimiter=options.label_separator or DELIMITER,
        separator=options.path_separator or SEPARATOR,
    )
    return _Table(
        files,
        options.text_column,
        options.label_column,
        options.id_column,
        options.split_column,
        reader,
        taxonomy,
    )


def _fractions(options: PrepareOptions) -> dict[str, float]:
    dev = DEV_SHARE if options.dev_share is None else options.dev_share
    test = TEST_SHARE if options.test_share is None else options.test_share
    return {"train": 1 - dev - test, "dev": dev, "test": test}


def _records(table: _Table, paths: dict[Path_, None], progress: Progress) -> Iterator[Record]:
    """Yield what the division needs of each row, and collect the paths on the way."""
    for number, entry in enumerate(_entries(table), 1):
        paths.update(dict.fromkeys(entry.paths))
        progress("reading", number)
        nodes = (path[:end] for path in entry.paths for end in range(1, len(path) + 1))
        yield Record(entry.text, tuple(dict.fromkeys("\t".join(node) for node in nodes)))


def _entries(table: _Table) -> Iterator[Entry]:
    for file in table.files:
        format_, _ = format_of(file)
        if format_ == "jsonl":
            raise CorpusError(f"{file}: JSON lines need no conversion; name CSV, TSV or Parquet")
        with open_source(file, format_) as source:
            read = parquet_rows if format_ == "parquet" else csv_rows
            rows = 0
            try:
                for line, fields, _, _ in read(source, ROW_LIMIT, table.columns):
                    yield _checked_entry(table, fields, file, line)
                    rows += 1
            except DAMAGED as error:
                raise damaged(source.name, rows, error) from error


def _checked_entry(
    table: _Table, fields: Mapping[str, object] | BadRecordError, file: Path, line: int
) -> Entry:
    try:
        if isinstance(fields, BadRecordError):
            raise fields
        return _entry(table, fields, _split_of_file(file))
    except BadRecordError as error:
        fault = Fault(str(error), str(file), line)
        raise CorpusError("a row cannot be used", [fault]) from error


def _entry(table: _Table, fields: Mapping[str, object], file_split: str | None) -> Entry:
    parts = (fields.get(column) for column in table.text)
    text = "\n".join(str(part).strip() for part in parts if part is not None)
    cells = [fields.get(column) for column in table.labels]
    paths: Sequence[Path_]
    if table.taxonomy is not None:
        closed = table.reader.read_levels(cells) if len(cells) > 1 else table.reader.read(cells[0])
        paths = [(label,) for label in closed]
    else:
        paths = table.reader.level_paths(cells) if len(cells) > 1 else table.reader.paths(cells[0])
    identifier = fields.get(table.identifier) if table.identifier else None
    return Entry(
        text,
        tuple(paths),
        None if identifier is None else str(identifier),
        _split(fields.get(table.split)) if table.split else file_split,
    )


def _split(value: object) -> str:
    split = SPLIT_WORDS.get(str(value).strip().lower())
    if split is None:
        known = ", ".join(SPLIT_WORDS)
        raise BadRecordError("wrong split", f"split {value!r} is none of {known}")
    return split


def _split_of_file(file: Path) -> str | None:
    return SPLIT_WORDS.get(file.name.partition(".")[0].lower())
