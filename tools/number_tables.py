"""Fill the number tables of README and docs from ``benchmarks/results``; ``--check`` compares.

A table stands between two comments; ``key=value`` keeps only results with that setting::

    <!-- numbers: quality corpus=clinc150 -->
    <!-- end numbers -->

Each file of ``benchmarks/results`` is one run: what was run, with which seed, commit and
hardware, and its ``results``. Runs of ``quality`` (scores as fractions) that differ in the seed
alone share a row. A run of ``decisions`` is a table of its own: scores by rule.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["fill", "read_results", "table"]

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = ("benchmark", "command", "seed", "commit", "hardware", "date", "results")
MARKER = re.compile(
    r"(?P<open><!-- numbers: (?P<name>\S+)(?P<filters>( \w+=\S+)*) -->\n)"
    r".*?(?P<close><!-- end numbers -->)",
    re.DOTALL,
)
SETTINGS = (
    "corpus", "method", "name", "preset", "backbone", "label_embeddings", "epochs", "batch_size",
    "learning_rate",
)  # fmt: skip
SCORES = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}

Run = Mapping[str, Any]


def read_results(folder: Path) -> list[Run]:
    """All runs, in the order of their file names, each with its ``file``."""
    runs: list[Run] = []
    for path in sorted(folder.glob("**/*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in REQUIRED if key not in run]
        if missing:
            raise SystemExit(f"{path}: missing {', '.join(missing)}")
        runs.extend(_single_runs({**run, "file": path.relative_to(folder).as_posix()}))
    return runs


def _single_runs(run: Run) -> Iterator[Run]:
    """A file of ``quality`` with several seeds lists their results as ``runs``."""
    if run["benchmark"] != "quality":
        yield run
        return
    for results in run["results"].get("runs") or [run["results"]]:
        seed = results.get("seed", run["seed"])
        yield {**run, "seed": seed, "results": results}


def fill(page: str, runs: Sequence[Run]) -> str:
    """The page with every table written anew."""

    def replace(match: re.Match[str]) -> str:
        filters = dict(part.split("=", 1) for part in match["filters"].split())
        chosen = [
            run
            for run in runs
            if run["benchmark"] == match["name"]
            and all(str(run["results"].get(key)) == value for key, value in filters.items())
        ]
        return f"{match['open']}\n{table(match['name'], chosen)}\n\n{match['close']}"

    return MARKER.sub(replace, page)


def table(name: str, runs: Sequence[Run]) -> str:
    """One Markdown table, and the line that says where its numbers come from."""
    if name == "quality":
        runs = [run for run in runs if all(score in run["results"] for score in SCORES)]
    if not runs:
        return f"No result of `{name}` is recorded yet."
    if name == "decisions":
        return "\n\n".join(_decisions(run) for run in runs)
    rows = list(ROWS.get(name, _plain_rows)(runs))
    files = ", ".join(dict.fromkeys(f"`{run['file']}`" for run in runs))
    return f"{_markdown(rows)}\n\nFrom `benchmarks/results`: {files}. {_machines(runs)}."


def _quality_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    shown = [key for key in SETTINGS if any(key in run["results"] for run in runs)]
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        key = tuple(_text(run["results"].get(setting, "")) for setting in shown)
        groups.setdefault(key, []).append(run)
    yield [
        *(setting.replace("_", " ").capitalize() for setting in shown),
        *SCORES.values(),
        "Seeds",
    ]
    for key, group in sorted(groups.items(), key=lambda item: item[0][:1]):
        scores = [_score([100 * run["results"][score] for run in group]) for score in SCORES]
        yield [*key, *scores, ", ".join(str(run["seed"]) for run in group)]


def _decisions(run: Run) -> str:
    """Calibration and coherence before and after, and every score under every rule."""
    found = run["results"]
    errors = ", ".join(
        f"{name} {100 * part['ece_chosen']:.2f} ({100 * part['ece']:.2f} over all labels)"
        for name, part in found["calibration"].items()
    )
    coherent = ", ".join(f"{name} {100 * part:.2f}" for name, part in found["coherence"].items())
    rules = list(found["rules"])
    reference = found["rules"][rules[0]]
    rows = [["Percent", rules[0], *(f"`{rule}`" for rule in rules[1:])]]
    for key, name in found["names"].items():
        factor = 100 if key in found["shares"] else 1
        others = (found["rules"][rule][key] for rule in rules[1:])
        rows.append(
            [
                name if factor == 100 else f"{name} (a number)",
                f"{factor * reference[key]:.2f}",
                *(f"{factor * one:.2f} ({factor * (one - reference[key]):+.2f})" for one in others),
            ]
        )
    return (
        f"**{found['corpus']}, {found['split']}**, {_text(found['documents'])} documents, method "
        f"{found['method']}, rule `{found['rule']}`. Calibration error of the predicted labels: "
        f"{errors}. Share of answers that keep to the taxonomy: {coherent}.\n\n"
        f"{_markdown(rows)}\n\nFrom `benchmarks/results`: `{run['file']}`. {_machines([run])}."
    )


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
                _text(rate["median"]),
                f"{_text(rate['low'])} - {_text(rate['high'])}",
                _text(one["tokens_per_second"]["median"]),
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
                    _text(one["labels"]),
                    _text(one["levels"]),
                    _text(rate["median"]),
                    f"{slower['median']:.2f}",
                    _memory(one["peak_mib"]),
                ]
        for one in run["results"].get("global_stage", {}).values():
            yield [
                f"global stage: s per step of {one['masks_per_step']} masks",
                _text(one["labels"]),
                _text(one["levels"]),
                _text(one["seconds_per_step"]["median"]),
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
                _text(one["labels"]),
                one["path"],
                one["precision"],
                f"{one['mask_ratio']:.0%}",
                _text(one["masks_per_step"]),
                _text(one["cpu_s"]),
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
            what = f"{_text(one['documents'])} documents from a file"
            yield [f"{what}, documents/s", _text(one["documents_per_second"]), ""]
            yield [f"{what}, peak MiB", _memory(one["peak_mib"]), ""]


def _plain_rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    yield ["Figure", *(run["file"].removesuffix(".json") for run in runs)]
    columns = [dict(_flat(run["results"])) for run in runs]
    for key in dict.fromkeys(key for column in columns for key in column):
        yield [key.replace("_", " "), *(_text(column.get(key, "")) for column in columns)]


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{prefix}, {key}" if prefix else str(key))
    elif isinstance(value, list):
        yield prefix, ", ".join(_text(item) for item in value)
    else:
        yield prefix, value


def _memory(mib: float | None) -> str:
    return "" if mib is None else f"{mib:,.0f}"


def _score(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def _markdown(rows: Iterable[Sequence[str]]) -> str:
    head, *body = ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows]
    return "\n".join([head, "| --- " * (head.count(" | ") + 1) + "|", *body])


def _machines(runs: Sequence[Run]) -> str:
    machines = (
        ", ".join(
            f"{key.replace('_', ' ')} {_text(value)}" for key, value in run["hardware"].items()
        )
        for run in runs
    )
    return "; ".join(dict.fromkeys(machines))


ROWS: Mapping[str, Callable[[Sequence[Run]], Iterator[list[str]]]] = {
    "quality": _quality_rows,
    "bench_predict": _speed_rows,
    "bench_train": _speed_rows,
    "bench_taxonomy": _growth_rows,
    "bench_startup": _startup_rows,
    "global_stage": _global_stage_rows,
}


def main() -> int:
    """Write or compare every page that has a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    check = parser.parse_args().check
    runs = read_results(ROOT / "benchmarks" / "results")
    stale = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]:
        old = page.read_text(encoding="utf-8")
        new = fill(old, runs)
        if new != old:
            stale.append(page.relative_to(ROOT).as_posix())
            if not check:
                page.write_text(new, encoding="utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)}: run `make docs`")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
