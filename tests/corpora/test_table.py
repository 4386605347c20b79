"""Any table: labels by level or as paths, splits given or made."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from hbgl.corpora import PreparedCorpus, PrepareOptions, open_corpus, prepare_corpus
from hbgl.errors import CorpusError, RecordError, UsageError

HEADER = ["id", "title", "body", "level1", "level2", "part"]
ROWS = [
    ["a", "Title", "First, with comma", "Medical", "Depression", "train"],
    ["b", "", 'Second "quoted"\ntwo lines', "Psychology", "Depression", "Training"],
    ["c", "Third", "", "Medical", "", "validation"],
    ["d", "Fourth", "text", "CS", "Logic", "test"],
    ["e", "", " ", "CS", "Logic", "test"],
]


def csv_bytes(rows: list[list[str]], delimiter: str = ",") -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode()


def prepare(tmp_path: Path, *raw: Path, **options: object) -> PreparedCorpus:
    return prepare_corpus(
        "table",
        raw,
        tmp_path / "out",
        PrepareOptions(**options),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet"])
def test_levels_and_splits_in_columns(tmp_path: Path, suffix: str) -> None:
    """Depression stands in two domains and becomes two labels; row e has no text."""
    file = tmp_path / f"table.{suffix}"
    content = csv_bytes([HEADER, *ROWS], "\t" if suffix == "tsv" else ",")
    if suffix == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        columns = {name: [row[i] or None for row in ROWS] for i, name in enumerate(HEADER)}
        parquet.write_table(pa.table(columns), file)
    else:
        file.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    prepared = prepare(
        tmp_path,
        file,
        text_column=("title", "body"),
        label_column=("level1", "level2"),
        id_column="id",
        split_column="part",
    )
    assert prepared.statistics.documents == {"train": 2, "dev": 1, "test": 1}
    assert prepared.left_out == {"rows without text": 1}
    corpus = open_corpus(tmp_path / "out")
    first, second = corpus.records("train")
    assert (first.id, first.text) == ("a", "Title\nFirst, with comma")
    assert first.labels == ("Medical", "Depression (Medical)")
    assert second.labels == ("Psychology", "Depression (Psychology)")
    assert second.text == 'Second "quoted"\ntwo lines'
    assert next(corpus.records("dev")).labels == ("Medical",)
    assert corpus.taxonomy.names["Depression (Medical)"] == "Depression"


def test_paths_in_one_column_and_a_made_split(tmp_path: Path) -> None:
    rows = [["text", "labels"]]
    rows += [[f"text number {n}", "A/B|C" if n % 2 else "A"] for n in range(40)]
    rows += [["Text  number 1!", "A/B|C"]]
    (tmp_path / "all.csv").write_bytes(csv_bytes(rows))
    prepared = prepare(
        tmp_path,
        tmp_path / "all.csv",
        text_column=("text",),
        label_column=("labels",),
        label_separator="|",
        path_separator="/",
        dev_share=0.25,
        test_share=0.25,
        seed=3,
    )
    assert sum(prepared.statistics.documents.values()) == 41
    corpus = open_corpus(tmp_path / "out")
    sizes = prepared.statistics.documents
    assert 9 <= sizes["dev"] <= 12
    assert 9 <= sizes["test"] <= 12
    of_text = {r.text: split for split in corpus.splits for r in corpus.records(split)}
    assert of_text["text number 1"] == of_text["Text  number 1!"]
    for split in corpus.splits:
        labels = [record.labels for record in corpus.records(split)]
        assert 0.35 < labels.count(("A", "C", "B")) / len(labels) < 0.65


def test_labels_of_a_taxonomy_and_splits_by_file_name(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("Root\tA\nA\tB\tC\n", encoding="utf-8")
    for name in ("train", "valid"):
        (tmp_path / f"{name}.csv").write_bytes(csv_bytes([["text", "label"], [name, "B; C"]]))
    prepared = prepare(
        tmp_path,
        tmp_path / "train.csv",
        tmp_path / "valid.csv",
        text_column=("text",),
        label_column=("label",),
        taxonomy=tmp_path / "own.tsv",
    )
    assert prepared.statistics.documents == {"train": 1, "dev": 1, "test": 0}
    assert next(open_corpus(tmp_path / "out").records("dev")).labels == ("A", "B", "C")


def test_plain_labels_are_one_level_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv_bytes([["text", "label"], ["x", "B"], ["y", "C"]]))
    prepared = prepare(
        tmp_path,
        tmp_path / "a.csv",
        text_column=("text",),
        label_column=("label",),
        dev_share=0.0,
        test_share=0.0,
    )
    assert prepared.statistics.depth == 1
    assert any("all labels are on one level" in note for note in prepared.notes)


def test_faults(tmp_path: Path) -> None:
    columns = {"text_column": ("text",), "label_column": ("label",)}
    file = tmp_path / "a.csv"
    file.write_bytes(csv_bytes([["text", "label", "part"], ["x", "B", "train"], ["y", "C", "?"]]))
    with pytest.raises(UsageError, match="table needs --text-column and --label-column"):
        prepare(tmp_path, file)
    with pytest.raises(RecordError, match='no column "words"'):
        prepare(tmp_path, file, text_column=("words",), label_column=("label",))
    with pytest.raises(CorpusError, match=r"a\.csv:3: split '\?' is none of train"):
        prepare(tmp_path, file, split_column="part", **columns)
    with pytest.raises(UsageError, match="fraction"):
        prepare(tmp_path, file, dev_share=0.7, test_share=0.7, **columns)
    file.write_bytes(b"text,label\nx,B\ny\n")
    with pytest.raises(CorpusError, match=r"a\.csv:3: broken row"):
        prepare(tmp_path, file, **columns)
    (tmp_path / "a.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="JSON lines need no conversion"):
        prepare(tmp_path, tmp_path / "a.jsonl", **columns)
    assert not (tmp_path / "out").exists()


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.csv.gz"
    file.write_bytes(gzip.compress(csv_bytes([["t", "l"], *[["a text", "A > B"]] * 1000]))[:-12])
    with pytest.raises(RecordError, match=r"table\.csv\.gz: damaged after \d+ records"):
        prepare(tmp_path, file, text_column=("t",), label_column=("l",))
