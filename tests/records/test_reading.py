from __future__ import annotations

import gzip
import io
import json
import logging
from pathlib import Path

import pytest

from hbgl.errors import RecordError, UsageError
from hbgl.records import Columns, Record, SkippedRecords, infer_taxonomy, read_records
from hbgl.taxonomy import Taxonomy

TREE = Taxonomy.from_paths([("science", "physics", "optics"), ("science", "biology"), ("sports",)])
# "robotics" has two parents.
GRAPH = Taxonomy.from_paths([("ai", "robotics"), ("engineering", "robotics"), ("law",)])


def stream(*lines: object) -> io.BytesIO:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return io.BytesIO(b"\n".join(raw) + b"\n")


def labels(value: object, taxonomy: Taxonomy = TREE, **options: str) -> tuple[str, ...]:
    source = stream({"text": "a", "labels": value})
    [record] = read_records(source, taxonomy=taxonomy, **options)  # type: ignore[arg-type]
    return record.labels


def fault(*lines: object, **options: object) -> str:
    with pytest.raises(RecordError) as caught:
        list(read_records(stream(*lines), **{"taxonomy": TREE, **options}))  # type: ignore[arg-type]
    return str(caught.value)


def test_a_record_has_text_labels_id_and_line() -> None:
    source = stream({"text": "a", "labels": ["sports"], "id": 7}, b"  ", {"text": "b"})
    first, second = read_records(source, taxonomy=TREE)
    assert first == Record("a", ("sports",), "7")
    assert (first.line, second.line) == (1, 3)
    assert second == Record("b")


def test_ancestors_are_added_in_taxonomy_order() -> None:
    """optics -> its parent physics and its grandparent science; sports has none."""
    expected = ("science", "sports", "physics", "optics")
    assert labels(["optics", "sports"]) == expected
    assert labels(["science > physics > optics", "sports"]) == expected
    assert labels([["science", "physics", "optics"], ["sports"]]) == expected
    assert labels("optics; sports") == expected
    assert labels("science > physics > optics;sports") == expected
    assert labels('["optics", "sports"]') == expected
    assert labels("sports|optics", label_delimiter="|") == expected
    assert labels("science/physics/optics;sports", path_separator="/") == expected
    assert labels(["physics > optics", " sports "]) == expected


def test_a_path_names_the_parent_in_a_graph() -> None:
    """A label alone comes with both parents, a path with the one that it names."""
    assert labels(["robotics"], GRAPH) == ("ai", "engineering", "robotics")
    assert labels(["ai > robotics"], GRAPH) == ("ai", "robotics")
    assert labels([["engineering", "robotics"], "law"], GRAPH) == ("engineering", "law", "robotics")


def test_a_label_may_hold_the_delimiter() -> None:
    taxonomy = Taxonomy.from_paths([("a; b",), ("c",)])
    assert labels("a; b", taxonomy) == ("a; b",)


def test_without_a_taxonomy_labels_are_as_given() -> None:
    [record] = read_records(stream({"text": "a", "labels": ["x > y", "y", "w"]}))
    assert record.labels == ("x", "y", "w")


def test_documents_without_labels_are_allowed_unless_labels_are_required() -> None:
    assert labels([]) == labels(None) == labels("") == ()
    assert "no labels" in fault({"text": "a", "labels": []}, require_labels=True)


def test_the_older_json_is_read_as_it_is() -> None:
    source = stream(
        {"token": "a text", "label": ["sports"]},
        {"doc_token": ["a", "text"], "doc_label": ["biology"], "doc_topic": []},
        {"text": "a text", "label": "sports"},
    )
    records = list(read_records(source, taxonomy=TREE))
    assert [record.text for record in records] == ["a text"] * 3
    assert [record.labels for record in records] == [
        ("sports",),
        ("science", "biology"),
        ("sports",),
    ]


def test_columns_are_named_by_option() -> None:
    line = {"abstract": "a", "area": "science", "topic": "biology", "key": "k1"}
    columns = Columns(text="abstract", labels=["area", "topic"], id="key")
    [record] = read_records(stream(line), taxonomy=TREE, columns=columns)
    assert record == Record("a", ("science", "biology"), "k1")
    assert "no field" in fault(line, columns=Columns(text="abstract", labels="topics"))
    with pytest.raises(UsageError, match="two purposes"):
        Columns(text="a", labels="a")
    with pytest.raises(UsageError, match="empty"):
        Columns(labels=[])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": "a", "labels": ["sprots"]}, 'unknown label "sprots"; did you mean "sports"'),
        ({"text": "a", "labels": ["sports > physics"]}, 'no path "sports > physics"'),
        ({"text": "a", "labels": ["physics > biology"]}, '"biology" stands below "science"'),
        ({"text": "a", "labels": ["sports", ""]}, "empty label"),
        ({"text": "a", "labels": [[]]}, "empty label"),
        ({"text": "a", "labels": [3]}, "each label must be a string or a path, not int"),
        ({"text": "a", "labels": [["science", None]]}, "must be a string, not NoneType"),
        ({"text": "a", "labels": {"sports": 1}}, "labels must be a list or a string, not dict"),
        ({"labels": ["sports"]}, 'no text: there is no field "text" (found: "labels")'),
        ({"text": " \n", "labels": []}, 'no text: "text" is empty'),
        ({"text": None, "labels": []}, 'no text: "text" is null'),
        ({"text": ["a"], "labels": []}, '"text" must be a string, not list'),
        ({"token": ["a", 1], "label": []}, 'a token in "token" is not a string'),
        ({"text": "a", "id": float("nan")}, "the id is NaN"),
        ({"text": "a", "id": 1.5}, "must be a string or an integer, not float"),
        ({"text": "a", "id": True}, "must be a string or an integer, not bool"),
        ({"text": "a \ud800", "labels": []}, "lone surrogate U+D800 at position 2"),
        ({"text": "a", "id": "\udfff"}, "the id has a lone surrogate U+DFFF"),
        (["text"], "a line must be a JSON object, not list"),
        (b'{"text": "a"', "broken JSON: Expecting"),
        (b"[" * 100_000, "broken JSON"),
        (b'{"text": "a", "id": ' + b"1" * 5000 + b"}", "broken JSON"),
        (b'{"text": "caf\xe9"}', "broken UTF-8: byte 0xe9 at position 13"),
    ],
)
def test_faults_come_with_line_and_reason(line: object, message: str) -> None:
    """The bad record stands on line 2."""
    text = fault({"text": "good", "labels": ["sports"]}, line)
    assert "stream:2: " in text
    assert message in text


def test_the_last_of_duplicate_keys_counts() -> None:
    [record] = read_records(stream(b'{"text": "a", "text": "b", "labels": []}'))
    assert record.text == "b"


def test_oversize_lines_are_never_held() -> None:
    source = stream({"text": "x" * 1000}, {"text": "b"}, {"text": "y" * 100_000})
    with SkippedRecords() as skipped:
        [record] = read_records(source, on_error="skip", skipped=skipped, max_line_bytes=200)
    assert record == Record("b")
    assert [item.line for item in skipped.faults] == [1, 3]
    assert "oversize line: 1,013 bytes, the limit is 200" in skipped.faults[0].message


def test_a_line_of_exactly_the_limit_is_read() -> None:
    line = b'{"text": "abcd"}'
    assert len(list(read_records(stream(line, line), max_line_bytes=len(line)))) == 2
    assert "oversize" in fault(line, max_line_bytes=len(line) - 1)


def test_skipped_records_go_to_a_side_file_with_their_reason(tmp_path: Path) -> None:
    """Three bad lines out of four: each is in the side file as it was, and counted."""
    source = tmp_path / "all.jsonl"
    long = b'{"text": "' + b"z" * 200_000 + b'"}'
    source.write_bytes(b'{"text": "a", "labels": ["sprots"]}\r\n{"text": "b"}\n\xff\xfe\n' + long)
    side = tmp_path / "bad.jsonl"
    with SkippedRecords(side) as skipped:
        reader = read_records(
            source, taxonomy=TREE, on_error="skip", skipped=skipped, max_line_bytes=100_000
        )
        assert [record.text for record in reader] == ["b"]
        assert not side.exists()
    unknown, broken, oversize = (json.loads(line) for line in side.read_text().splitlines())
    assert unknown["reason"] == "unknown label"
    assert unknown["raw"] == '{"text": "a", "labels": ["sprots"]}'
    assert (unknown["file"], unknown["line"]) == (str(source), 1)
    assert broken["raw_base64"] == "//4K"
    assert (oversize["bytes"], len(oversize["raw"])) == (len(long), 64 * 1024)
    assert (reader.summary.read, reader.summary.skipped) == (1, 3)
    assert str(skipped.summary) == (
        "read 1 records, skipped 3 (1 unknown label, 1 broken UTF-8, 1 oversize line)"
    )


def test_no_side_file_where_nothing_was_skipped(tmp_path: Path) -> None:
    with SkippedRecords(tmp_path / "bad.jsonl") as skipped:
        list(read_records(stream({"text": "a"}), on_error="skip", skipped=skipped))
    assert list(tmp_path.iterdir()) == []


def test_skipping_without_a_taker_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        list(read_records(stream({"text": ""}), on_error="skip"))
    assert "read 0 records, skipped 1 (1 no text)" in caplog.text


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b'{"text": "a"}\n')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed))))
    assert list(read_records("-")) == [Record("a")]


def test_the_stream_of_the_caller_stays_open() -> None:
    source = stream({"text": "a"})
    assert len(list(read_records(source))) == 1
    assert not source.closed
    source.close()
    with pytest.raises(UsageError, match="closed"):
        list(read_records(source))
    with pytest.raises(UsageError, match="binary"):
        list(read_records(io.StringIO("x")))  # type: ignore[arg-type]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file"):
        list(read_records(tmp_path / "none.jsonl"))
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(RecordError, match="cannot be opened"):
        list(read_records(tmp_path / "folder.jsonl"))
    with pytest.raises(UsageError, match=r"name the format.*\.parquet"):
        list(read_records(tmp_path / "data.docx"))
    with pytest.raises(UsageError, match="on_error"):
        read_records("-", on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="delimiter"):
        read_records("-", label_delimiter="")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert list(read_records(stream(b'\xef\xbb\xbf{"text": "a"}'))) == [Record("a")]


def test_a_byte_order_mark_does_not_divide_a_line_at_the_limit() -> None:
    """The mark has three bytes: the first line has 19, one more than the limit."""
    source = stream(b'\xef\xbb\xbf{"text": "abcd"}', {"text": "b"})
    with SkippedRecords() as skipped:
        [record] = read_records(source, on_error="skip", skipped=skipped, max_line_bytes=18)
    assert record == Record("b")
    assert [(item.line, item.message[:13]) for item in skipped.faults] == [(1, "oversize line")]


def test_a_taxonomy_is_read_from_label_paths() -> None:
    lines = [{"text": "a", "labels": ["x > y", "w"]}, b"{", {"text": "b", "labels": [3]}]
    taxonomy = infer_taxonomy(stream(*lines), on_error="skip")
    assert taxonomy == Taxonomy.from_paths([("x", "y"), ("w",)])
    with pytest.raises(RecordError, match=r"stream:2: broken JSON"):
        infer_taxonomy(stream(*lines))
    with pytest.raises(RecordError, match=r"stream:2: wrong type: each label"):
        infer_taxonomy(stream(lines[0], lines[2]))
    columns = Columns(labels=["one", "two"])
    taxonomy = infer_taxonomy(stream({"text": "a", "one": "x", "two": "y"}), columns=columns)
    assert taxonomy.labels == ("x", "y")
    with pytest.raises(RecordError, match="no paths"):
        infer_taxonomy(stream({"text": "a", "labels": ["x", "y"]}))
    with pytest.raises(RecordError, match="no labels, so no taxonomy can be read"):
        infer_taxonomy(stream({"text": "a", "category": "x > y"}))


def test_a_taxonomy_is_not_read_from_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a", "labels": ["x > y"]}\n' * 1000)[:-12])
    with pytest.raises(
        RecordError, match=r"a\.jsonl\.gz: damaged after \d+ records: .* get the file"
    ):
        infer_taxonomy(path)


def test_closures_are_remembered_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hbgl.records.labels.CACHE_SIZE", 2)
    lines = [{"text": "a", "labels": [name]} for name in ("sports", "biology", "optics") * 2]
    found = [record.labels[-1] for record in read_records(stream(*lines), taxonomy=TREE)]
    assert found == ["sports", "biology", "optics"] * 2
