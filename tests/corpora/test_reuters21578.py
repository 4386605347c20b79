"""Reuters-21578: SGML, ModApte, the taxonomy of its topics, pruning."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbgl.corpora import PreparedCorpus, PrepareOptions, open_corpus, prepare_corpus
from hbgl.corpora.reuters_topics import GROUPS, topic_taxonomy
from hbgl.errors import CorpusError
from hbgl.taxonomy import read_taxonomy

SHARED = Path(__file__).parents[3] / "shared" / "data" / "reuters21578"

# Hand-written in the form of reut2-000.sgm.
STORY = """<REUTERS TOPICS="{has}" LEWISSPLIT="{split}" CGISPLIT="x" OLDID="1" NEWID="{id}">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS>{topics}</TOPICS>
<PLACES><D>el-salvador</D></PLACES>
<PEOPLE></PEOPLE>
<UNKNOWN>
&#5;&#5;&#5;C T
</UNKNOWN>
{text}
</REUTERS>
"""
NORMAL = """<TEXT>&#2;
<TITLE>A HEADLINE &lt;ABC></TITLE>
<DATELINE>    A PLACE, Feb 26 - </DATELINE><BODY>Prices   rose &amp; fell.
Blah blah blah.
    They rose again.
 Reuter
&#3;</BODY></TEXT>"""
BRIEF = """<TEXT TYPE="BRIEF">&#2;
******<TITLE>ONLY A TITLE</TITLE>
Blah blah blah.
&#3;

</TEXT>"""
UNPROC = """<TEXT TYPE="UNPROC">&#2;
RAW TEXT
AS IT CAME
 Reuter
&#3;
</TEXT>"""


def story(number: int, split: str, *topics: str, text: str = NORMAL, has: str = "YES") -> str:
    marked = "".join(f"<D>{topic}</D>" for topic in topics)
    return STORY.format(id=number, split=split, has=has, topics=marked, text=text)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    texts = [NORMAL.replace("HEADLINE", f"HEADLINE {n}") for n in range(1, 19)]
    stories = [story(n, "TRAIN", "wheat", "corn", text=text) for n, text in enumerate(texts, 1)]
    stories += [
        story(19, "TRAIN", "wheat", "corn"),
        story(20, "TRAIN", "money-fx", text=UNPROC),
        story(21, "TRAIN"),
        story(22, "TRAIN", "acq", has="NO"),
        story(23, "NOT-USED", "acq"),
        story(24, "TEST", "dlr", text=BRIEF),
        story(25, "TEST", "wheat"),
    ]
    content = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(stories)
    (folder / "reut2-000.sgm").write_bytes(content.encode("latin-1"))
    return folder


def prepare(tmp_path: Path, raw: Path, **options: Path | int | bool) -> PreparedCorpus:
    return prepare_corpus(
        "reuters21578",
        [raw],
        tmp_path / "out",
        PrepareOptions(**options),  # type: ignore[arg-type]
    )


def test_modapte(tmp_path: Path, raw: Path) -> None:
    """Twenty training stories with topics, two of them dev; 21 to 23 are outside."""
    prepared = prepare(tmp_path, raw)
    assert prepared.statistics.documents == {"train": 18, "dev": 2, "test": 2}
    assert prepared.left_out == {
        "ModApte documents without a topic": 1,
        "documents outside ModApte": 2,
    }
    corpus = open_corpus(tmp_path / "out")
    found = {
        record.id: record for split in ("train", "dev", "test") for record in corpus.records(split)
    }
    assert found["1"].text == "A HEADLINE 1 <ABC>\nPrices rose & fell. They rose again."
    assert found["1"].labels == ("commodity", "grain", "corn", "wheat")
    assert found["20"].text == "RAW TEXT AS IT CAME"
    assert found["20"].labels == ("money", "money-fx")
    assert found["24"].text == "ONLY A TITLE"
    assert found["24"].labels == ("money", "money-fx", "dlr")
    assert corpus.taxonomy.names["dlr"] == "U.S. dollar"
    assert any("1 .sgm files, the collection has 22" in note for note in prepared.notes)


def test_topics_make_a_tree_of_three_levels() -> None:
    taxonomy = topic_taxonomy()
    assert len(taxonomy) == 135 + len(GROUPS)
    assert taxonomy.is_tree
    assert taxonomy.depth == 3


@pytest.mark.skipif(not SHARED.is_dir(), reason="the pruned taxonomy is not here")
def test_topics_hang_as_in_the_pruned_taxonomy() -> None:
    whole, pruned = topic_taxonomy(), read_taxonomy(SHARED / "taxonomy.tsv")

    def edges(of: type(whole)) -> set[tuple[str, str]]:  # type: ignore[valid-type]
        return {(of.labels[int(p)], of.labels[int(c)]) for p, c in of.edges}

    assert edges(pruned) <= edges(whole)
    assert {label: whole.names[label] for label in pruned.labels} == dict(pruned.names)


def test_equal_texts_are_kept_once(tmp_path: Path, raw: Path) -> None:
    """Story 19, of train or dev, has the text of story 25 of test."""
    prepared = prepare(tmp_path, raw, drop_duplicates=True)
    lost = {reason: n for reason, n in prepared.left_out.items() if reason.startswith("equal")}
    assert sum(lost.values()) == 1
    assert "equal texts in test" not in lost
    assert [record.id for record in open_corpus(tmp_path / "out").records("test")] == ["24", "25"]


def test_min_documents(tmp_path: Path, raw: Path) -> None:
    """wheat, corn, grain and commodity have many; money-fx one: test story 24 loses all."""
    prepared = prepare(tmp_path, raw, min_documents=5)
    corpus = open_corpus(tmp_path / "out")
    assert set(corpus.taxonomy.labels) == {"commodity", "grain", "corn", "wheat"}
    assert prepared.left_out["documents without a kept label"] == 2
    assert [record.id for record in corpus.records("test")] == ["25"]
    with pytest.raises(CorpusError, match="no label has 50 training documents"):
        prepare_corpus("reuters21578", [raw], tmp_path / "no", PrepareOptions(min_documents=50))


def test_a_taxonomy_of_the_user(tmp_path: Path, raw: Path) -> None:
    file = tmp_path / "own.tsv"
    file.write_text("Root\tcrops\tmoney-fx\ncrops\twheat\n", encoding="utf-8")
    prepared = prepare(tmp_path, raw, taxonomy=file)
    assert prepared.left_out["documents without a topic we know"] == 1
    record = next(open_corpus(tmp_path / "out").records("test"))
    assert record.labels == ("crops", "wheat")


def test_faults_of_the_raw_files(tmp_path: Path, raw: Path) -> None:
    file = raw / "reut2-000.sgm"
    content = file.read_bytes()
    file.write_bytes(content.replace(b"</REUTERS>", b"", 1))
    with pytest.raises(CorpusError, match=r"not closed\n.*reut2-000\.sgm:\d+: after here"):
        prepare(tmp_path, raw)
    file.unlink()
    with pytest.raises(CorpusError, match=r"no \.sgm files"):
        prepare(tmp_path, raw)
