"""Fill the number tables of README and docs from ``benchmarks/results``; ``--check`` compares.

A table stands between two comments; ``key=value`` keeps only results with that setting::

    <!-- numbers: quality corpus=clinc150 -->
    <!-- end numbers -->

Each file of ``benchmarks/results`` is one run: what was run, with which seed, commit and
hardware, and its ``results``. Runs of ``quality`` (scores as fractions) that differ in the seed
alone share a row.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """A file with several seeds lists their results as ``runs``."""
    several = run["results"].get("runs") if run["benchmark"] == "quality" else None
    for results in several or [run["results"]]:
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
    rows = list(_quality_rows(runs)) if name == "quality" else list(_plain_rows(runs))
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
