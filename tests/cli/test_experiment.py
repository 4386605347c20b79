"""``hbgl experiment`` and ``hbgl reproduce``, from the command line to their files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command, refused, write_corpus
from tests.tiny import tiny_folder

ROOT = Path(__file__).resolve().parents[2]
FILE = """
output = "{output}"
corpora = ["{corpus}"]
baseline = "flat"
settings.backbone = "{backbone}"
settings.training = {{ epochs = {epochs}, batch_size = 8, learning_rate = 2e-2, save_every = 1, \
precision = "float32" }}
settings.global_stage.steps = 2
[methods.local]
[methods.flat]
settings.model.method = "multilabel"
"""


@pytest.fixture
def file(tmp_path: Path, corpus: Path, backbone: Path) -> Path:
    return write_file(tmp_path, corpus, backbone)


def write_file(folder: Path, corpus: Path, backbone: Path, epochs: int = 1) -> Path:
    path = folder / "mine.toml"
    output = folder / "out"
    path.write_text(FILE.format(output=output, corpus=corpus, backbone=backbone, epochs=epochs))
    return path


def test_an_experiment(hbgl: Command, file: Path, tmp_path: Path) -> None:
    answer = hbgl("experiment", file, "--seeds", "0,1", "--quiet")
    assert answer.code == 0, answer
    assert answer.out.startswith("topics, on test as each method decides\n  local  Micro-F1 ")
    assert answer.err == ""
    names = [f"results.{end}" for end in ("csv", "html", "json", "md")]
    assert [name for name in names if not (tmp_path / "out" / name).is_file()] == []
    command = json.loads((tmp_path / "out" / "results.json").read_text())["facts"]["command"]
    assert command == [f"hbgl experiment {file} --seeds 0,1"]
    again = hbgl("experiment", file, "--seeds", "0,1", "--json")
    assert "4 runs, 4 of them finished already" in again.err
    assert len(json.loads(again.out)["rows"]) == 2


def test_some_methods_and_reports_of_what_is_there(hbgl: Command, file: Path) -> None:
    refused(hbgl("experiment", file, "--report-only", "-q"), 2, "no run of this plan is finished")
    assert hbgl("experiment", file, "--methods", "flat", "-q").code == 0
    answer = hbgl("experiment", file, "--report-only", "-q")
    assert "not finished: topics/local/seed-0" in answer.out
    refused(hbgl("experiment", file, "--methods", "x"), 2, "has no method x; there are local, flat")


def test_wrong_use(hbgl: Command, file: Path, tmp_path: Path) -> None:
    refused(hbgl("experiment", file, "--seeds", "a"), 2, "--seeds takes whole numbers")
    refused(hbgl("experiment", file, "--set", "epochs"), 2, "--set takes FIELD=VALUE")
    refused(hbgl("experiment", file, "--corpora", ","), 2, "names nothing")
    refused(hbgl("experiment", tmp_path / "no.toml"), 2, "no.toml")
    refused(hbgl("experiment", file, "--set", "training.epoch=1"), 2, "did you mean")
    refused(hbgl("reproduce", "table9"), 2, "table9")
    refused(hbgl("reproduce", "table4", "--budget", "big"), 2, "quick, full or epochs=N")


def test_a_killed_experiment_goes_on(tmp_path: Path, corpus: Path, backbone: Path) -> None:
    """SIGKILL in the middle of a run; the same command again finishes from the checkpoint."""
    file = write_file(tmp_path, corpus, backbone, epochs=40)
    command = [sys.executable, "-m", "hbgl", "experiment", str(file), "--methods", "flat"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    last = tmp_path / "out/runs/topics/flat/seed-0.training/checkpoints/last/MANIFEST.json"
    deadline = time.monotonic() + 300
    while not last.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "out/runs/topics/flat/seed-0").exists()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "going on after step" in done.stderr
    assert "topics, on test" in done.stdout


@pytest.mark.parametrize("name", ["wos", "nyt", "rcv1"])
def test_the_papers_settings_run(hbgl: Command, tmp_path: Path, name: str) -> None:
    """A few steps of both presets, with a tiny encoder that has room for the paper's lengths."""
    backbone, corpus = tmp_path / "tiny", write_corpus(tmp_path / name, train=16, dev=4, test=4)
    tiny_folder(backbone, max_positions=512)
    answer = hbgl(
        "experiment", ROOT / "configs" / "paper" / f"{name}.toml", "--corpora", corpus,
        "--seeds", "0", "--backbone", backbone, "-o", tmp_path / "out",
        "--set", "training.steps=3", "--set", "global_stage.steps=2", "-q",
    )  # fmt: skip
    assert answer.code == 0, answer
    lengths = {"wos": 509, "nyt": 472, "rcv1": 492}
    for method in ("paper", "authors"):
        run = tmp_path / "out" / "runs" / name / method / "seed-0" / "run.json"
        record = json.loads(run.read_text())
        assert record["training"]["training"]["step"] == 3
        assert record["configuration"]["settings"]["model"]["max_length"] == lengths[name]
    assert "87.3" in (tmp_path / "out" / "results.md").read_text() or name != "wos"


def test_reproduce_a_table(hbgl: Command, corpus: Path, backbone: Path, tmp_path: Path) -> None:
    answer = hbgl(
        "reproduce", "table4", "--methods", "multilabel,local", "--corpora", corpus, "--seeds", "0",
        "--budget", "quick", "--backbone", backbone, "-o", tmp_path / "t4", "-q",
    )  # fmt: skip
    assert answer.code == 0, answer
    page = (tmp_path / "t4" / "results.html").read_text()
    assert "Table 4: classifier: multilabel, seq2seq, local (hbgl)" in page
    assert "the baseline is multilabel" in page


def test_table_1(hbgl: Command, tmp_path: Path) -> None:
    """40 + 12 + 20 documents of one path of two labels each, beside what is published of WOS."""
    corpus = write_corpus(tmp_path / "wos")
    answer = hbgl("reproduce", "table1", "--corpora", corpus, "-o", tmp_path / "t1", "-q")
    assert answer.code == 0, answer
    assert answer.out.splitlines()[2:4] == [
        "| wos | 6 | 2 | 2.00 | 40 | 12 | 20 |",
        "| wos, Jiang et al. 2022, Table 1 | 141 | 2 | 2.00 | 30,070 | 7,518 | 9,397 |",
    ]
    assert (tmp_path / "t1" / "results.md").read_text().count("| 30,070 |") == 1
    assert "30,070" in (tmp_path / "t1" / "results.html").read_text()
    rows = json.loads(hbgl("reproduce", "table1", "--corpora", "clinc150", "--json", "-o",
                           tmp_path / "t1").out)  # fmt: skip
    assert (rows[0]["labels"], rows[0]["train"], rows[1]["train"]) == (160, 14939, 15000)
