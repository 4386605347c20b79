"""``hbgl predict``: every way in, every way out, and runs that were interrupted."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from hbgl.cli import predict as predict_module
from hbgl.prediction_output import PredictionWriter
from hbgl.records.labels import DELIMITER
from tests.cli.conftest import Command, document, refused, write_corpus

LABELS = {"money", "sport", "bank", "card", "football", "tennis"}
TEXTS = ["bank account balance", "tennis player game", "card payment bill"]


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Forty records, more than two windows of the tests below."""
    path = tmp_path / "texts.jsonl"
    lines = [json.dumps(document("texts", number)) for number in range(40)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_module, "_WINDOW", 16)


# ---------------------------------------------------------------------- standard input


def test_a_line_of_text_is_answered(hbgl: Command, trained: Path) -> None:
    """``echo "..." | hbgl predict MODEL -``, with and without the dash."""
    for arguments in (["-"], []):
        done = hbgl("predict", trained, *arguments, stdin=b"bank account balance\n")
        assert (done.code, done.err) == (0, "")
        [found] = rows(done.out)
        assert found["line"] == 1
        assert found["labels"] == ["money", "bank"]
        assert found["paths"] == ["money > bank"]
        assert set(found["probabilities"]) == {"money", "bank"}
        assert all(0.5 < one <= 1 for one in found["probabilities"].values())


def test_blank_lines_hold_no_text_and_lines_keep_their_numbers(
    hbgl: Command, trained: Path
) -> None:
    content = "\ufefftennis player\r\n\n  \t \nbank account\n\nlast".encode()
    done = hbgl("predict", trained, stdin=content)
    assert [row["line"] for row in rows(done.out)] == [1, 4, 6]
    alone = hbgl("predict", trained, stdin=b"tennis player\n")
    assert rows(done.out)[0] == rows(alone.out)[0]


@pytest.mark.parametrize("nothing", [b"", b"\n", b"\xef\xbb\xbf \t\n\r\n"])
def test_no_text_at_all_is_said(nothing: bytes, hbgl: Command, trained: Path) -> None:
    done = hbgl("predict", trained, "-", stdin=nothing)
    said = "hbgl: no text in standard input, so there is no answer\n"
    assert (done.code, done.out, done.err) == (0, "", said)
    assert hbgl("predict", trained, "-", "-q", stdin=nothing).err == ""


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n  \n"])
def test_json_lines_are_seen_by_their_beginning(
    before: bytes, hbgl: Command, trained: Path
) -> None:
    content = b"".join(
        json.dumps({"id": i, "text": t}).encode() + b"\n" for i, t in enumerate(TEXTS)
    )
    done = hbgl("predict", trained, stdin=before + content)
    assert done.code == 0, done.err
    assert [row["id"] for row in rows(done.out)] == ["0", "1", "2"]
    literal = hbgl("predict", trained, "--format", "text", stdin=b'{"text": "bank"}\n')
    assert rows(literal.out)[0]["line"] == 1


def test_odd_texts_are_answered(hbgl: Command, trained: Path) -> None:
    odd = ["\N{PILE OF POO}", "\x01\x02\x7f", "bank " * 200_000, "\u202e\u0300", "[SEP] [MASK]"]
    content = "".join(json.dumps({"text": text}) + "\n" for text in odd).encode()
    done = hbgl("predict", trained, stdin=content)
    assert done.code == 0, done.err
    assert len(rows(done.out)) == len(odd)
    broken = hbgl("predict", trained, stdin=b"bank \xff\xfe account\n")
    assert len(rows(broken.out)) == 1


def test_tables_on_standard_output(hbgl: Command, trained: Path) -> None:
    stdin = "".join(f"{text}\n" for text in TEXTS).encode()
    done = hbgl("predict", trained, "--to", "csv", stdin=stdin)
    found = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["line"] for row in found] == ["1", "2", "3"]
    assert found[0]["paths"] == "money > bank"


# ---------------------------------------------------------------------- what is answered


def test_probabilities_of_all_labels(hbgl: Command, trained: Path) -> None:
    done = hbgl("predict", trained, "--all-probabilities", stdin=b"card payment\ngame\n")
    for row in rows(done.out):
        assert set(row["probabilities"]) == LABELS
        assert list(row["probabilities"].values()) == sorted(
            row["probabilities"].values(), reverse=True
        )


def test_the_likeliest_labels_of_each_level(hbgl: Command, trained: Path) -> None:
    [row] = rows(hbgl("predict", trained, "--top-k", "1", stdin=b"bank account\n").out)
    assert len(set(row["probabilities"]) & {"money", "sport"}) == 1
    assert set(row["labels"]) <= set(row["probabilities"])
    [row] = rows(hbgl("predict", trained, "--top-k", "99", stdin=b"bank account\n").out)
    assert set(row["probabilities"]) == LABELS


def test_thresholds(hbgl: Command, trained: Path) -> None:
    [row] = rows(hbgl("predict", trained, "--threshold", "1", stdin=b"bank account\n").out)
    assert (row["labels"], row["paths"]) == ([], [])
    [row] = rows(hbgl("predict", trained, "--threshold", "0", stdin=b"bank account\n").out)
    assert set(row["labels"]) == LABELS


# ---------------------------------------------------------------------- files


def test_every_format_in_and_out_says_the_same(
    hbgl: Command, trained: Path, texts: Path, tmp_path: Path
) -> None:
    assert hbgl("predict", trained, texts, "-o", tmp_path / "a.jsonl").code == 0
    expected = rows((tmp_path / "a.jsonl").read_text())
    assert [row["id"] for row in expected] == [f"texts-{i}" for i in range(40)]
    paths = [row["paths"] for row in expected]

    with (tmp_path / "in.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["number", "words"])
        table.writerows([row["id"], document("texts", i)["text"]] for i, row in enumerate(expected))
    columns = ["--text-column", "words", "--id-column", "number"]
    done = hbgl("predict", trained, tmp_path / "in.csv", *columns, "-o", tmp_path / "b.csv", "-q")
    assert (done.code, done.out, done.err) == (0, "", "")
    with (tmp_path / "b.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["id"] for row in found] == [row["id"] for row in expected]
    assert [row["paths"] for row in found] == [DELIMITER.join(one) for one in paths]

    done = hbgl("predict", trained, texts, "-o", tmp_path / "c.parquet")
    assert done.err.endswith("c.parquet: 40 texts\n")
    columnar = parquet.read_table(tmp_path / "c.parquet").to_pylist()
    assert [row["paths"] for row in columnar] == paths
    assert [dict(row["probabilities"]) for row in columnar] == [
        row["probabilities"] for row in expected
    ]

    plain = tmp_path / "in.txt"
    plain.write_text("".join(f"{document('texts', i)['text']}\n" for i in range(40)))
    assert hbgl("predict", trained, plain, "-o", tmp_path / "d.jsonl.gz").code == 0
    piped = hbgl("predict", trained, tmp_path / "d.jsonl.gz", "--text-column", "line")
    refused(piped, 1, "a record cannot be used")
    names = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in names if "part" in name]


def test_a_split_of_a_corpus(hbgl: Command, trained: Path, corpus: Path) -> None:
    done = hbgl("predict", trained, f"{corpus}:test")
    assert [row["id"] for row in rows(done.out)] == [f"test-{i}" for i in range(20)]


def test_bad_records_are_skipped_into_a_file(
    hbgl: Command, trained: Path, texts: Path, tmp_path: Path
) -> None:
    """An empty text in JSONL is a bad record; the answers of the others do not change."""
    good = hbgl("predict", trained, texts).out
    lines = texts.read_text().splitlines(keepends=True)
    texts.write_text("".join([*lines[:3], '{"text": " "}\n', "{broken\n", *lines[3:]]))
    done = hbgl("predict", trained, texts, "-o", tmp_path / "o.jsonl")
    refused(done, 1, "texts.jsonl:4: no text")
    assert {path.name for path in tmp_path.iterdir()} == {"texts.jsonl"}
    done = hbgl(
        "predict", trained, texts, "-o", tmp_path / "o.jsonl", "--skip-bad", tmp_path / "bad.jsonl"
    )
    assert done.code == 0, done.err
    assert "skipped 2 (1 no text, 1 broken JSON)" in done.err
    assert [row["line"] for row in rows((tmp_path / "bad.jsonl").read_text())] == [4, 5]
    found = rows((tmp_path / "o.jsonl").read_text())
    assert [row["line"] for row in found] == [1, 2, 3, *range(6, 43)]
    assert [row["labels"] for row in found] == [row["labels"] for row in rows(good)]


# ---------------------------------------------------------------------- interrupted, going on


@contextmanager
def stopping(number: int | None, after: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A signal (None: a full disk) comes after so many records."""
    write = PredictionWriter.write

    def stopped(self: PredictionWriter, prediction: Any) -> None:
        if self.written == after:
            if number is None:
                raise OSError(28, "No space left on device")
            os.kill(os.getpid(), number)
        write(self, prediction)

    with monkeypatch.context() as patch:
        patch.setattr(PredictionWriter, "write", stopped)
        yield


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.parquet"])
@pytest.mark.parametrize("after", [5, 16, 39])
@pytest.mark.usefixtures("windows")
def test_a_resumed_run_gives_the_same_bytes(
    name: str,
    after: int,
    hbgl: Command,
    trained: Path,
    texts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped inside a window of 16 texts or between two; a torn last record is done again."""
    command = ["predict", trained, texts, "--all-probabilities"]
    assert hbgl(*command, "-o", tmp_path / f"whole-{name}").code == 0
    out = tmp_path / name
    with stopping(signal.SIGTERM, after, monkeypatch):
        done = hbgl(*command, "-o", out)
    assert done.code == 143
    assert f"what was predicted is in {out}.part; to go on" in done.err
    assert not out.exists()
    with (tmp_path / f"{name}.part").open("ab") as part:
        part.write(b'{"id": "torn')
    refused(hbgl(*command, "-o", out), 2, "unfinished output of an earlier run")
    other = hbgl("predict", trained, texts, "-o", out, "--resume")
    refused(other, 2, "everything was True, now False")
    assert hbgl(*command, "-o", out, "--resume").code == 0
    assert out.read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    refused(hbgl(*command, "-o", out, "--resume"), 2, "is complete, nothing is left to resume")
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.usefixtures("windows")
def test_resuming_with_skipped_records(
    hbgl: Command, trained: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The side file of the resumed run holds the bad records of the whole input."""
    lines = texts.read_text().splitlines(keepends=True)
    texts.write_text("".join(["[]\n", *lines[:20], "{\n", *lines[20:]]))
    out, bad = tmp_path / "o.jsonl", tmp_path / "bad.jsonl"
    command = ["predict", trained, texts, "-o", out, "--skip-bad", bad]
    assert hbgl(*command).code == 0
    whole, skipped = out.read_bytes(), bad.read_bytes()
    assert skipped.count(b"\n") == 2
    with stopping(signal.SIGINT, 25, monkeypatch):
        assert hbgl(*command, "--force").code == 130
    assert out.read_bytes() == whole  # the earlier output stays until the new one is complete
    assert hbgl(*command, "--resume").code == 0
    assert (out.read_bytes(), bad.read_bytes()) == (whole, skipped)


def test_a_full_disk_leaves_what_is_complete(
    hbgl: Command, trained: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "o.jsonl"
    command = ["predict", trained, texts, "-o", out, "-q"]
    with stopping(None, 12, monkeypatch):
        refused(hbgl(*command), 1, "No space left on device")
    assert len((tmp_path / "o.jsonl.part").read_bytes().splitlines()) == 12
    assert hbgl(*command, "--resume").code == 0


def test_resuming_what_never_began_begins(
    hbgl: Command, trained: Path, texts: Path, tmp_path: Path
) -> None:
    assert hbgl("predict", trained, texts, "-o", tmp_path / "o.jsonl", "--resume").code == 0
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 40


# ---------------------------------------------------------------------- what is refused


def test_wrong_use(hbgl: Command, trained: Path, texts: Path, tmp_path: Path) -> None:
    """Each is refused before the model is loaded, and nothing is written."""
    corpus = write_corpus(tmp_path / "corpus", train=1)
    there = tmp_path / "there.jsonl"
    there.write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    out = tmp_path / "o.jsonl"

    def check(code: int, *arguments: object, words: list[str]) -> None:
        refused(hbgl("predict", *arguments), code, *words)
        assert sorted(tmp_path.rglob("*")) == before
        assert there.read_text() == "precious"

    check(2, words=["Missing argument"])
    check(1, tmp_path / "none", texts, words=["none does not exist"])
    check(1, corpus, texts, words=["has no MANIFEST.json"])
    check(1, trained, tmp_path / "none.jsonl", words=["none.jsonl: cannot be opened"])
    check(1, trained, tmp_path / "none.txt", words=["none.txt: cannot be opened"])
    check(2, trained, corpus, words=["is a folder; name a file"])
    check(2, trained, corpus / "taxonomy.tsv", "-o", "x.pdf", words=["x.pdf: the format does"])
    check(2, trained, texts, "-o", there, words=["exists already", "--force"])
    check(2, trained, texts, "-o", texts, "--force", words=["is the input"])
    check(2, trained, texts, "-o", tmp_path / "no" / "o.csv", words=["no is no folder"])
    check(2, trained, texts, "-o", out, "--skip-bad", out, words=["--skip-bad", "the output"])
    check(2, trained, texts, "--skip-bad", texts, words=["--skip-bad", "is the input"])
    check(2, trained, texts, "--resume", words=["--resume needs --output"])
    check(2, trained, texts, "--force", words=["--force needs --output"])
    check(2, trained, texts, "-o", out, "--resume", "--force", words=["contradict"])
    check(2, trained, "-", "-o", out, "--resume", words=["standard input cannot be read again"])
    check(2, trained, texts, "-o", out, "--to", "csv", words=["--to is for standard output"])
    check(2, trained, texts, "--top-k", "2", "--all-probabilities", words=["--top-k is a part"])
    check(2, trained, texts, "--top-k", "0", words=["--top-k"])
    check(2, trained, texts, "--threshold", "1.5", words=["--threshold"])
    check(2, trained, texts, "--text-column", "id", words=["one column is named for two"])
    check(1, trained, texts, "--text-column", "body", words=['no field "body" (found: "text"'])


def test_damaged_models_are_named(hbgl: Command, model: Path, texts: Path, tmp_path: Path) -> None:
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    done = hbgl("predict", model, texts, "-o", tmp_path / "o.jsonl")
    refused(done, 1, "model.safetensors is damaged: same size, other SHA-256")
    assert not list(tmp_path.glob("o.jsonl*"))
    (model / "extra.py").write_text("print()")
    refused(hbgl("predict", model, texts), 1, "extra.py is not listed")


@pytest.mark.slow
def test_processes_whose_reader_or_disk_is_gone_end_quietly(trained: Path, texts: Path) -> None:
    def start(**options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "hbgl", "predict", str(trained), str(texts)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, **options)

    gone = start(stdout=subprocess.PIPE)
    assert gone.stdout is not None
    gone.stdout.close()
    with Path("/dev/full").open("wb") as device:
        full = start(stdout=device)
    assert gone.communicate(timeout=120)[1] == b""
    assert gone.returncode == 1
    complaint = full.communicate(timeout=120)[1].decode()
    assert complaint == "hbgl: error: No space left on device\n"
    assert full.returncode == 1
