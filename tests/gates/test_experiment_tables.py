"""What a page shows of an experiment: rows of known numbers, pictures, words that mean nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tools import number_tables

SVG = "{http://www.w3.org/2000/svg}"


def of(*values: float) -> dict[str, Any]:
    """Mean, deviation and values, worked out by hand: two values differ by sqrt(2) deviations."""
    mean = sum(values) / len(values)
    deviation = abs(values[0] - values[-1]) / 2**0.5 if len(values) == 2 else None
    return {"mean": mean, "deviation": deviation, "values": list(values)}


def method(
    test: tuple[dict[str, Any], dict[str, Any]],
    dev: tuple[dict[str, Any], dict[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    """Scores as (Micro-F1, Macro-F1)."""
    sides = {
        split: {"tuned": {"micro_f1": micro, "macro_f1": macro}}
        for split, (micro, macro) in (("test", test), ("dev", dev))
    }
    return {
        "kind": "hbgl", "baseline": "flat", "published": None, "preset": "default", "changes": {},
        "seeds": list(range(len(test[0]["values"]))), "tests": {}, "training_seconds": of(1234.5),
        "documents_per_second": of(50.0), "peak_mib": of(700.0),
        "levels": [{"level": 1, "labels": 3, "micro_f1": of(0.9), "macro_f1": of(0.8)}],
        "bands": [
            {"lowest": 0, "highest": 0, "labels": 1, "f1": 0.25},
            {"lowest": 1000, "highest": 1999, "labels": 2, "f1": 0.75},
        ],
        **sides, **more,
    }  # fmt: skip


def paired(difference: float) -> dict[str, Any]:
    return {"difference": difference, "low": difference - 0.01, "high": difference + 0.01, "p": 0.2}


@pytest.fixture
def run() -> dict[str, Any]:
    """flat 80/60 and 82/60; local 86/70 with both seeds; an SVM with one."""
    grid = {
        "metric": "mean_f1", "seed": 0, "chosen": 1,
        "points": [
            {"point": {"training.label_learning_rate": rate},
             "dev": {"micro_f1": score, "macro_f1": score / 2}, "seconds": 61.2}
            for rate, score in ((0.001, 0.5), (0.005, 0.6))
        ],
    }  # fmt: skip
    test = {"micro_f1": paired(0.05), "macro_f1": paired(0.1)}
    flat = method(
        (of(0.80, 0.82), of(0.6, 0.6)), (of(0.7, 0.8), of(0.5, 0.6)), baseline=None, grid=grid,
        changes={"model.method": "multilabel"}, published="multi-label",
    )  # fmt: skip
    local = method(
        (of(0.86, 0.86), of(0.7, 0.7)), (of(0.75, 0.83), of(0.6, 0.62)), published="HBGL",
        tests={"flat": {"tuned": test}},
        changes={"training.clip": None, "preset": "no"}, preset="paper",
    )  # fmt: skip
    svm = method((of(0.5), of(0.4)), (of(0.6), of(0.3)), kind="tfidf-svm", options={"c": [1, 2]})
    svm["choice"] = {
        "metric": "mean",
        "chosen": {"0": {"c": 2}},
        "tried": [
            {"c": c, "micro_f1": 0.6, "macro_f1": 0.3, "mean": 0.45, "seconds": 2} for c in (1, 2)
        ],
    }
    return {
        "benchmark": "experiment",
        "file": "experiment_x.json",
        "hardware": {"cpu": "of the table's writer"},
        "results": {
            "experiment": "x",
            "seeds": [0, 1],
            "methods": ["local", "flat", "svm", "gat"],
            "missing": ["c/gat/seed-0", "c/svm/seed-1", "c/gat/seed-1", "d/gat/seed-0"],
            "runs": {"command": ["hbgl experiment x.toml"], "hardware": ["cpu A"]},
            "corpora": {
                "c": {
                    "documents": 1200,
                    "settings": {"training.batch_size": 16},
                    "methods": {"local": local, "flat": flat, "svm": svm},
                }
            },
        },
    }


def filled(words: str, run: dict[str, Any]) -> list[str]:
    page = number_tables.fill(f"<!-- numbers: {words} -->\n<!-- end numbers -->\n", [run])
    return page.splitlines()[2:-2]


def test_scores_with_paired_tests_and_published_ones(run: dict[str, Any]) -> None:
    """Seeds 0.80 and 0.82: mean 81.00, deviation 0.02 / sqrt(2) = 1.41 points."""
    assert filled("experiment_scores experiment=x methods=flat:multilabel,local,gat", run) == [
        "| Corpus | Method | Micro-F1 | Macro-F1 | Compared with | Micro-F1, difference "
        "| Macro-F1, difference | Seeds | Paper on WOS, Micro / Macro "
        "| Paper on NYT, Micro / Macro | Paper on RCV1-V2, Micro / Macro |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| c | multilabel | 81.00 ± 1.41 | 60.00 ± 0.00 |  |  |  | 2: 0, 1 | - | 78.16 / 67.05 "
        "| 85.96 / 68.03 |",
        "| c | local | 86.00 ± 0.00 | 70.00 ± 0.00 | multilabel "
        "| +5.00 (+4.00 to +6.00), p 0.200 | +10.00 (+9.00 to +11.00), p 0.200 | 2: 0, 1 "
        "| 87.36 / 82.00 | 80.47 / 70.19 | 87.23 / 71.07 |",
        "",
        "Not finished: gat on c (seed 0, 1); gat on d (seed 0).",
        "",
        "From `benchmarks/results`: `experiment_x.json`. cpu A.",
    ]
    alone = filled("experiment_scores experiment=x methods=svm", run)
    assert alone[0] == "| Corpus | Method | Micro-F1 | Macro-F1 | Seeds |"
    assert alone[2] == "| c | svm | 50.00 | 40.00 | 1: 0 |"
    assert alone[4] == "Not finished: svm on c (seed 1)."
    by_paper = filled("experiment_scores experiment=x methods=svm decision=paper", run)
    assert by_paper[2] == "| c | svm | - | - | 1: 0 |"


def test_what_a_choice_changes(run: dict[str, Any]) -> None:
    """Dev Micro-F1: 0.75 - 0.70 and 0.83 - 0.80: +4.00 points, deviation 2 / sqrt(2) = 1.41."""
    lines = filled("experiment_changes experiment=x corpus=c", run)
    flat, local, svm = lines[2:5]
    assert flat == (
        "| c | flat | what the others are compared with | 75.00 ± 7.07 | 55.00 ± 7.07 "
        "| 65.00 ± 7.07 | 81.00 ± 1.41 | 60.00 ± 0.00 | 2: 0, 1 |"
    )
    assert local == (
        '| c | local | preset `paper`, `training.clip = "none"`, `preset = "no"` | +4.00 ± 1.41 '
        "| +6.00 ± 5.66 | +5.00 ± 3.54 | +5.00 (+4.00 to +6.00), p 0.200 "
        "| +10.00 (+9.00 to +11.00), p 0.200 | 2: 0, 1 |"
    )
    assert svm.startswith(
        "| c | svm | yardstick `tfidf-svm`, `c = [1, 2]` | -10.00 | -20.00 | -15.00 | - | - | 1: 0"
    )


def test_what_was_tried_on_dev(run: dict[str, Any]) -> None:
    by = "the mean of Micro- and Macro-F1, seed 0"
    assert filled("experiment_grid experiment=x", run)[2:6] == [
        "| c | flat | `training.label_learning_rate = 0.001` | 50.00 | 25.00 | 61 |  |",
        f"| c | flat | `training.label_learning_rate = 0.005` | 60.00 | 30.00 | 61 | {by} |",
        "| c | svm | `c = 1` | 60.00 | 30.00 | 2 |  |",
        f"| c | svm | `c = 2` | 60.00 | 30.00 | 2 | {by} |",
    ]


def test_levels_bands_costs_and_runs(run: dict[str, Any]) -> None:
    words = "experiment=x methods=local,gat"
    assert filled(f"experiment_levels {words}", run)[:3] == [
        "| Corpus | Level | Labels | local | gat |",
        "| --- | --- | --- | --- | --- |",
        "| c | 1 | 3 | 90.00 / 80.00 | - |",
    ]
    assert filled(f"experiment_bands {words}", run)[2:4] == [
        "| c | 0 | 1 | 25.00 | - |",
        "| c | 1,000 to 1,999 | 2 | 75.00 | - |",
    ]
    costs = filled(f"experiment_costs {words}", run)
    assert costs[2] == "| c | local | 1,234 | 50 | 700 | 2: 0, 1 |"
    runs = filled("experiment_runs experiment=x", run)
    assert runs[2:5] == [
        "| runs | 5 finished, 4 missing |",
        "| c: test documents | 1,200 |",
        "| c: settings, but where a row says otherwise | `training.batch_size = 16` |",
    ]
    assert "| command | `hbgl experiment x.toml` |" in runs


def test_nothing_recorded_is_said(run: dict[str, Any]) -> None:
    absent = filled("experiment_scores experiment=y", run)
    assert absent == ["No result of the experiment `y` is recorded yet."]
    assert filled("experiment_bands_picture experiment=y", run) == absent
    late = filled("experiment_levels experiment=x corpus=c methods=gat", run)
    assert late == ["Not finished: gat on c (seed 0, 1)."]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("experiment_scores", "experiment=NAME is missing"),
        ("experiment_scores experiment=x method=flat", "method means nothing; there are against"),
        ("experiment_scores experiment=x methods=flatt", "no method flatt; there are local, flat"),
        (
            "experiment_score experiment=x",
            "experiment_score is no table; there are experiment_runs",
        ),
    ],
)
def test_words_that_mean_nothing(words: str, message: str, run: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match=message):
        filled(words, run)


def test_pictures_are_files_beside_the_page(run: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("nothing\n")
    page = tmp_path / "docs" / "results.md"
    page.write_text(
        "<!-- numbers: experiment_scores_picture experiment=x methods=local,gat,svm -->\n"
        "<!-- end numbers -->\n"
        "<!-- numbers: experiment_bands_picture experiment=x corpus=c methods=gat,local,svm -->\n"
        "<!-- end numbers -->\n"
    )
    found = number_tables.generated(tmp_path, [run])
    folder = tmp_path / "docs" / "pictures"
    assert list(found) == [
        tmp_path / "README.md", page, folder / "x_scores.svg", folder / "x_bands_c.svg",
    ]  # fmt: skip
    assert "](pictures/x_scores.svg)" in found[page]
    assert "c local 86.00 ± 0.00 / 70.00 ± 0.00; c svm 50.00 / 40.00" in found[page]
    assert found == number_tables.generated(tmp_path, [run])
    scores, bands = (
        ET.fromstring(found[folder / name]) for name in ("x_scores.svg", "x_bands_c.svg")
    )
    titles = [one.text for one in scores.iter(f"{SVG}text") if one.get("class") == "title"]
    assert titles == ["c: Micro-F1 on test", "c: Macro-F1 on test"]
    dots = [one for one in scores.iter(f"{SVG}circle") if "seed" not in str(one.get("class"))]
    assert len(dots) == 2 * 2  # of two finished methods in two panels
    # Colours go by the order of the experiment; gat, which is not finished, has no line.
    lines = [one.get("class") for one in bands.iter(f"{SVG}polyline")]
    legend = [one.get("class") for one in bands.findall(f"{SVG}line")]
    assert lines == legend == ["line series0", "line series2"]
    assert [one.text for one in bands.findall(f"{SVG}text")][1:] == ["local", "svm"]
    ids = [one.get("id") for tree in (scores, bands) for one in tree.iter() if one.get("id")]
    assert len(ids) == len(set(ids))
