"""The rows of each benchmark's table: from what a run recorded to cells of text."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["ROWS", "SCORES", "Run", "cell_text", "plain_rows"]

SETTINGS = (
    "corpus", "method", "name", "preset", "backbone", "label_embeddings", "epochs", "batch_size",
    "learning_rate",
)  # fmt: skip
SCORES = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}

Run = Mapping[str, Any]


def _quality_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    shown = [key for key in SETTINGS if any(key in run["results"] for run in runs)]
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        key = tuple(cell_text(run["results"].get(setting, "")) for setting in shown)
        groups.setdefault(key, []).append(run)
    yield [
        *(setting.replace("_", " ").capitalize() for setting in shown),
        *SCORES.values(),
        "Seeds",
    ]
    for key, group in sorted(groups.items(), key=lambda item: item[0][:1]):
        scores = [_score([100 * run["results"][score] for run in group]) for score in SCORES]
        yield [*key, *scores, ", ".join(str(run["seed"]) for run in group)]


def _speed_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Contenders of ``hbgl bench train`` and ``predict``; how many times faster ours are."""
    champions = list(dict.fromkeys(name for run in runs for name in run["results"]["ratios"]))
    yield [
        "Workload", "Model", "Contender", "Documents/s", "From - to", "Tokens/s", "Of peak",
        "Peak MiB", *(f"{champion} is" for champion in champions),
    ]  # fmt: skip
    for run in runs:
        results = run["results"]
        for name, one in results["contenders"].items():
            rate = one["documents_per_second"]
            ratios = [results["ratios"].get(champion, {}).get(name) for champion in champions]
            yield [
                results["workload"],
                results.get("model", ""),
                name,
                cell_text(rate["median"]),
                f"{cell_text(rate['low'])} - {cell_text(rate['high'])}",
                cell_text(one["tokens_per_second"]["median"]),
                f"{one['share_of_peak']['median']:.0%}",
                _memory(one["peak_mib"]),
                *("" if ratio is None else f"{ratio['median']:.2f} times" for ratio in ratios),
            ]


def _growth_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``hbgl bench taxonomy``: each series, then the global stage."""
    yield ["What", "Labels", "Levels", "Median", "Times slower", "Peak MiB"]
    for run in runs:
        for series in ("labels", "levels"):
            for one in run["results"].get(series, {}).get("rows", {}).values():
                rate, slower = one["documents_per_second"], one["times_slower"]
                yield [
                    f"by {series}: documents/s",
                    cell_text(one["labels"]),
                    cell_text(one["levels"]),
                    cell_text(rate["median"]),
                    f"{slower['median']:.2f}",
                    _memory(one["peak_mib"]),
                ]
        for one in run["results"].get("global_stage", {}).values():
            yield [
                f"global stage: s per step of {one['masks_per_step']} masks",
                cell_text(one["labels"]),
                cell_text(one["levels"]),
                cell_text(one["seconds_per_step"]["median"]),
                "",
                _memory(one["peak_mib"]),
            ]


def _global_stage_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``global_stage``: by processor time, which hardly depends on what else the machine does."""
    yield [
        "Labels", "Attention", "Precision", "Masked", "Masks per step", "Processor s per step",
        "Peak MiB",
    ]  # fmt: skip
    for run in runs:
        for one in run["results"]:
            yield [
                cell_text(one["labels"]),
                one["path"],
                one["precision"],
                f"{one['mask_ratio']:.0%}",
                cell_text(one["masks_per_step"]),
                cell_text(one["cpu_s"]),
                _memory(one["peak_mib"]),
            ]


def _startup_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``hbgl bench startup``: seconds from nothing, then memory over a file."""
    names = {
        "import_torch_s": "importing torch, s",
        "help_s": "`hbgl --help`, s",
        "predict_one_s": "`hbgl predict` on one sentence, s",
        "predict_beyond_torch_s": "the same beyond importing torch, s",
    }
    yield ["What", "Median", "From - to"]
    for run in runs:
        for key, name in names.items():
            one = run["results"][key]
            yield [name, f"{one['median']:.2f}", f"{one['low']:.2f} - {one['high']:.2f}"]
        for one in run["results"].get("many", {}).values():
            what = f"{cell_text(one['documents'])} documents from a file"
            yield [f"{what}, documents/s", cell_text(one["documents_per_second"]), ""]
            yield [f"{what}, peak MiB", _memory(one["peak_mib"]), ""]


def _side_by_side_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Results that have the same figures for several things: a column for each thing."""
    columns = {name: figures for run in runs for name, figures in run["results"].items()}
    yield ["Figure", *columns]
    for key in next(iter(columns.values())):
        yield [key.replace("_", " "), *(cell_text(figures[key]) for figures in columns.values())]


def _fuzz_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """What became of the inputs of each reader, and of all."""
    for run in runs:
        found = run["results"]
        outcomes = list(next(iter(found["by_reader"].values())))
        yield ["Reader", "Inputs", *(outcome.capitalize() for outcome in outcomes), "Failures"]
        for reader, counts in found["by_reader"].items():
            yield [reader, cell_text(sum(counts.values())), *map(cell_text, counts.values()), ""]
        totals = (sum(counts[name] for counts in found["by_reader"].values()) for name in outcomes)
        yield [
            "all",
            cell_text(found["inputs"]),
            *map(cell_text, totals),
            cell_text(found["failures"]),
        ]


def _engine_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``benchmarks/engines.py``: speed beside torch, and what an engine costs in F1."""
    yield ["Split", "Engine", "Documents/s", "Times torch float32", "Micro-F1", "Macro-F1"]
    for run in runs:
        for name, one in run["results"]["engines"].items():
            scores = (
                f"{100 * one[key]:.2f} ({one[f'{key}_points']:+.2f})"
                for key in ("micro_f1", "macro_f1")
            )
            times = one["times_reference"]
            yield [
                Path(run["results"]["split"]).name,
                name,
                cell_text(one["documents_per_second"]["median"]),
                f"{times['median']:.2f} ({times['low']:.2f} - {times['high']:.2f})",
                *scores,
            ]


def _tuning_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``benchmarks/tuning.py``: scores on the half of dev that was not fitted on."""
    corpora = [f"{run['results']['corpus']} {score}" for run in runs for score in SCORES.values()]
    yield ["Fitted on one half of dev, judged on the other", *corpora]
    for way in dict.fromkeys(way for run in runs for way in run["results"]["ways"]):
        ways = (run["results"]["ways"].get(way, {}) for run in runs)
        yield [way, *(f"{100 * one[key]:.2f}" if one else "" for one in ways for key in SCORES)]


def _metrics_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``benchmarks.metrics_scale``: what it takes to count and score."""
    names = {
        "flat_sets": "tree, label sets: Micro- and Macro-F1 alone",
        "tree_sets": "tree, label sets: every score of them",
        "graph_sets": "graph, label sets: every score of them",
        "tree": "tree, label sets and all probabilities: every score",
        "graph": "graph, label sets and all probabilities: every score",
    }
    yield [
        "What is scored", "Documents", "Labels", "Processor s", "Peak MiB",
        "Peak MiB of a tenth of them",
    ]  # fmt: skip
    for run in runs:
        for case, one in run["results"].items():
            yield [
                names[case],
                cell_text(one["documents"]),
                cell_text(one["labels"]),
                f"{one['cpu_s']:.1f}",
                _memory(one["peak_mib"]),
                _memory(one["peak_mib_of_a_tenth"]),
            ]


def _kernel_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """``benchmarks.kernels``: what was chosen beside what it replaced."""
    yield ["What", "Replaced, ms", "Chosen, ms", "Times as fast"]
    for run in runs:
        for row in run["results"]["rows"]:
            numbers = (cell_text(row[key]) for key in ("replaced_ms", "chosen_ms", "ratio"))
            yield [row["what"], *numbers]


def plain_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Every figure by its name, for results that have no table of their own."""
    yield ["Figure", *(run["file"].removesuffix(".json") for run in runs)]
    columns = [dict(_flat(run["results"])) for run in runs]
    for key in dict.fromkeys(key for column in columns for key in column):
        yield [key.replace("_", " "), *(cell_text(column.get(key, "")) for column in columns)]


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{prefix}, {key}" if prefix else str(key))
    elif isinstance(value, list):
        yield prefix, ", ".join(cell_text(item) for item in value) or "none"
    else:
        yield prefix, value


def _memory(mib: float | None) -> str:
    return "" if mib is None else f"{mib:,.0f}"


def _score(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def cell_text(value: object) -> str:
    """A number as readers want it: separators, three digits where it is small."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


ROWS: Mapping[str, Callable[[Sequence[Run]], Iterator[list[str]]]] = {
    "quality": _quality_rows,
    "bench_predict": _speed_rows,
    "bench_train": _speed_rows,
    "bench_taxonomy": _growth_rows,
    "bench_startup": _startup_rows,
    "global_stage": _global_stage_rows,
    "fuzz_readers": _fuzz_rows,
    "records_scale": _side_by_side_rows,
    "taxonomy_scale": _side_by_side_rows,
    "engines": _engine_rows,
    "tuning": _tuning_rows,
    "kernels": _kernel_rows,
    "metrics_scale": _metrics_rows,
}
