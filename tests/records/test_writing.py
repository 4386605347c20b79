from __future__ import annotations

import gzip
import json
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hbgl.errors import MissingExtraError, RecordError, UsageError
from hbgl.records import Columns, Record, read_records, write_records

FORMATS = ["jsonl", "csv", "tsv", "parquet"]
ZERO_IN_TABLES = tuple(sys.version_info) >= (3, 11)
RECORDS = [
    Record("plain", ("a", "b c"), "1"),
    Record('quotes " and, commas\tand\nlines\r\n', ("with;delimiter", "[bracket"), None),
    Record("Ünïcode 漢字 🙂", (), "x"),
]

texts = st.text(min_size=1).filter(lambda text: bool(text.strip()))
names = st.text(string.ascii_letters + "[];,\"'é", min_size=1)
records = st.builds(
    Record, texts, st.lists(names, unique=True, max_size=3).map(tuple), st.none() | names
)


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str, compression: str) -> None:
    path = tmp_path / f"data.{suffix}{compression}"
    assert write_records(RECORDS, path) == 3
    back = list(read_records(path))
    assert back == RECORDS
    assert back[0].line == (2 if suffix in ("csv", "tsv") else 1)
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", FORMATS)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(written=st.lists(records, max_size=5))
def test_any_record_survives(tmp_path: Path, suffix: str, written: list[Record]) -> None:
    if suffix in ("csv", "tsv") and not ZERO_IN_TABLES:
        assume(not any("\0" in record.text for record in written))
    path = tmp_path / f"data.{suffix}"
    write_records(written, path)
    assert list(read_records(path)) == written


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_records(RECORDS, tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    line = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()[0]
    assert json.loads(line) == {"text": "plain", "labels": ["a", "b c"], "id": "1"}


def test_columns_are_named_by_option(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    write_records(RECORDS[:1], path, columns=Columns("body", "tags", None), label_delimiter="|")
    assert path.read_text() == "body,tags\nplain,a|b c\n"
    with pytest.raises(UsageError, match="one column"):
        write_records(RECORDS, path, columns=Columns(labels=["one", "two"]))
    with pytest.raises(UsageError, match="format"):
        write_records(RECORDS, tmp_path / "data.doc")


def test_a_file_is_complete_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("before")

    def failing() -> Iterator[Record]:
        yield RECORDS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_records(failing(), path)
    assert path.read_text() == "before"
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", FORMATS)
def test_lone_surrogates_are_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(RecordError, match="lone surrogate"):
        write_records([Record("half \ud800")], tmp_path / f"data.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_the_zero_character_in_tables(tmp_path: Path, suffix: str) -> None:
    """The csv module before Python 3.11 can neither write nor read it: refused, never lost."""
    path, records = tmp_path / f"data.{suffix}", [Record("a\0b"), Record("c")]
    if ZERO_IN_TABLES:
        write_records(records, path)
    else:
        with pytest.raises(RecordError, match="write JSONL or Parquet"):
            write_records(records, path)
        path.write_bytes(b"text\na\0b\nc\n")
    reader = read_records(path, on_error="skip")
    assert [record.text for record in reader] == ["a\0b", "c"][not ZERO_IN_TABLES :]
    assert reader.summary.by_reason == ({} if ZERO_IN_TABLES else {"broken row": 1})


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written"):
        write_records(RECORDS, tmp_path / "nowhere" / "data.jsonl")


def test_zstd_names_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.jsonl.zst"
    write_records(RECORDS, path)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hbgl\[zstd\]'"):
        list(read_records(path))
    with pytest.raises(MissingExtraError):
        write_records(RECORDS, path)


def test_parquet_is_written_in_row_groups_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of at most 4 records or 30 characters: 4, 4, then two of 20 characters each."""
    from pyarrow import parquet

    monkeypatch.setattr("hbgl.records.writing.GROUP_RECORDS", 4)
    monkeypatch.setattr("hbgl.records.writing.GROUP_CHARACTERS", 30)
    path = tmp_path / "data.parquet"
    written = [Record(text) for text in ["a"] * 8 + ["b" * 20] * 3]
    write_records(written, path)
    metadata = parquet.read_metadata(path)
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert sizes == [4, 4, 2, 1]
    assert list(read_records(path)) == written
