"""RCV1-V2: news items in daily zips, the topic hierarchy, qrels, the LYRL2004 split."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from hbgl.corpora import PreparedCorpus, PrepareOptions, open_corpus, prepare_corpus
from hbgl.errors import CorpusError

# Hand-written in the form of the NIST distribution (Latin-1).
ITEM = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{id}" id="root" date="1996-08-20" xml:lang="en">
<title>PLACE: A title.</title>
<headline>A headline.</headline>
<dateline>PLACE 1996-08-20</dateline>
<text>
{paragraphs}
</text>
<copyright>(c) Someone 1996</copyright>
<metadata>
<codes class="bip:countries:1.0">
  <code code="MEX"><editdetail attribution="x" action="confirmed" date="1996-08-20"/></code>
</codes>
<codes class="bip:topics:1.0">
{codes}
</codes>
<dc element="dc.publisher" value="Someone"/>
</metadata>
</newsitem>
"""
EDGES = (
    ("None", "Root", "Root"),
    ("Root", "CCAT", "CORPORATE/INDUSTRIAL"),
    ("CCAT", "C15", "PERFORMANCE"),
    ("C15", "C151", "ACCOUNTS/EARNINGS"),
    ("C151", "C1511", "ANNUAL RESULTS"),
    ("Root", "ECAT", "ECONOMICS"),
)
HIERARCHY = "".join(
    f"parent: {parent:<24} child: {child:<22} child-description: {words}\n"
    for parent, child, words in EDGES
)


def item(
    identifier: int, *topics: str, paragraphs: str = "<p>One caf\xe9.</p>\n<p>Two.</p>"
) -> bytes:
    codes = "\n".join(f'<code code="{topic}"></code>' for topic in topics)
    return ITEM.format(id=identifier, paragraphs=paragraphs, codes=codes).encode("latin-1")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "rcv1"
    folder.mkdir()
    with zipfile.ZipFile(folder / "19960820.zip", "w") as day:
        for number in range(2286, 2296):
            day.writestr(f"{number}newsML.xml", item(number, "C1511"))
    with zipfile.ZipFile(folder / "19970101.zip", "w") as day:
        day.writestr("26151newsML.xml", item(26151, "ECAT"))
        day.writestr("26152newsML.xml", item(26152, "ECAT", paragraphs=""))
        day.writestr("26153newsML.xml", item(26153))
    (folder / "rcv1.topics.hier.orig.txt").write_text(HIERARCHY, encoding="ascii")
    return folder


def with_qrels(raw: Path) -> Path:
    lines = [f"{t} {n} 1" for n in range(2286, 2296) for t in ("CCAT", "C15", "C151")]
    lines += ["ECAT 26151 1", "CCAT 26152 1", "ECAT 26152 1", "CCAT 99999 1"]
    content = "".join(line + "\n" for line in lines).encode()
    (raw / "rcv1-v2.topics.qrels.gz").write_bytes(gzip.compress(content))
    return raw


def prepare(tmp_path: Path, raw: Path, **options: Path | int) -> PreparedCorpus:
    return prepare_corpus(
        "rcv1",
        [raw],
        tmp_path / "out",
        PrepareOptions(**options),  # type: ignore[arg-type]
    )


def test_qrels_decide_which_items_and_topics(tmp_path: Path, raw: Path) -> None:
    """Ten training items: one (a tenth) is dev; 26151 and later are test."""
    prepared = prepare(tmp_path, with_qrels(raw))
    assert prepared.statistics.documents == {"train": 9, "dev": 1, "test": 2}
    corpus = open_corpus(tmp_path / "out")
    record = next(corpus.records("train"))
    assert record.text == "One caf\xe9.\nTwo."
    assert record.labels == ("CCAT", "C15", "C151")  # corrected: the item itself says C1511
    first, second = corpus.records("test")
    assert (first.id, first.labels) == ("26151", ("ECAT",))
    assert (second.text, second.labels) == ("A headline.", ("CCAT", "ECAT"))
    assert corpus.taxonomy.depth == 4
    assert corpus.taxonomy.names["C15"] == "performance"
    assert prepared.left_out == {
        "items that have no topics in RCV1-V2": 1,
        "items of the topics file that are not among the news items": 1,
    }
    assert any("not its documents" in note for note in prepared.notes)
    assert "the topics file names 13 items, RCV1-V2 has 804,414" in prepared.notes
    assert "test documents: 2 here, 781,265 published (-781,263)" in prepared.differences


def test_topics_of_the_items_without_qrels(tmp_path: Path, raw: Path) -> None:
    prepared = prepare(tmp_path, raw)
    record = next(open_corpus(tmp_path / "out").records("train"))
    assert record.labels == ("CCAT", "C15", "C151", "C1511")
    assert prepared.left_out == {"items that have no topics in RCV1-V2": 1}
    assert any("rcv1-v2.topics.qrels has the corrected" in note for note in prepared.notes)


def test_lists_of_training_and_dev_items(tmp_path: Path, raw: Path) -> None:
    tokens = ".I 2286\n.W\none two\n\n.I 2287\n.W\nthree\n\n.I 26151\n.W\nfour\n"
    (raw / "lyrl2004_tokens_train.dat").write_text(tokens, encoding="ascii")
    dev = tmp_path / "dev"
    dev.write_text("2287\n5\n", encoding="ascii")
    prepared = prepare(tmp_path, with_qrels(raw), dev_ids=dev)
    corpus = open_corpus(tmp_path / "out")
    assert [record.id for record in corpus.records("train")] == ["2286", "26151"]
    assert [record.id for record in corpus.records("dev")] == ["2287"]
    assert any("1 ids of dev are no training items" in note for note in prepared.notes)


def test_items_that_come_twice_count_once(tmp_path: Path, raw: Path) -> None:
    (raw / "extra.xml").write_bytes(item(2286, "ECAT"))
    prepared = prepare(tmp_path, with_qrels(raw))
    assert prepared.left_out["items that came twice"] == 1


def test_faults_of_the_raw_files(tmp_path: Path, raw: Path) -> None:
    hierarchy = raw / "rcv1.topics.hier.orig.txt"
    qrels = raw / "rcv1-v2.topics.qrels"
    qrels.write_text("CCAT 2286 1\nCCAT 2286\n", encoding="ascii")
    with pytest.raises(CorpusError, match=r"qrels:2: expected TOPIC ITEM 1"):
        prepare(tmp_path, raw)
    qrels.write_text("XCAT 2286 1\n", encoding="ascii")
    with pytest.raises(CorpusError, match="labels that the taxonomy lacks: 'XCAT'"):
        prepare(tmp_path, raw)
    qrels.unlink()
    (raw / "broken.xml").write_bytes(item(2299, "CCAT")[:300])
    with pytest.raises(CorpusError, match=r"broken\.xml:\d+: not well-formed"):
        prepare(tmp_path, raw)
    (raw / "broken.xml").write_bytes(b"<newsitem/>")
    with pytest.raises(CorpusError, match="not a news item"):
        prepare(tmp_path, raw)
    hierarchy.write_text(HIERARCHY + "what\n", encoding="ascii")
    with pytest.raises(CorpusError, match=r"orig\.txt:7: no 'parent: P child: C"):
        prepare(tmp_path, raw)
    hierarchy.unlink()
    with pytest.raises(CorpusError, match="the topic hierarchy, LYRL2004"):
        prepare(tmp_path, raw)
    assert not (tmp_path / "out").exists()
