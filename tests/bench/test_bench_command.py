"""The commands: a table first, one JSON line last, and the result file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hbgl.bench import matmul, rounds
from hbgl.bench.report import startup_table
from hbgl.cli import main
from tools.number_tables import REQUIRED

Bench = Callable[..., tuple[list[str], dict[str, Any]]]

SPREAD = {"median", "low", "high"}
QUICK = ["--precision", "float32", "--quiet"]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Run a command; its table and the JSON of its last line."""
    monkeypatch.setattr(rounds, "_SETTLE", 0.0)
    monkeypatch.setattr(matmul.MatmulPeak.__init__, "__defaults__", ((64,),))

    def run(*arguments: object) -> tuple[list[str], dict[str, Any]]:
        code = main.run(["bench", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert code == 0, err
        *table, line = out.splitlines()
        record = json.loads(line)
        assert set(REQUIRED) <= record.keys()
        assert record["hardware"]["torch"] == torch.__version__
        return table, record

    return run


def test_predict(bench: Bench, corpus: Path, backbone: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    table, record = bench(
        "predict", corpus, "--backbone", backbone, "--documents", 20, "--repetitions", 2,
        "--one-process", "--out", out, *QUICK,
    )  # fmt: skip
    assert record == json.loads(out.read_text())
    assert record["benchmark"] == "bench_predict"
    assert record["command"].startswith(f"hbgl bench predict {corpus} --documents 20 --repetitions")
    assert "--out" not in record["command"]
    results = record["results"]
    assert results["workload"] == "topics"
    assert results["documents"] == 20
    assert results["rounds"] == 2
    assert results["model"] == "untrained"
    names = ["hbgl", "flat", "pipeline", "pipeline-sorted", "long"]
    assert list(results["contenders"]) == names
    assert list(results["ratios"]["hbgl"]) == names[1:]
    for name, one in results["contenders"].items():
        assert len(one["seconds"]) == 2
        assert one["documents"] == 20
        for key in ("documents_per_second", "tokens_per_second", "share_of_peak"):
            assert one[key].keys() == SPREAD
            assert 0 < one[key]["low"] <= one[key]["median"] <= one[key]["high"], (name, key)
        by_hand = [20 / seconds for seconds in one["seconds"]]
        assert one["documents_per_second"]["median"] == pytest.approx(sum(by_hand) / 2, rel=0.05)
    assert table[0].startswith("topics: 20 documents, ")
    head = next(line for line in table if "documents/s" in line)
    assert head.rstrip().endswith("hbgl is")
    assert [line.split()[0] for line in table if line.endswith(" x")] == names[1:]


def test_ratios_are_those_of_the_rounds(bench: Bench, corpus: Path, backbone: Path) -> None:
    """From the seconds in the result: the median over the rounds of long / hbgl."""
    _, record = bench(
        "predict", corpus, "--backbone", backbone, "--against", "flat", "--repetitions", 3,
        "--one-process", *QUICK,
    )  # fmt: skip
    ours, flat = (record["results"]["contenders"][name]["seconds"] for name in ("hbgl", "flat"))
    by_hand = sorted(b / a for a, b in zip(ours, flat, strict=True))
    found = record["results"]["ratios"]["hbgl"]["flat"]
    assert found["median"] == pytest.approx(by_hand[1], rel=0.02)
    assert found["low"] == pytest.approx(by_hand[0], rel=0.02)


def test_train(bench: Bench, corpus: Path, backbone: Path) -> None:
    _, record = bench(
        "train", corpus, "--backbone", backbone, "--documents", 24, "--repetitions", 1,
        "--batch-size", 8, "--one-process", *QUICK,
    )  # fmt: skip
    results = record["results"]
    assert record["benchmark"] == "bench_train"
    documents = {name: one["documents"] for name, one in results["contenders"].items()}
    # 24 / 8 documents are less than one batch of 12.
    assert documents == {"hbgl": 24, "flat": 24, "trainer": 24, "long": 12, "plain": 24}
    assert results["batch_size"] == 8
    assert results["ratios"]["hbgl"]["long"]["median"] > 0


@pytest.mark.slow
def test_predict_in_processes_measures_memory(bench: Bench, corpus: Path, backbone: Path) -> None:
    table, record = bench(
        "predict", corpus, "--backbone", backbone, "--against", "", "--documents", 8,
        "--repetitions", 1, "--threads", 1, *QUICK,
    )  # fmt: skip
    results = record["results"]
    assert results["threads"] == 1
    assert 50 < results["contenders"]["hbgl"]["peak_mib"] < 5000
    assert results["ratios"] == {"hbgl": {}}
    assert any("GFLOP/s" in line for line in table)


def test_taxonomy(bench: Bench, backbone: Path) -> None:
    table, record = bench(
        "taxonomy", "--backbone", backbone, "--labels", 10, "--labels", 40, "--levels", 2,
        "--levels", 4, "--documents", 8, "--words", 5, "--repetitions", 2, "--one-process", *QUICK,
    )  # fmt: skip
    results = record["results"]
    assert "--labels 10 --labels 40 --levels 2 --levels 4" in record["command"]
    assert {key: row["labels"] for key, row in results["labels"]["rows"].items()} == {
        "10": 10,
        "40": 40,
    }
    assert {row["levels"] for row in results["labels"]["rows"].values()} == {3}
    assert {key: row["levels"] for key, row in results["levels"]["rows"].items()} == {
        "2": 2,
        "4": 4,
    }
    assert results["labels"]["rows"]["10"]["times_slower"] == dict.fromkeys(SPREAD, 1.0)
    assert results["labels"]["rows"]["40"]["times_slower"]["median"] > 0
    assert results["global_stage"]["40"]["seconds_per_step"]["median"] > 0
    # One cut for all, although more levels leave fewer positions.
    assert results["max_length"] == 64 - 4
    assert "a step of the global stage" in table


@pytest.mark.slow
def test_startup(bench: Bench, corpus: Path, backbone: Path) -> None:
    table, record = bench(
        "startup", corpus, "--backbone", backbone, "--repetitions", 1, "--many", 20,
        "--one-process", "--threads", 1, *QUICK,
    )  # fmt: skip
    results = record["results"]
    whole, torch_alone = (results[key]["median"] for key in ("predict_one_s", "import_torch_s"))
    assert results["predict_beyond_torch_s"]["median"] == pytest.approx(
        whole - torch_alone, rel=0.01
    )
    assert 0 < results["help_s"]["median"] < whole
    assert [one["documents"] for one in results["many"].values()] == [2, 20]
    assert all(50 < one["peak_mib"] < 5000 for one in results["many"].values())
    assert any(line.startswith("hbgl predict beyond") for line in table)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("predict", "--against", "nobody"), "no contender 'nobody'; there are: hbgl, flat"),
        (("train", "--against", "pipeline"), "no contender 'pipeline'"),
        (("predict", "--out", "no-such-folder/a.json"), "--out no-such-folder/a.json is a folder"),
        (("startup", "--many", "15"), "give a multiple of ten"),
        (("predict", "--documents", "0"), "--documents"),
    ],
)
def test_refused_at_once(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["bench", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hbgl: error: ")
    assert words in err


def test_an_engine_that_does_not_exist(
    corpus: Path, backbone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["predict", str(corpus), "--backbone", str(backbone), "--engine", "steam"]
    assert main.run(["bench", *arguments, "--one-process", "--quiet"]) == 2
    assert "no contender or engine 'steam'; engines are: onnx" in capsys.readouterr().err


def test_the_table_of_starting_up() -> None:
    """Seconds with two decimals, memory in whole MiB."""
    one = {"median": 2.345, "low": 2.0, "high": 3.0}
    seconds = ("import_torch_s", "help_s", "predict_one_s", "predict_beyond_torch_s")
    many = {"documents": 20_000, "seconds": 12.34, "documents_per_second": 1620.7}
    results = {
        "backbone": "minilm", "labels": 160, "levels": 2, "rounds": 5,
        **dict.fromkeys(seconds, one), "many": {"20000": {**many, "peak_mib": 812.4}},
    }  # fmt: skip
    table = list(startup_table(results))
    assert table[2].split() == ["python", "-c", '"import', 'torch"', "2.35", "2.00", "-", "3.00"]
    assert table[-1].split() == ["20,000", "12.3", "1,621", "812"]
