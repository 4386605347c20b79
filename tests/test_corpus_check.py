from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hbgl.cli.data_check import check as check_command
from hbgl.corpus_check import check_corpus
from hbgl.errors import CorpusError

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

TAXONOMY = "Root\tscience\tsports\nscience\tphysics\tbiology\nphysics\toptics\n"


def folder(path: Path, **splits: list[tuple[str, list[str]]]) -> Path:
    (path / "taxonomy.tsv").write_text(TAXONOMY)
    for name, documents in splits.items():
        lines = (json.dumps({"text": text, "labels": labels}) for text, labels in documents)
        (path / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    return path


GOOD: dict[str, list[tuple[str, list[str]]]] = {
    "train": [("a b c", ["optics"]), ("d e", ["optics", "sports"]), ("A-b, C", ["sports"])],
    "dev": [("f", ["biology"]), ("d  E!", ["optics", "sports"])],
    "test": [("g h", ["sports", "science"])],
    "extra": [("i", []), ("j", [])],
}


def test_statistics_of_a_small_corpus(tmp_path: Path) -> None:
    """Closed label sets have 3, 4, 1 (train), 2, 4 (dev) and 2 (test) labels: 16 in 6 documents.

    Several paths: two documents with optics and sports, one with science and sports.
    """
    report = check_corpus(folder(tmp_path, **GOOD))
    assert report.fault_count == 0
    assert (report.labels, report.leaves, report.depth) == (5, 3, 3)
    assert report.labels_per_level == [2, 2, 1]
    assert {name: split.documents for name, split in report.splits.items()} == {
        "train": 3,
        "dev": 2,
        "test": 1,
        "extra": 2,
    }
    assert report.labels_per_document == 16 / 6
    assert report.words_per_document == (3 + 2 + 2 + 1 + 2 + 2) / 6
    assert report.multi_path_share == 3 / 6
    assert report.documents_by_deepest_level == [2, 1, 3]
    assert report.rarest_labels == [("science", 2), ("sports", 2), ("physics", 2), ("optics", 2)]
    assert report.labels_without_documents == []
    assert report.labels_without_training_documents == ["biology"]
    assert report.splits["extra"].without_labels == 2
    assert report.documents_without_labels == 0


def test_duplicates_within_and_across_splits(tmp_path: Path) -> None:
    """Line 3 of train is its line 1 in other words and labels; line 2 of dev is line 2 of train."""
    within, across = check_corpus(folder(tmp_path, **GOOD)).duplicates
    assert (within.split, within.earlier, within.documents, within.other_labels) == (
        "train",
        "train",
        1,
        1,
    )
    assert within.examples == ["train.jsonl:3 = train.jsonl:1"]
    assert (across.split, across.earlier, across.documents, across.other_labels) == (
        "dev",
        "train",
        1,
        0,
    )


def test_faulty_words_do_not_hide_the_faults_of_records(tmp_path: Path) -> None:
    folder(tmp_path, train=[("a", ["optcs"]), ("b", ["optics"])], dev=[], test=[])
    (tmp_path / "names.json").write_text('{"sprots": "all sports"}')
    report = check_corpus(tmp_path)
    assert [fault.message.partition(";")[0] for fault in report.faults] == [
        'words for the unknown label "sprots"',
        'unknown label "optcs"',
    ]
    assert (report.labels, report.documents) == (5, 1)


def test_faulty_descriptions_are_faults(tmp_path: Path) -> None:
    folder(tmp_path, train=[("b", ["optics"])], dev=[], test=[])
    (tmp_path / "descriptions.json").write_text('{"optics": "light",\n"optcs": "light"}')
    report = check_corpus(tmp_path)
    [fault] = report.faults
    assert fault.line == 2
    assert fault.message.startswith('a description of the unknown label "optcs"')


def test_a_corpus_without_documents_is_faulty(tmp_path: Path) -> None:
    report = check_corpus(folder(tmp_path, train=[], extra=[("a", [])]))
    assert [fault.message for fault in report.faults] == ["no documents in train, dev and test"]
    assert report.fault_count == 1


def test_several_parents_make_several_paths(tmp_path: Path) -> None:
    (tmp_path / "taxonomy.tsv").write_text("Root\ta\tb\na\tc\nb\tc\n")
    lines = [{"text": "x", "labels": ["c"]}, {"text": "y", "labels": ["a > c"]}]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = check_corpus(tmp_path)
    assert (report.is_tree, report.multi_path_share) == (False, 0.5)


def test_all_faults_are_found(tmp_path: Path) -> None:
    """Two bad lines, a split that is there twice, a damaged file: four faults."""
    path = folder(tmp_path, train=[("a", ["sprots"]), ("b", ["sports"]), ("", ["sports"])])
    (path / "train.jsonl.gz").touch()
    packed = gzip.compress(b'{"text": "a b", "labels": []}\n' * 50_000)
    (path / "test.jsonl.gz").write_bytes(packed[:-200])
    report = check_corpus(path)
    assert report.fault_count == len(report.faults) == 4
    text = "\n".join(map(str, report.faults))
    assert 'train.jsonl:1: unknown label "sprots"; did you mean "sports"' in text
    assert 'train.jsonl:3: no text: "text" is empty' in text
    assert "there twice" in text
    assert "test.jsonl.gz: damaged after" in text
    assert all(fault.file is not None for fault in report.faults)
    assert report.splits["train"].documents == 1
    assert report.splits["test"].documents > 1000
    assert check_corpus(path, max_faults=2).fault_count == 4
    assert len(check_corpus(path, max_faults=2).faults) == 2


def test_folders_that_are_no_corpora(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such folder"):
        check_corpus(tmp_path / "none")
    report = check_corpus(tmp_path)
    assert list(map(str, report.faults)) == [
        f"{tmp_path}: none of train, dev, test as .jsonl, .jsonl.gz or .jsonl.zst",
        f"{tmp_path / 'taxonomy.tsv'}: no such file, and every corpus needs its taxonomy",
    ]
    assert report.missing_splits == ["train", "dev", "test"]
    (tmp_path / "taxonomy.tsv").write_text("Root\ta\tb\na\tb\nb\ta\n")
    (tmp_path / "train.jsonl").write_text('{"text": "x", "labels": ["q"]}\n')
    report = check_corpus(tmp_path)
    assert any("cycle" in fault.message for fault in report.faults)
    assert report.documents == 1


app = typer.Typer()
app.command()(check_command)


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    path = folder(tmp_path, **GOOD)
    plain = CliRunner().invoke(app, [str(path)])
    assert plain.exit_code == 0
    assert "labels L                  5 (2 + 2 + 1 by level; 3 leaves)" in plain.output
    assert "multi-path documents      50.0%" in plain.output
    assert "1 of dev in train, as dev.jsonl:2 = train.jsonl:2" in plain.output
    report = json.loads(CliRunner().invoke(app, [str(path), "--json"]).stdout)
    assert report["labels_per_document"] == pytest.approx(16 / 6)
    assert report["splits"]["train"]["words_per_document"] == pytest.approx(7 / 3)


def test_the_command_fails_where_there_are_faults(tmp_path: Path) -> None:
    path = folder(tmp_path, train=[("a", ["sprots"])] * 3)
    result = CliRunner().invoke(app, [str(path), "--max-faults", "2"])
    assert result.exit_code == 1
    assert result.output.startswith("3 faults:\n")
    assert "and 1 more" in result.output
    assert "documents in dev          there is no such file" in result.output


def test_the_table_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from hbgl.cli import data_check

    path = folder(tmp_path, **GOOD)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    data_check.check(str(path))


@pytest.mark.parametrize(
    ("name", "labels", "per_document", "words", "several", "documents"),
    [
        ("arxiv", [8, 108, 41], 4.001, 177.4, 0.740, [20000, 2000, 4000]),
        ("clinc150", [10, 150], 2.0, 8.3, 0.0, [14939, 2995, 4499, 1000]),
        ("reuters21578", [6, 35, 29], 2.278, 126.9, 0.097, [6903, 767, 3002]),
    ],
)
def test_the_published_statistics_of_real_corpora(
    name: str,
    labels: list[int],
    per_document: float,
    words: float,
    several: float,
    documents: list[int],
) -> None:
    """The README beside each corpus gives the figures."""
    if not (SHARED / name).is_dir():
        pytest.skip(f"{name} is not here")
    report = check_corpus(SHARED / name)
    assert report.fault_count == 0
    assert report.labels_per_level == labels
    assert round(report.labels_per_document, 3) == per_document
    assert round(report.words_per_document, 1) == words
    assert round(report.multi_path_share, 3) == several
    assert [split.documents for split in report.splits.values()] == documents
