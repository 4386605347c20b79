from __future__ import annotations

import csv
import doctest
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pyarrow import parquet

import hbgl
import hbgl.prediction_output.prediction
from hbgl.errors import HBGLError, UsageError
from hbgl.prediction_output import (
    Prediction,
    PredictionRun,
    PredictionStream,
    PredictionWriter,
)

RUN = PredictionRun("0" * 64, "/texts.jsonl", 100, {"threshold": 0.5, "top_k": None})
SOURCE = str(Path(hbgl.__file__).parents[1])


def prediction(number: int) -> Prediction:
    return Prediction(
        labels=("sports", "golf; and more", "arts"),
        paths=(("sports", "golf; and more"), ("arts",)),
        path_probabilities=(0.5, 1.0),
        probabilities={"sports": 0.98765432, "golf; and more": 0.5, "arts": 1.0},
        id=f"d{number}",
        line=number,
    )


FAILED = Prediction(line=3, error="text is empty")


def write(out: Path, run: PredictionRun = RUN) -> None:
    with PredictionWriter.create(out, run) as writer:
        for one in (prediction(1), prediction(2), FAILED):
            writer.write(one)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_record_in_jsonl(tmp_path: Path) -> None:
    write(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == (
        '{"id": "d1", "line": 1, "labels": ["sports", "golf; and more", "arts"], '
        '"paths": ["sports > golf; and more", "arts"], "path_probabilities": [0.5, 1.0], '
        '"probabilities": {"sports": 0.987654, "golf; and more": 0.5, "arts": 1.0}}\n'
        '{"id": "d2", "line": 2, "labels": ["sports", "golf; and more", "arts"], '
        '"paths": ["sports > golf; and more", "arts"], "path_probabilities": [0.5, 1.0], '
        '"probabilities": {"sports": 0.987654, "golf; and more": 0.5, "arts": 1.0}}\n'
        '{"line": 3, "labels": [], "paths": [], "path_probabilities": [], '
        '"probabilities": {}, "error": "text is empty"}\n'
    )
    assert names(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize(("name", "delimiter"), [("out.csv", ","), ("out.tsv.gz", "\t")])
def test_tables(tmp_path: Path, name: str, delimiter: str) -> None:
    write(tmp_path / name)
    raw = (tmp_path / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    assert len(rows) == 3
    assert rows[0]["id"] == "d1"
    assert json.loads(rows[0]["labels"]) == ["sports", "golf; and more", "arts"]
    assert json.loads(rows[0]["probabilities"])["sports"] == 0.987654
    assert (rows[2]["line"], rows[2]["labels"], rows[2]["error"]) == ("3", "", "text is empty")
    assert names(tmp_path) == [name]


def test_labels_without_the_delimiter_stay_plain(tmp_path: Path) -> None:
    with PredictionWriter.create(tmp_path / "o.csv", RUN) as writer:
        writer.write(Prediction(("a", "b"), (("a", "b"),), (0.25,), {"b": 0.25}))
        writer.write(Prediction(id="x\ry"))
    lines = (tmp_path / "o.csv").read_bytes().split(b"\n")
    assert lines[1] == b',,a;b,a > b,0.25,"{""b"": 0.25}",'
    assert lines[2].startswith(b'"x\ry",')


def test_parquet(tmp_path: Path) -> None:
    write(tmp_path / "out.parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert rows[0] == {
        "id": "d1",
        "line": 1,
        "labels": ["sports", "golf; and more", "arts"],
        "paths": ["sports > golf; and more", "arts"],
        "path_probabilities": [0.5, 1.0],
        "probabilities": [("sports", 0.987654), ("golf; and more", 0.5), ("arts", 1.0)],
        "error": None,
    }
    assert (rows[2]["labels"], rows[2]["error"]) == ([], "text is empty")
    assert names(tmp_path) == ["out.parquet"]
    with PredictionWriter.create(tmp_path / "none.parquet", RUN):
        pass
    assert parquet.read_table(tmp_path / "none.parquet").num_rows == 0


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_a_lone_surrogate_is_escaped(tmp_path: Path, name: str) -> None:
    with PredictionWriter.create(tmp_path / name, RUN) as writer:
        writer.write(Prediction(id="\ud800"))
    assert b"\\ud800" in (tmp_path / name).read_bytes()


def interrupt(out: Path) -> None:
    with suppress(KeyboardInterrupt), PredictionWriter.create(out, RUN) as writer:
        writer.write(prediction(1))
        writer.write(prediction(2))
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.csv", "out.parquet"])
@pytest.mark.parametrize("torn", [b"", b'{"line": 3, "lab', b"\0\0\0\n\0", b'{"line": 3,\n{"a'])
def test_a_resumed_run_writes_the_same_file(tmp_path: Path, name: str, torn: bytes) -> None:
    """Two of four records, a torn third one, then the rest: as if never interrupted."""
    for folder in ("whole", "broken"):
        (tmp_path / folder).mkdir()
    whole, broken = tmp_path / "whole" / name, tmp_path / "broken" / name
    with PredictionWriter.create(whole, RUN) as writer:
        for number in range(1, 5):
            writer.write(prediction(number))

    interrupt(broken)
    assert names(broken.parent) == [f"{name}.part", f"{name}.part.json"]
    with (tmp_path / "broken" / f"{name}.part").open("ab") as file:
        file.write(torn)
    with PredictionWriter.resume(broken, RUN) as writer:
        assert (writer.written, writer.last_line) == (2, 2)
        for number in range(writer.written + 1, 5):
            writer.write(prediction(number))
    assert broken.read_bytes() == whole.read_bytes()
    assert names(broken.parent) == [name]


def test_an_error_in_the_block_leaves_the_output_unfinished(tmp_path: Path) -> None:
    interrupt(tmp_path / "o.csv")
    assert names(tmp_path) == ["o.csv.part", "o.csv.part.json"]


def unfinished(out: Path) -> None:
    writer = PredictionWriter.create(out, RUN)
    writer.write(prediction(1))
    writer.close()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (PredictionRun("1" * 64, RUN.input, 100, RUN.options), "with another model"),
        (PredictionRun(RUN.model, "/b.jsonl", 100, RUN.options), r"input was '/texts\.jsonl', now"),
        (PredictionRun(RUN.model, RUN.input, 101, RUN.options), "input_bytes was 100, now 101"),
        (
            PredictionRun(RUN.model, RUN.input, 100, {"threshold": 0.4, "top_k": None}),
            r"threshold was 0\.5, now 0\.4\. Repeat",
        ),
        (
            PredictionRun(RUN.model, RUN.input, 100, {**RUN.options, "top_k": 3}),
            "top_k was None, now 3",
        ),
    ],
)
def test_another_run_is_not_resumed(tmp_path: Path, run: PredictionRun, message: str) -> None:
    unfinished(tmp_path / "o.jsonl")
    before = (tmp_path / "o.jsonl.part").read_bytes()
    with pytest.raises(UsageError, match=message):
        PredictionWriter.resume(tmp_path / "o.jsonl", run)
    assert (tmp_path / "o.jsonl.part").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "is missing"), (b"{", "cannot be read"), (b"[]", "was not"), (b"{}", "was not")],
)
def test_a_damaged_sidecar_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    unfinished(tmp_path / "o.jsonl")
    sidecar = tmp_path / "o.jsonl.part.json"
    sidecar.unlink()
    if content is not None:
        sidecar.write_bytes(content)
    with pytest.raises(UsageError, match=rf"part\.json {message}"):
        PredictionWriter.resume(tmp_path / "o.jsonl", RUN)


def test_options_that_json_turns_into_lists_are_the_same_run(tmp_path: Path) -> None:
    run = PredictionRun("0" * 64, "/a", 1, {"levels": (1, 2)})
    PredictionWriter.create(tmp_path / "o.jsonl", run).close()
    PredictionWriter.resume(tmp_path / "o.jsonl", run).close()


def test_an_unfinished_output_is_not_thrown_away_by_accident(tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    unfinished(out)
    with pytest.raises(UsageError, match="unfinished output of an earlier run; resume"):
        PredictionWriter.create(out, RUN)
    with PredictionWriter.create(out, RUN, overwrite=True) as writer:
        assert writer.written == 0
    assert out.read_bytes() == b""
    write(out)  # a complete output is replaced, at the end
    assert out.read_bytes().count(b"\n") == 3


def test_resuming_what_was_never_begun_or_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    with PredictionWriter.resume(out, RUN) as writer:
        assert writer.written == 0
        writer.write(prediction(1))
    with pytest.raises(UsageError, match="is complete, nothing is left"):
        PredictionWriter.resume(out, RUN)
    with pytest.raises(UsageError, match="standard input cannot be read again"):
        PredictionWriter.resume(out, PredictionRun("0" * 64, "-"))


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(HBGLError, match=r"cannot write .*No such file"):
        PredictionWriter.create(tmp_path / "none" / "o.jsonl", RUN)
    with pytest.raises(UsageError, match="the format does not show"):
        PredictionWriter.create(tmp_path / "o.xml", RUN)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        PredictionWriter.create(tmp_path / "d.csv", RUN)
    with pytest.raises(UsageError, match="is the input"):
        PredictionWriter.create(tmp_path / "i.csv", PredictionRun("0", str(tmp_path / "i.csv")))
    assert names(tmp_path) == ["d.csv"]


FULL_DISK = """
import resource, sys
from pathlib import Path
from hbgl.errors import HBGLError
from hbgl.prediction_output import Prediction, PredictionRun, PredictionWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with PredictionWriter.create(Path(sys.argv[1]), PredictionRun("0", "/a")) as writer:
        while True:
            writer.write(Prediction(("label",), line=writer.written + 1))
except HBGLError as error:
    print(writer.written, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits")
def test_a_run_goes_on_after_a_full_disk(tmp_path: Path) -> None:
    """Files may have 1,000 bytes: the record that does not fit is dropped, the others stay."""
    out = tmp_path / "o.jsonl"
    printed = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(out)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    written, message = printed.split(" ", 1)
    assert "cannot write" in message
    assert "too large" in message
    assert (tmp_path / "o.jsonl.part").stat().st_size == 1000
    with PredictionWriter.resume(out, PredictionRun("0", "/a")) as writer:
        assert writer.written == int(written) > 5


KILLED = """
import sys
from itertools import count, islice
from pathlib import Path
from hbgl.prediction_output import Prediction, PredictionRun, PredictionWriter

with PredictionWriter.resume(Path(sys.argv[1]), PredictionRun("0", "/a")) as writer:
    print("ready", flush=True)
    for line in islice(count(1), writer.written, None):
        writer.write(Prediction(("label",) * 50, line=line))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_no_record_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    written = 0
    for round_ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(out)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(UsageError, match="written by another process"):
            PredictionWriter.resume(out, PredictionRun("0", "/a"))
        time.sleep(0.01 * round_)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        writer = PredictionWriter.resume(out, PredictionRun("0", "/a"))
        assert writer.written >= written
        assert writer.last_line == writer.written
        written = writer.written
        writer.close()
    with PredictionWriter.resume(out, PredictionRun("0", "/a")):
        pass
    lines = [json.loads(line)["line"] for line in out.read_bytes().splitlines()]
    assert lines == list(range(1, written + 1))
    assert written > 0


def test_streams(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with PredictionStream(stream) as writer:
        writer.write(FAILED)
        assert stream.getvalue().count(b"\n") == 1  # at once
    assert writer.written == 1
    table = io.BytesIO()
    with PredictionStream(table, "csv") as writer:
        writer.write(FAILED)
    assert table.getvalue().splitlines() == [
        b"id,line,labels,paths,path_probabilities,probabilities,error",
        b",3,,,,{},text is empty",
    ]
    with pytest.raises(UsageError, match="name an output file"):
        PredictionStream(io.BytesIO(), "parquet")


def test_a_run_is_described_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "MANIFEST.json").write_bytes(b"{}\n")
    (tmp_path / "in.jsonl").write_bytes(b"12345")
    monkeypatch.chdir(tmp_path)
    run = PredictionRun.of(tmp_path, "in.jsonl", {"top_k": 3})
    assert run.model == "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
    assert (run.input, run.input_bytes) == (str((tmp_path / "in.jsonl").resolve()), 5)
    assert PredictionRun.of(tmp_path, "-", {}).input == "-"
    with pytest.raises(HBGLError, match=r"cannot read .*none\.jsonl"):
        PredictionRun.of(tmp_path, "none.jsonl", {})


def test_the_documented_examples_hold() -> None:
    assert doctest.testmod(hbgl.prediction_output.prediction).failed == 0


def test_importing_is_light() -> None:
    code = (
        "import sys, hbgl.prediction_output;"
        "print([m for m in ('torch', 'scipy', 'pyarrow') if m in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        check=True,
    )
    assert printed.stdout == b"[]\n"
