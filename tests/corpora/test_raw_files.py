"""Archives as streams, XML without surprises, id lists."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from hbgl.corpora import raw_files
from hbgl.corpora.raw_files import (
    archive_members,
    expand,
    parse_xml,
    read_id_list,
    read_lines,
)
from hbgl.errors import CorpusError


def tar_bytes(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def test_archives_inside_archives_are_streamed(tmp_path: Path) -> None:
    month = tar_bytes({"01/01/0000001.xml": b"<a/>", "01/readme.txt": b"no"})
    path = tmp_path / "corpus.tgz"
    path.write_bytes(tar_bytes({"data/1987/01.tgz": month, "data/2.xml": b"<b/>"}))
    assert [content for _, content in archive_members(path, ".xml")] == [b"<a/>", b"<b/>"]
    place, _ = next(archive_members(path, ".xml"))
    assert place.endswith("corpus.tgz!data/1987/01.tgz!01/01/0000001.xml")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["corpus.tgz"]


def test_zips_and_plain_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "day.zip", "w") as archive:
        archive.writestr("2286newsML.xml", "<a/>")
        archive.writestr("notes.txt", "no")
    (tmp_path / "one.xml").write_bytes(b"<b/>")
    found = [c for file in expand([tmp_path]) for _, c in archive_members(file, ".xml")]
    assert found == [b"<a/>", b"<b/>"]


@pytest.mark.parametrize("name", ["a.zip", "a.tgz", "a.tar"])
def test_damaged_archives_name_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no archive at all, but more than a header" * 40)
    with pytest.raises(CorpusError, match=f"{name}: damaged or unreadable"):
        list(archive_members(tmp_path / name, ".xml"))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("part", [0.3, 0.5, 0.7])
def test_cut_archives_are_damaged(tmp_path: Path, mode: str, part: float) -> None:
    members = {f"{i}.xml": random.Random(i).randbytes(3000) for i in range(20)}
    whole = tar_bytes(members, mode)
    path = tmp_path / ("whole.tar" + mode[1:].replace(":", "."))
    path.write_bytes(whole)
    assert [content for _, content in archive_members(path, ".xml")] == list(members.values())
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(CorpusError, match="damaged"):
        list(archive_members(path, ".xml"))


def test_a_cut_archive_inside_an_archive_is_damaged(tmp_path: Path) -> None:
    month = tar_bytes({f"{i}.xml": random.Random(i).randbytes(3000) for i in range(20)})
    (tmp_path / "year.tar").write_bytes(tar_bytes({"01.tgz": month[: len(month) // 2]}, "w"))
    with pytest.raises(CorpusError, match="damaged"):
        list(archive_members(tmp_path / "year.tar", ".xml"))


def test_oversize_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_files, "MEMBER_LIMIT", 1 << 20)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.xml", b" " * ((1 << 20) + 1))
    with pytest.raises(CorpusError, match=r"bomb\.zip!1\.xml: larger than 1 MiB"):
        list(archive_members(tmp_path / "bomb.zip", ".xml"))


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    content = b"<a/>"
    name = "1.xml"
    for level in range(6):
        content, name = tar_bytes({name: content}, "w"), f"{level}.tar"
    (tmp_path / "deep.tar").write_bytes(content)
    with pytest.raises(CorpusError, match="nested too deeply"):
        list(archive_members(tmp_path / "deep.tar", ".xml"))


def test_missing_files_are_named_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"not found: .*/a, .*/b"):
        expand([tmp_path / "a", tmp_path, tmp_path / "b"])


def test_xml_entities_are_refused_and_the_dtd_is_not_read() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY x "aaa"><!ENTITY y "&x;&x;">]><a>&y;</a>'
    with pytest.raises(CorpusError, match=r"day\.zip!1\.xml: declares the entity 'x'"):
        parse_xml(bomb, "day.zip!1.xml")
    external = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    with pytest.raises(CorpusError, match="declares the entity"):
        parse_xml(external, "1.xml")
    wide = bomb.decode().encode("utf-16")
    with pytest.raises(CorpusError, match="declares the entity"):
        parse_xml(wide, "1.xml")
    nitf = b'<?xml version="1.0"?><!DOCTYPE nitf SYSTEM "http://x.invalid/n.dtd"><nitf>a&eacute;b</nitf>'
    assert parse_xml(nitf, "1.xml").text == "a\xe9b"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<a>\n<b></a>", r"1\.xml:2: not well-formed XML: mismatched tag"),
        (b"", "not well-formed XML: no element found"),
        (b'<?xml version="1.0" encoding="nonsense"?><a/>', "1.xml"),
    ],
)
def test_broken_xml_names_file_and_line(content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        parse_xml(content, "1.xml")


def test_lines_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\r\ntwo\x85\u2028three\n".encode())
    assert list(read_lines(tmp_path / "a.txt")) == [(1, "one"), (2, "two\x85\u2028three")]
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x\n"))
    assert list(read_lines(tmp_path / "a.gz")) == [(1, "x")]
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x\n" * 1000)[:-9])
    with pytest.raises(CorpusError, match="damaged"):
        list(read_lines(tmp_path / "a.gz"))
    (tmp_path / "b.txt").write_bytes(b"fine\nbroken \xff\n")
    with pytest.raises(CorpusError, match=r"b\.txt:\d: not utf-8 text"):
        list(read_lines(tmp_path / "b.txt"))


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("Nytimes/1987/0057880.xml\nNytimes/2004/1628544.xml\n", ["57880", "1628544"]),
        (".I 2286\n.W\nrecov recov\n\n.I 2287\n.W\ntoken\n", ["2286", "2287"]),
        ("12\n\n0\n", ["12", "0"]),
    ],
)
def test_id_lists(tmp_path: Path, content: str, ids: list[str]) -> None:
    (tmp_path / "ids").write_text(content, encoding="utf-8")
    assert read_id_list(tmp_path / "ids") == ids


def test_bad_id_lists_give_all_faults(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("1\n???\n01\n", encoding="utf-8")
    with pytest.raises(CorpusError) as caught:
        read_id_list(tmp_path / "ids")
    assert [fault.line for fault in caught.value.faults] == [2, 3]
    (tmp_path / "ids").write_text("\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="no document ids"):
        read_id_list(tmp_path / "ids")
