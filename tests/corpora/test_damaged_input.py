"""Damaged raw files: a conversion succeeds or says what is wrong, and never leaves a folder."""

from __future__ import annotations

import io
import json
import random
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hbgl.corpora import PrepareOptions, prepare_corpus
from hbgl.errors import HBGLError

ROUNDS = 25


def wos(folder: Path) -> None:
    header = "Y1\tY2\tY\tDomain\tarea\tkeywords\tAbstract\n"
    rows = "".join(f"{n % 3}\t{n % 5}\t1\tD{n % 3} \t A{n % 5} \tk\tText {n}.\n" for n in range(9))
    (folder / "Data.txt").write_text(header + rows, encoding="utf-8")


def nyt(folder: Path) -> None:
    with tarfile.open(folder / "01.tgz", "w:gz") as archive:
        for n in range(3):
            content = (
                f"<nitf><classifier type='taxonomic_classifier'>Top/News/S{n}</classifier>"
                "<p>one</p><p>two</p></nitf>"
            ).encode()
            info = tarfile.TarInfo(f"{n}.xml")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def rcv1(folder: Path) -> None:
    with zipfile.ZipFile(folder / "day.zip", "w") as archive:
        for n in range(2286, 2290):
            archive.writestr(f"{n}.xml", f"<newsitem itemid='{n}'><text><p>t</p></text></newsitem>")
    hierarchy = "parent: Root child: CCAT child-description: C\n"
    (folder / "rcv1.topics.hier.orig").write_text(hierarchy, encoding="utf-8")
    qrels = "".join(f"CCAT {n} 1\n" for n in range(2286, 2290))
    (folder / "rcv1-v2.topics.qrels").write_text(qrels, encoding="utf-8")


def bgc(folder: Path) -> None:
    book = "<book>\n<title>t</title><body>b</body>\n<topics><d0>A</d0></topics>\n</book>\n"
    for split in ("train", "dev", "test"):
        file = folder / f"BlurbGenreCollection_EN_{split}.txt"
        file.write_text(book * 2, encoding="utf-8")
    (folder / "hierarchy.txt").write_text("A\tB\n", encoding="utf-8")


def hwv(folder: Path) -> None:
    line = json.dumps({"token": ["t"], "label": ["A", "B"]}) + "\n"
    for split in ("train", "val", "test"):
        (folder / f"hwv_{split}.json").write_text(line * 2, encoding="utf-8")
    (folder / "hwv.taxonomy").write_text("Root\tA\nA\tB\n", encoding="utf-8")


def reuters21578(folder: Path) -> None:
    story = (
        '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TOPICS><D>corn</D></TOPICS>'
        "<TEXT>&#2;<TITLE>A</TITLE><BODY>B&#3;</BODY></TEXT></REUTERS>\n"
    )
    (folder / "reut2-000.sgm").write_text(story * 3, encoding="latin-1")


def clinc150(folder: Path) -> None:
    names = ("train", "val", "test", "oos_test")
    data = {name: [["a text", "x"], ["more", "y"]] for name in names}
    (folder / "data_full.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "domains.json").write_text('{"d": ["x", "y"]}', encoding="utf-8")


def table(folder: Path) -> None:
    rows = "".join(f'"text, {n}",A > B{n % 3}\n' for n in range(9))
    (folder / "table.csv").write_text("text,labels\n" + rows, encoding="utf-8")


OPTIONS = {
    "nyt": PrepareOptions(min_documents=1),
    "table": PrepareOptions(text_column=("text",), label_column=("labels",)),
}


def damage(content: bytes, chance: random.Random) -> bytes:
    """Change, take away, repeat or insert some bytes."""
    start = chance.randrange(len(content) + 1)
    end = min(len(content), start + chance.choice((1, 2, 10, 200)))
    middle = chance.choice(
        (
            b"",
            chance.randbytes(end - start),
            content[start:end] * 2,
            chance.choice((b"\x00", b"\xff", b"<", b"\n", b"\t", b'"', b"&#9999999999;", b"[[[[")),
        )
    )
    return content[:start] + middle + content[end:]


@pytest.mark.parametrize(
    "make",
    [wos, nyt, rcv1, bgc, hwv, reuters21578, clinc150, table],
    ids=lambda make: make.__name__,
)
def test_damaged_raw_files_give_one_clear_error(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    name = make.__name__
    options = OPTIONS.get(name, PrepareOptions())
    raw, out = tmp_path / "raw", tmp_path / "out"
    raw.mkdir()
    make(raw)
    prepare_corpus(name, [raw], out, options)  # undamaged
    originals = {file: file.read_bytes() for file in sorted(raw.iterdir())}
    chance = random.Random(name)
    for _ in range(ROUNDS):
        shutil.rmtree(out, ignore_errors=True)
        file = chance.choice(list(originals))
        file.write_bytes(damage(originals[file], chance))
        done = False
        with suppress(HBGLError):
            prepare_corpus(name, [raw], out, options)
            done = True
        assert out.exists() is done
        file.write_bytes(originals[file])
    assert {path.name for path in tmp_path.iterdir()} <= {"raw", "out"}
