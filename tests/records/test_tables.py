from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from hbgl.errors import RecordError
from hbgl.records import Columns, Record, SkippedRecords, read_records, write_records
from hbgl.records.sources import Format
from hbgl.taxonomy import Taxonomy

TREE = Taxonomy.from_paths([("science", "physics"), ("sports",)])


def read(content: bytes, kind: Format = "csv", **options: object) -> list[Record]:
    return list(read_records(io.BytesIO(content), format=kind, **options))  # type: ignore[arg-type]


def skip(content: bytes, kind: Format = "csv", **options: object) -> tuple[list[Record], list[str]]:
    with SkippedRecords() as skipped:
        records = read(content, kind, on_error="skip", skipped=skipped, **options)
    return records, [f"{fault.line}: {fault.message}" for fault in skipped.faults]


def test_rows_over_several_lines_keep_their_first_line_number() -> None:
    content = b'text,labels,id\n"two\nlines",physics;sports,7\n\nnext,,\n'
    first, second = read(content, taxonomy=TREE)
    assert first == Record("two\nlines", ("science", "sports", "physics"), "7")
    assert (first.line, second.line) == (2, 5)
    assert second == Record("next")


def test_label_columns_are_the_levels_of_a_path() -> None:
    columns = Columns(labels=["one", "two"])
    content = b"one,two,text\nscience,physics,a\nsports,,b\n,physics,c\nsports,physics,d\n"
    content += b"science;sports,physics,e\n,,f\n"
    records, faults = skip(content, columns=columns, taxonomy=TREE)
    assert [(record.text, record.labels) for record in records] == [
        ("a", ("science", "physics")),
        ("b", ("sports",)),
        ("e", ("science", "sports", "physics")),
        ("f", ()),
    ]
    assert faults == [
        "4: wrong path: level 1 is empty but a deeper level is not",
        '5: wrong path: there is no path "sports > physics"',
    ]


def test_one_broken_row_does_not_spoil_the_next() -> None:
    content = (
        b"text,labels\ngood,sports\ncaf\xe9,sports\na,b,c\nshort\n"
        b'"quote"x,sports\n,sports\nlast,physics\n'
    )
    records, faults = skip(content, taxonomy=TREE)
    assert [record.text for record in records] == ["good", "last"]
    assert faults == [
        '3: broken UTF-8 in column "text"; save the file as UTF-8',
        "4: broken row: 3 cells, the header has 2; "
        "put quotes around cells that hold a delimiter or a line end",
        "5: broken row: 1 cells, the header has 2; "
        "put quotes around cells that hold a delimiter or a line end",
        "6: broken row: ',' expected after '\"'",
        '7: no text: "text" is null',
    ]


def test_a_quote_that_is_never_closed_loses_nothing_in_silence() -> None:
    records, faults = skip(b'text\ngood\n"open\nx\ny\n')
    assert [record.text for record in records] == ["good"]
    assert faults == ["3: broken row: a quote is opened here and never closed"]
    records, faults = skip(b'text\n"open\n' + b"x" * 90 + b"\nlast\n", max_line_bytes=50)
    assert [record.text for record in records] == ["last"]
    assert "oversize line" in faults[0]


def test_cells_longer_than_the_default_of_the_csv_module() -> None:
    assert len(read(b"text\n" + b"x" * 300_000 + b"\n")[0].text) == 300_000


def test_tab_separated_with_and_without_quotes() -> None:
    assert read(b'text\tlabels\n"a\tb"\tsports\n', "tsv")[0].text == "a\tb"
    assert read(b'text\tlabels\n"open\tsports\n', "tsv", quoted=False)[0].text == '"open'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a table begins with a line that names its columns"),
        (b"body,labels\n", 'no column "text"; name the text column .found: "body", "labels"'),
        (b"text,text\n", 'the column "text" is there twice'),
        (b'"text\n', "the header line cannot be read"),
        ("text,labels\n".encode("utf-16"), "read: it is not UTF-8; save the file as UTF-8"),
    ],
)
def test_headers_that_cannot_be_used(content: bytes, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        read(content)


def test_named_columns_must_be_there() -> None:
    with pytest.raises(RecordError, match='no column "topic"'):
        read(b"text,labels\na,b\n", columns=Columns(labels="topic"))
    with pytest.raises(RecordError, match='no column "key"'):
        read(b"text,labels\na,b\n", columns=Columns(id="key"))


def test_parquet_columns_of_any_type(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    table = pa.table(
        {
            "text": ["a", None, "c", "d", "e"],
            "labels": [["physics"], [], None, ["sprots"], ["sports"]],
            "id": [1.0, 2.0, None, None, float("nan")],
            "other": [object.__name__] * 5,
        }
    )
    parquet.write_table(table, path)
    with SkippedRecords() as skipped:
        records = list(read_records(path, taxonomy=TREE, on_error="skip", skipped=skipped))
    assert records == [Record("c")]
    assert [(fault.line, fault.message.partition(";")[0]) for fault in skipped.faults] == [
        (1, "wrong id: it must be a string or an integer, not float"),
        (2, 'no text: "text" is null'),
        (4, 'unknown label "sprots"'),
        (5, "wrong id: the id is NaN"),
    ]


def test_parquet_with_broken_text_in_one_row(tmp_path: Path) -> None:
    broken = pa.array([b"good", b"caf\xe9", b"also"]).view(pa.string())
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"text": broken}), path)
    with SkippedRecords(tmp_path / "bad.jsonl") as skipped:
        records = list(read_records(path, on_error="skip", skipped=skipped))
    assert [record.text for record in records] == ["good", "also"]
    assert skipped.faults[0].message == 'broken UTF-8 in column "text"'
    assert '"line": 2' in (tmp_path / "bad.jsonl").read_text()


def test_parquet_level_columns_and_streams(tmp_path: Path) -> None:
    table = pa.table({"text": ["a", "b"], "one": ["science", "sports"], "two": ["physics", None]})
    path = tmp_path / "data.parquet"
    parquet.write_table(table, path, row_group_size=1)
    columns = Columns(labels=["one", "two"])
    with path.open("rb") as stream:
        records = list(read_records(stream, columns=columns, taxonomy=TREE))
    assert [record.labels for record in records] == [("science", "physics"), ("sports",)]
    assert records == list(read_records(path, columns=columns, taxonomy=TREE))
    for pack in (gzip.compress, zstandard.compress):
        packed = io.BytesIO(pack(path.read_bytes()))
        assert records == list(read_records(packed, columns=columns, taxonomy=TREE))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Cut off or altered: the reader says so after the records before the damage."""
    lines = [Record(f"text number {number}") for number in range(3000)]
    for name in ("data.jsonl.gz", "data.jsonl.zst", "data.parquet", "data.csv.gz"):
        path = tmp_path / name
        write_records(lines, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(RecordError, match=r"damaged"):
            list(read_records(path, on_error="skip", skipped=SkippedRecords()))
        path.write_bytes(whole[:40] + bytes(80) + whole[120:])
        with pytest.raises(RecordError):
            list(read_records(path))


def test_compression_is_seen_by_content(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(b'{"text": "a"}\n')
    with pytest.raises(RecordError, match="its content is not gz data"):
        list(read_records(path))
    line = b'{"text": "a"}\n'
    for packed in (
        gzip.compress(line) + gzip.compress(line),
        zstandard.compress(line) + zstandard.compress(line),
    ):
        assert list(read_records(io.BytesIO(packed))) == [Record("a")] * 2
    with pytest.raises(RecordError, match="damaged"):
        list(read_records(io.BytesIO(zstandard.compress(line) + b"garbage")))


def test_other_marks_between_cells_are_pointed_out() -> None:
    with pytest.raises(RecordError, match=r'found: "text;labels"; the cells of CSV are divided by'):
        next(read_records(io.BytesIO(b"text;labels\na;b\n"), format="csv"))
    with pytest.raises(RecordError, match=r'found: "texts"\)'):
        next(read_records(io.BytesIO(b"texts\na\n"), format="csv"))
