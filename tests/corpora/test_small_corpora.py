"""BGC, HWV and CLINC150: hand-written excerpts in their raw forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbgl.corpora import PrepareOptions, open_corpus, prepare_corpus
from hbgl.errors import CorpusError, RecordError

BOOK = """<book date="2018-08-18" xml:lang="en">
<title>{title}</title>
<body>A blurb, R&amp;D & more.
On two lines.</body>
<copyright>(c) Someone</copyright>
<metadata>
<topics>
{topics}
</topics>
<author>Nobody</author>
<published>Jan 01, 2000 </published>
<page_num> 100 Pages</page_num>
<isbn>{isbn}</isbn>
<url>https://example.invalid/</url>
</metadata>
</book>
"""


def bgc_raw(folder: Path) -> Path:
    folder.mkdir()
    for number, split in enumerate(("train", "dev", "test")):
        first = BOOK.format(
            title="One & only",
            topics="<d0>Nonfiction</d0><d1>Games &amp; Play</d1>",
            isbn=f"978000000000{number}",
        )
        second = BOOK.format(title="Two", topics="<d0>Classics</d0>", isbn="x")
        file = folder / f"BlurbGenreCollection_EN_{split}.txt"
        file.write_text(first + second, encoding="utf-8")
    hierarchy = "Nonfiction\tGames & Play\nClassics\nFiction\tFantasy\nNonfiction\tGames & Play\n"
    (folder / "hierarchy.txt").write_text(hierarchy, encoding="utf-8")
    return folder


def test_bgc(tmp_path: Path) -> None:
    prepared = prepare_corpus("bgc", [bgc_raw(tmp_path / "raw")], tmp_path / "out")
    assert prepared.statistics.documents == {"train": 2, "dev": 2, "test": 2}
    corpus = open_corpus(tmp_path / "out")
    first, second = corpus.records("dev")
    assert first.text == "One & only\nA blurb, R&D & more. On two lines."
    assert first.labels == ("Nonfiction", "Games & Play")
    assert first.id == "9780000000001"
    assert second.labels == ("Classics",)
    assert set(corpus.taxonomy.labels) == {
        "Nonfiction", "Games & Play", "Classics", "Fiction", "Fantasy",
    }  # fmt: skip
    assert prepared.statistics.labels_without_documents == 2


def test_bgc_faults(tmp_path: Path) -> None:
    raw = bgc_raw(tmp_path / "raw")
    train = raw / "BlurbGenreCollection_EN_train.txt"
    content = train.read_text(encoding="utf-8")
    for changed, message in (
        (content.replace("</book>", "", 1), r"train\.txt:1: no </book> follows"),
        ("stray\n" + content, r"text outside of a book\n.*train\.txt:1: stray"),
        (content.replace("<d0>Classics</d0>", ""), r"train\.txt:17: no <d0>"),
        (content.replace("Classics", "Poetry"), "the taxonomy lacks: 'Poetry'"),
    ):
        train.write_text(changed, encoding="utf-8")
        with pytest.raises(CorpusError, match=message):
            prepare_corpus("bgc", [raw], tmp_path / "out")
    train.unlink()
    with pytest.raises(CorpusError, match=r"one BlurbGenreCollection_EN_train\.txt is needed"):
        prepare_corpus("bgc", [raw], tmp_path / "out")
    (raw / "hierarchy.txt").write_text("a\tb\tc\n", encoding="utf-8")
    bgc_raw(tmp_path / "other")
    (raw / "hierarchy.txt").replace(tmp_path / "other" / "hierarchy.txt")
    with pytest.raises(CorpusError, match=r"hierarchy\.txt:1: expected parent<TAB>child"):
        prepare_corpus("bgc", [tmp_path / "other"], tmp_path / "out")


def hwv_raw(folder: Path) -> Path:
    folder.mkdir()
    document = {
        "token": ["A  painter."],
        "label": ["People", "Artists"],
        "topic": [],
        "keyword": [],
    }
    for split in ("train", "val", "test"):
        (folder / f"hwv_{split}.json").write_text(json.dumps(document) + "\n", encoding="utf-8")
    taxonomy = "Root\tPeople\tArts\nPeople\tArtists\tWriters\n"
    (folder / "hwv.taxonomy").write_text(taxonomy, encoding="utf-8")
    return folder


def test_hwv(tmp_path: Path) -> None:
    prepared = prepare_corpus("hwv", [hwv_raw(tmp_path / "raw")], tmp_path / "out")
    assert prepared.statistics.documents == {"train": 1, "dev": 1, "test": 1}
    (record,) = open_corpus(tmp_path / "out").records("dev")
    assert record.text == "A painter."
    assert record.labels == ("People", "Artists")


def test_hwv_faults(tmp_path: Path) -> None:
    raw = hwv_raw(tmp_path / "raw")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    (raw / "hwv_train.json").write_text(pointer, encoding="utf-8")
    with pytest.raises(CorpusError, match="a Git LFS pointer, not the data"):
        prepare_corpus("hwv", [raw], tmp_path / "out")
    (raw / "hwv_train.json").write_text('{"token": ["x"], "label": ["Peopel"]}', encoding="utf-8")
    with pytest.raises(RecordError, match=r"hwv_train\.json:1: .*Peopel"):
        prepare_corpus("hwv", [raw], tmp_path / "out")
    (raw / "hwv.taxonomy").unlink()
    with pytest.raises(CorpusError, match=r"hwv\.taxonomy is needed, once; found 0"):
        prepare_corpus("hwv", [raw], tmp_path / "out")


def clinc_raw(folder: Path, **changed: object) -> Path:
    folder.mkdir(exist_ok=True)
    data: dict[str, object] = {
        "train": [["move  my money", "transfer"], ["Move my money!", "transfer"]],
        "val": [["any rain", "weather"]],
        "test": [["will it rain", "weather"]],
        "oos_train": [["what is art", "oos"]],
        "oos_val": [],
        "oos_test": [["how old is dust", "oos"], ["and sand", "oos"]],
        **changed,
    }
    domains = {"banking": ["transfer"], "utility": ["weather", "alarm"]}
    (folder / "data_full.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "domains.json").write_text(json.dumps(domains), encoding="utf-8")
    return folder


def test_clinc150(tmp_path: Path) -> None:
    raw = clinc_raw(tmp_path / "raw")
    prepared = prepare_corpus("clinc150", [raw], tmp_path / "out")
    assert prepared.statistics.documents == {"train": 2, "dev": 1, "test": 1}
    corpus = open_corpus(tmp_path / "out")
    assert next(corpus.records("train")).text == "move my money"
    assert next(corpus.records("dev")).labels == ("utility", "weather")
    assert [record.labels for record in corpus.records("oos_test")] == [(), ()]
    options = PrepareOptions(drop_duplicates=True)
    prepared = prepare_corpus("clinc150", [raw], tmp_path / "once", options)
    assert prepared.left_out == {"equal texts in train": 1}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train": [["a text"]]}, r"train\[0\] is no \[text, intent\] pair"),
        ({"val": None}, "no list 'val'"),
        ({"test": [["x", "trnasfer"]]}, r"test\[0\]: the intent 'trnasfer' is in no domain"),
    ],
)
def test_clinc150_faults(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    raw = clinc_raw(tmp_path / "raw", **changed)
    with pytest.raises(CorpusError, match=message):
        prepare_corpus("clinc150", [raw], tmp_path / "out")


def test_clinc150_json_faults(tmp_path: Path) -> None:
    raw = clinc_raw(tmp_path / "raw")
    (raw / "domains.json").write_text('{"a": ["x"], "b": ["x"]}', encoding="utf-8")
    with pytest.raises(CorpusError, match="x is in a and in b"):
        prepare_corpus("clinc150", [raw], tmp_path / "out")
    (raw / "domains.json").write_text('{"a": "x"}', encoding="utf-8")
    with pytest.raises(CorpusError, match="a: a list of intents is expected"):
        prepare_corpus("clinc150", [raw], tmp_path / "out")
    (raw / "domains.json").write_text("[1,", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"domains\.json: not JSON"):
        prepare_corpus("clinc150", [raw], tmp_path / "out")
    (raw / "domains.json").unlink()
    with pytest.raises(CorpusError, match=r"one domains\.json is needed"):
        prepare_corpus("clinc150", [raw], tmp_path / "out")
