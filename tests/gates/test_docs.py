"""Generated pages equal what generates them; every command's help ends with an example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hbgl.cli.main import COMMANDS
from tools import cli_reference, number_tables

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def test_cli_reference_is_current() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == cli_reference.reference(), "run `make docs`"


def test_help_closes_with_an_example_of_the_command() -> None:
    lacking = []
    for context, command in cli_reference.commands():
        is_group = hasattr(command, "commands")
        if not is_group and context.command_path not in (command.epilog or ""):
            lacking.append(context.command_path)
    assert lacking == []


def test_every_command_is_in_the_reference() -> None:
    page = cli_reference.reference()
    assert [name for name in COMMANDS if f"## hbgl {name}\n" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_number_tables_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    runs = number_tables.read_results(ROOT / "benchmarks" / "results")
    assert number_tables.fill(text, runs) == text, "run `make docs`"


def test_pictures_are_current() -> None:
    runs = number_tables.read_results(ROOT / "benchmarks" / "results")
    files = number_tables.generated(ROOT, runs)
    pictures = {file: text for file, text in files.items() if file.suffix == ".svg"}
    assert {file: file.is_file() and file.read_text(encoding="utf-8") for file in pictures} == (
        pictures
    ), "run `make docs`"
    drawn = set((ROOT / "docs").glob("pictures/*"))
    assert drawn == set(pictures), "pictures that no page shows"


def run(benchmark: str, number: int, **results: Any) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "command": "hbgl ...",
        "seed": number,
        "commit": "0" * 40,
        "hardware": {"cpu": "A", "cores": 2},
        "date": "2026-01-01",
        "results": results,
        "file": f"{benchmark}-{number}.json",
    }


def test_runs_that_differ_in_the_seed_share_a_row() -> None:
    """Micro-F1 of 0.90 and 0.92 is 91.00 with a sample deviation of sqrt(2) = 1.41 points."""
    runs = [
        run("quality", 0, corpus="c", method="flat", epochs=3, micro_f1=0.90, macro_f1=0.5),
        run("quality", 1, corpus="c", method="flat", epochs=3, micro_f1=0.92, macro_f1=0.5),
        run("quality", 0, corpus="d", method="flat", epochs=3, micro_f1=0.7, macro_f1=0.61234),
    ]
    assert number_tables.table("quality", runs).splitlines() == [
        "| Corpus | Method | Epochs | Micro-F1 | Macro-F1 | Seeds |",
        "| --- | --- | --- | --- | --- | --- |",
        "| c | flat | 3 | 91.00 ± 1.41 | 50.00 ± 0.00 | 0, 1 |",
        "| d | flat | 3 | 70.00 | 61.23 | 0 |",
        "",
        "From `benchmarks/results`: `quality-0.json`, `quality-1.json`. cpu A, cores 2.",
    ]


def test_other_results_are_listed_by_name() -> None:
    runs = [run("scale", 0, load={"seconds": 1.23456, "labels": 100_000}, ok=True, sizes=[1, 2])]
    assert number_tables.table("scale", runs).splitlines()[:6] == [
        "| Figure | scale-0 |",
        "| --- | --- |",
        "| load, seconds | 1.23 |",
        "| load, labels | 100,000 |",
        "| ok | yes |",
        "| sizes | 1, 2 |",
    ]


def test_results_of_several_things_stand_side_by_side() -> None:
    runs = [
        run(
            "records_scale",
            0,
            csv={"read_s": 1.5, "peak_mib": 80},
            gz={"read_s": 2.5, "peak_mib": 81},
        )
    ]
    assert number_tables.table("records_scale", runs).splitlines()[:4] == [
        "| Figure | csv | gz |",
        "| --- | --- | --- |",
        "| read s | 1.5 | 2.5 |",
        "| peak mib | 80 | 81 |",
    ]


def test_what_became_of_damaged_inputs_is_summed_up() -> None:
    readers = {"csv": {"read": 2, "refused": 1}, "tsv": {"read": 0, "refused": 4}}
    runs = [run("fuzz_readers", 0, inputs=8, failures=1, by_reader=readers)]
    assert number_tables.table("fuzz_readers", runs).splitlines()[:5] == [
        "| Reader | Inputs | Read | Refused | Failures |",
        "| --- | --- | --- | --- | --- |",
        "| csv | 3 | 2 | 1 |  |",
        "| tsv | 4 | 0 | 4 |  |",
        "| all | 8 | 2 | 5 | 1 |",
    ]


def test_the_scale_of_the_metrics_is_named() -> None:
    case = {"documents": 1000, "labels": 10, "cpu_s": 1.26, "peak_mib": 99.6}
    found = run("metrics_scale", 0, graph={**case, "peak_mib_of_a_tenth": 98.0})
    assert number_tables.table("metrics_scale", [found]).splitlines()[2] == (
        "| graph, label sets and all probabilities: every score | 1,000 | 10 | 1.3 | 100 | 98 |"
    )


def test_tables_are_filled_between_their_markers_only() -> None:
    page = "a\n<!-- numbers: quality corpus=d -->\nold\n<!-- end numbers -->\nb\n"
    assert number_tables.fill(page, []) == (
        "a\n<!-- numbers: quality corpus=d -->\n\nNo result of `quality` is recorded yet.\n\n"
        "<!-- end numbers -->\nb\n"
    )
    runs = [
        run("quality", 0, corpus=corpus, method="flat", micro_f1=0.5, macro_f1=0.5)
        for corpus in ("c", "d")
    ]
    filled = number_tables.fill(page, runs)
    assert "| d | flat |" in filled
    assert "| c | flat |" not in filled
    assert number_tables.fill(filled, runs) == filled


def test_a_file_may_hold_several_seeds(tmp_path: Path) -> None:
    scores = {"corpus": "c", "micro_f1": 0.5, "macro_f1": 0.4}
    seeds = [{"seed": 0, **scores}, {"seed": 1, **scores}]
    content = run("quality", 0, **scores, runs=seeds)
    (tmp_path / "a.json").write_text(json.dumps(content))
    runs = number_tables.read_results(tmp_path)
    assert "| c | 50.00 ± 0.00 | 40.00 ± 0.00 | 0, 1 |" in number_tables.table("quality", runs)


def test_runs_without_test_scores_are_left_out() -> None:
    runs = [run("quality", 0, corpus="c", dev=0.5)]
    assert number_tables.table("quality", runs).startswith("No result of `quality` is recorded")


def test_a_result_that_lacks_its_origin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"benchmark": "quality", "results": {}}))
    with pytest.raises(SystemExit, match=r"x\.json: missing command, seed, commit"):
        number_tables.read_results(tmp_path)
