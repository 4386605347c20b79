"""The New York Times corpus: NITF in nested archives, labels, id lists, the drawn sample."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from hbgl.corpora import PreparedCorpus, PrepareOptions, open_corpus, prepare_corpus
from hbgl.corpora.counts import PUBLISHED, PublishedCounts
from hbgl.errors import CorpusError

# Hand-written in the form of LDC2008T19.
ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">
<nitf change.date="June 10, 2005" version="-//IPTC//DTD NITF 3.3//EN">
  <head>
    <title>A headline</title>
    <docdata>
      <doc-id id-string="{id}"/>
      <identified-content>
        <classifier class="indexing_service" type="descriptor">BASEBALL</classifier>
        {classifiers}
        <classifier class="online_producer" type="general_descriptor">Baseball</classifier>
      </identified-content>
    </docdata>
  </head>
  <body>
    <body.head><hedline><hl1>A Headline</hl1></hedline></body.head>
    <body.content>
      <block class="lead_paragraph"><p>LEAD: The lead.</p></block>
      <block class="full_text">
        <p>LEAD: The lead.</p>
        <p>The  second, with <em>marks</em> &amp; caf&eacute;.</p>
      </block>
    </body.content>
  </body>
</nitf>
"""
SPORTS = "Top/News/Sports/Baseball"
ARTS = "Top/Features/Arts"


def article(identifier: str, *paths: str) -> bytes:
    classifiers = "\n".join(
        f'<classifier class="online_producer" type="taxonomic_classifier">{path}</classifier>'
        for path in paths
    )
    return ARTICLE.format(id=identifier, classifiers=classifiers).encode()


def tar(members: Mapping[str, bytes], mode: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    january = tar(
        {
            "01/01/0000001.xml": article("1", SPORTS, ARTS, "Top/News"),
            "01/02/0000002.xml": article("2", SPORTS),
            "01/02/0000003.xml": article("3"),
        },
        "w:gz",
    )
    february = tar({"02/01/0000004.xml": article("4", ARTS, SPORTS + "/Major League")}, "w:gz")
    path = tmp_path / "nyt_corpus_LDC2008T19.tgz"
    members = {"nyt_corpus/data/1987/01.tgz": january, "nyt_corpus/data/1987/02.tgz": february}
    path.write_bytes(tar(members, "w:gz"))
    return path


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def prepare(tmp_path: Path, raw: Path, **options: Path | int) -> PreparedCorpus:
    return prepare_corpus(
        "nyt",
        [raw],
        tmp_path / "out",
        PrepareOptions(**options),  # type: ignore[arg-type]
    )


def test_published_lists_and_labels(tmp_path: Path, raw: Path) -> None:
    vocabulary = write(
        tmp_path / "labels",
        "Root", "Top/News", "Top/Features", "Top/News/Sports", "Top/Features/Arts", SPORTS,
    )  # fmt: skip
    prepared = prepare(
        tmp_path,
        raw,
        labels=vocabulary,
        train_ids=write(tmp_path / "train", "Nytimes/1987/0000001.xml", "Nytimes/1987/0000003.xml"),
        dev_ids=write(tmp_path / "dev", "Nytimes/1987/0000009.xml"),
        test_ids=write(tmp_path / "test", "Nytimes/1987/0000004.xml"),
    )
    corpus = open_corpus(tmp_path / "out")
    assert set(corpus.splits) == {"train", "test"}
    first, third = corpus.records("train")
    assert first.text == "LEAD: The lead.\nThe second, with marks & caf\xe9."
    assert set(first.labels) == {
        "Top/News", "Top/Features", "Top/News/Sports", "Top/Features/Arts", SPORTS,
    }  # fmt: skip
    assert third.labels == ()  # as published: a listed document stays, even without labels
    (fourth,) = corpus.records("test")
    assert fourth.id == "4"
    assert SPORTS in fourth.labels
    assert corpus.taxonomy.depth == 3
    assert corpus.taxonomy.names[SPORTS] == "Baseball"
    assert any("1 ids of the lists were not found (such as 9)" in n for n in prepared.notes)
    assert prepared.statistics.documents_without_labels == 1


def test_paths_of_two_parts_say_nothing(tmp_path: Path, raw: Path) -> None:
    """Top/News alone is passed over, but it is a prefix of Top/News/Sports."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "0000007.xml").write_bytes(article("7", "Top/News", ARTS))
    prepare(tmp_path, tmp_path / "data", min_documents=1)
    (record,) = open_corpus(tmp_path / "out").records("train")
    assert set(record.labels) == {"Top/Features", "Top/Features/Arts"}


def test_without_lists_documents_are_drawn_and_labels_chosen(
    tmp_path: Path, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        PUBLISHED, "nyt", PublishedCounts("test", documents={"train": 1, "dev": 0, "test": 1})
    )
    prepared = prepare(tmp_path, raw, min_documents=2)
    assert sum(prepared.statistics.documents.values()) == 2
    assert prepared.left_out == {"documents without a label": 1, "documents not drawn": 1}
    assert any("documents drawn and split with seed 0" in note for note in prepared.notes)
    assert any("at least 2 of the documents" in note for note in prepared.notes)
    kept = open_corpus(tmp_path / "out").taxonomy.labels
    assert set(kept) >= {"Top/News", "Top/News/Sports", SPORTS}
    again = prepare_corpus("nyt", [raw], tmp_path / "again", PrepareOptions(min_documents=2))
    assert again.statistics == prepared.statistics


def test_labels_hang_below_the_nearest_kept_prefix(tmp_path: Path, raw: Path) -> None:
    prepare(tmp_path, raw, labels=write(tmp_path / "labels", "Top/News", SPORTS))
    taxonomy = open_corpus(tmp_path / "out").taxonomy
    assert taxonomy.edges.tolist() == [[0, 1]]


def test_faults_of_the_raw_files(tmp_path: Path, raw: Path) -> None:
    with pytest.raises(CorpusError, match="no label has 200 documents"):
        prepare(tmp_path, raw)
    lists = {name: write(tmp_path / name, str(i)) for i, name in enumerate(["a", "b"], 50)}
    with pytest.raises(CorpusError, match="none of the articles is in the id lists"):
        prepare(tmp_path, raw, train_ids=lists["a"], test_ids=lists["b"])
    bad = tmp_path / "bad"
    bad.mkdir()
    with pytest.raises(CorpusError, match="no article"):
        prepare(tmp_path, bad)
    (bad / "0000001.xml").write_bytes(b"<nitf>\n<p>open</nitf>")
    with pytest.raises(CorpusError, match=r"0000001\.xml:2: not well-formed"):
        prepare(tmp_path, bad, min_documents=1)
    (bad / "0000001.xml").write_bytes(b"<html/>")
    with pytest.raises(CorpusError, match="not a NITF article"):
        prepare(tmp_path, bad, min_documents=1)
    assert not (tmp_path / "out").exists()
