"""Web of Science: both raw forms, the traps of the format, the literature's split."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from hbgl.corpora import PreparedCorpus, PrepareOptions, open_corpus, prepare_corpus
from hbgl.corpora.wos import literature_split
from hbgl.errors import CorpusError
from hbgl.records import Record

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "wos-sample"
HEADER = "Y1\tY2\tY\tDomain\tarea\tkeywords\tAbstract\n"
# (Y1, Y2, Y, Domain, area, keywords, Abstract), blanks and quotes as in the distribution.
ROWS = [
    (
        "0",
        "7",
        "7",
        "CS ",
        " Parallel computing  ",
        "shells; fracture   ",
        "A  framework for shells.",
    ),
    ("5", "48", "120", "Medical ", " Depression  ", "mood        ", '"They say ""hello"" here."'),
    ("2", "3", "39", "Psychology ", " Depression  ", "mood  ", "Low mood in winter."),
    ("5", "10", "82", "Medical ", " Bipolar Disorder  ", "a", "First of this number."),
    ("5", "10", "82", "Medical ", " Schizophrenia  ", "b", "Second under the other name."),
    ("5", "10", "82", "Medical ", " Bipolar Disorder  ", "c", "Third."),
]


def write_text(path: Path, rows: Sequence[tuple[str, ...]] = ROWS) -> Path:
    lines = ["\t".join(row) + "\n" for row in rows]
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return path


def prepare(tmp_path: Path, *raw: Path, **options: Path | int) -> PreparedCorpus:
    return prepare_corpus(
        "wos",
        raw,
        tmp_path / "out",
        PrepareOptions(**options),  # type: ignore[arg-type]
    )


def all_records(folder: Path) -> dict[str, Record]:
    corpus = open_corpus(folder)
    found = [record for split in corpus.splits for record in corpus.records(split)]
    return {record.id or "": record for record in found}


def test_text_table(tmp_path: Path) -> None:
    """Six rows: one label per number, the number's most frequent name, unique names."""
    prepared = prepare(tmp_path, write_text(tmp_path / "Data.txt"))
    records = all_records(tmp_path / "out")
    assert records["0"].text == "A framework for shells."
    assert records["0"].labels == ("CS", "Parallel computing")
    assert records["1"].text == 'They say "hello" here.'
    assert records["1"].labels == ("Medical", "Depression (Medical)")
    assert records["2"].labels == ("Psychology", "Depression (Psychology)")
    assert {records[i].labels[1] for i in "345"} == {"Bipolar Disorder"}
    taxonomy = open_corpus(tmp_path / "out").taxonomy
    assert taxonomy.labels[:3] == ("CS", "Psychology", "Medical")
    assert taxonomy.names["CS"] == "computer science"
    assert taxonomy.names["Depression (Medical)"] == "Depression"
    assert prepared.statistics.labels == 7
    assert prepared.statistics.documents == {"train": 3, "dev": 1, "test": 2}
    assert "labels: 7 here, 141 published (-134)" in prepared.differences
    assert any("6 rows, WOS-46985 has 46,985" in note for note in prepared.notes)
    assert any("seeds 7 and 0" in note for note in prepared.notes)


def test_spreadsheet_gives_what_the_text_gives(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(HEADER.rstrip("\n").split("\t"))
    for row in ROWS:
        text = row[6]
        if text.startswith('"'):  # the text form quotes, the spreadsheet does not
            text = text[1:-1].replace('""', '"')
        book.active.append([int(row[0]), float(row[1]), int(row[2]), *row[3:6], text])
    book.save(tmp_path / "Data.xlsx")
    prepare(tmp_path, tmp_path / "Data.xlsx")
    from_sheet = all_records(tmp_path / "out")
    prepare_corpus("wos", [write_text(tmp_path / "Data.txt")], tmp_path / "text")
    assert from_sheet == all_records(tmp_path / "text")


def test_numbered_lines_have_numbers_for_names(tmp_path: Path) -> None:
    folder = tmp_path / "WOS46985"
    folder.mkdir()
    (folder / "X.txt").write_text("One text.\nTwo  texts.\nThree.\n\n", encoding="utf-8")
    (folder / "YL1.txt").write_text("0\n5\n5\n", encoding="utf-8")
    (folder / "YL2.txt").write_text("7\n7\n12\n", encoding="utf-8")
    prepare(tmp_path, folder)
    records = all_records(tmp_path / "out")
    assert records["1"].text == "Two texts."
    assert {records[i].labels for i in "012"} == {("0", "0-7"), ("5", "5-7"), ("5", "5-12")}


def test_names_come_from_the_table_where_both_forms_are_given(tmp_path: Path) -> None:
    write_text(tmp_path / "Data.txt")
    for name in ("X.txt", "YL1.txt", "YL2.txt"):
        (tmp_path / name).write_text("0\n" * 6, encoding="utf-8")
    prepared = prepare(
        tmp_path, *(tmp_path / n for n in ("X.txt", "YL1.txt", "YL2.txt", "Data.txt"))
    )
    assert all_records(tmp_path / "out")["0"].labels == ("CS", "Parallel computing")
    assert any("X.txt was not needed" in note for note in prepared.notes)


@pytest.mark.parametrize("documents", [10, 46985])
def test_split_is_that_of_the_published_scripts(documents: int) -> None:
    """They shuffle all row numbers, then call train_test_split twice, with these seeds."""
    state = np.random.RandomState(7)
    rows = list(range(documents))
    state.shuffle(rows)
    rest, test = train_test_split(np.array(rows), test_size=0.2, random_state=0)
    train, dev = train_test_split(rest, test_size=0.2, random_state=0)
    splits = np.array(literature_split(documents))
    assert sorted(np.flatnonzero(splits == "test")) == sorted(test)
    assert sorted(np.flatnonzero(splits == "dev")) == sorted(dev)
    assert sorted(np.flatnonzero(splits == "train")) == sorted(train)
    if documents == 46985:
        assert Counter(splits.tolist()) == {"train": 30070, "dev": 7518, "test": 9397}


def test_id_lists_and_other_seeds(tmp_path: Path) -> None:
    data = write_text(tmp_path / "Data.txt")
    for split, rows in {"train": "0\n3\n", "dev": "1\n", "test": "2\n99\n"}.items():
        (tmp_path / split).write_text(rows, encoding="utf-8")
    lists = {f"{split}_ids": tmp_path / split for split in ("train", "dev", "test")}
    prepared = prepare(tmp_path, data, **lists)
    corpus = open_corpus(tmp_path / "out")
    assert [record.id for record in corpus.records("train")] == ["0", "3"]
    assert prepared.left_out == {"documents that no id list names": 2}
    assert any("1 ids of the lists were not found (such as 99)" in n for n in prepared.notes)
    prepared = prepare_corpus("wos", [data], tmp_path / "seed", PrepareOptions(seed=5))
    assert any("random split with seed 5" in note for note in prepared.notes)


def test_bad_rows_are_all_named(tmp_path: Path) -> None:
    rows = [
        *ROWS[:1],
        ("1", "2", "3"),
        ROWS[1],
        ("x", *ROWS[2][1:]),
        ("0", "1", "1", " ", *ROWS[0][4:]),
    ]
    with pytest.raises(CorpusError) as caught:
        prepare(tmp_path, write_text(tmp_path / "Data.txt", rows))
    assert [fault.line for fault in caught.value.faults] == [3, 5, 6]
    assert not (tmp_path / "out").exists()


def test_raw_files_of_another_form_are_refused(tmp_path: Path) -> None:
    (tmp_path / "Data.txt").write_text("text\tlabel\na\tb\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="no WOS data found; give Data"):
        prepare(tmp_path, tmp_path / "Data.txt")
    (tmp_path / "X.txt").write_text("One text.\nTwo.\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"X\.txt, YL1\.txt and YL2\.txt are needed"):
        prepare(tmp_path, tmp_path / "X.txt")
    (tmp_path / "YL1.txt").write_text("0\n", encoding="utf-8")
    (tmp_path / "YL2.txt").write_text("0\n1\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"X\.txt:2: lines do not fit together"):
        prepare(tmp_path, *(tmp_path / name for name in ("X.txt", "YL1.txt", "YL2.txt")))
    (tmp_path / "Data.xlsx").write_bytes(b"no spreadsheet")
    with pytest.raises(CorpusError, match="damaged or not a spreadsheet"):
        prepare(tmp_path, tmp_path / "Data.xlsx")


def test_equal_names_of_one_domain_stay_two_labels(tmp_path: Path) -> None:
    rows = [ROWS[0], ("0", "8", "8", *ROWS[0][3:])]
    prepare(tmp_path, write_text(tmp_path / "Data.txt", rows))
    labels = open_corpus(tmp_path / "out").taxonomy.labels
    assert labels == ("CS", "Parallel computing", "Parallel computing 8")


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the sample of raw records is not here")
def test_sample_of_real_records(tmp_path: Path) -> None:
    """1,000 rows: 7 domains and 128 pairs by number; 56 abstracts in double quotes."""
    prepared = prepare(tmp_path, SAMPLE)
    assert prepared.statistics.documents == {"train": 640, "dev": 160, "test": 200}
    assert prepared.statistics.labels == 7 + 128
    assert prepared.statistics.labels_per_document == 2.0
    records = all_records(tmp_path / "out")
    raw = gzip.decompress((SAMPLE / "Data1k.txt.gz").read_bytes()).decode().split("\n")[1:-1]
    quoted = [number for number, line in enumerate(raw) if line.split("\t")[6].startswith('"')]
    assert len(quoted) == 56
    assert not any('""' in records[str(number)].text for number in quoted)
    assert all(not record.text.startswith('"') for record in records.values())
