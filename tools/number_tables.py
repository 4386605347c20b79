"""Number tables and pictures of README and docs from ``benchmarks/results``; ``--check`` compares.

A table stands between two comments; ``key=value`` keeps only results with that setting::

    <!-- numbers: quality corpus=clinc150 -->
    <!-- end numbers -->

Each file of ``benchmarks/results`` is one run: what was run, with which seed, commit and
hardware, and its ``results``. Runs of ``quality`` (scores as fractions) that differ in the seed
alone share a row. A run of ``decisions`` is a table of its own: scores by rule. The tables of an
experiment have words of their own, which ``experiment_results.py`` explains.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tools.benchmark_rows import ROWS, SCORES, Run, cell_text, plain_rows
from tools.experiment_pictures import EXPERIMENT_PICTURES, Picture
from tools.experiment_results import find_experiment
from tools.experiment_rows import EXPERIMENT_ROWS

__all__ = ["fill", "generated", "read_results", "table"]

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = ("benchmark", "command", "seed", "commit", "hardware", "date", "results")
MARKER = re.compile(
    r"(?P<open><!-- numbers: (?P<name>\S+)(?P<filters>( \w+=\S+)*) -->\n)"
    r".*?(?P<close><!-- end numbers -->)",
    re.DOTALL,
)


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
        filters = _words(match)
        if match["name"].startswith("experiment_"):
            text = _experiment(match["name"], filters, runs)
            return f"{match['open']}\n{text}\n\n{match['close']}"
        chosen = [
            run
            for run in runs
            if run["benchmark"] == match["name"]
            and all(str(run["results"].get(key)) == value for key, value in filters.items())
        ]
        return f"{match['open']}\n{table(match['name'], chosen)}\n\n{match['close']}"

    return MARKER.sub(replace, page)


def pictures(page: str, runs: Sequence[Run]) -> Iterator[Picture]:
    """The pictures that a page shows."""
    for match in MARKER.finditer(page):
        if match["name"] in EXPERIMENT_PICTURES:
            found = find_experiment(match["name"], _words(match), runs)
            if not isinstance(found, str):
                yield EXPERIMENT_PICTURES[match["name"]](found)


def _words(match: re.Match[str]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in match["filters"].split())


def table(name: str, runs: Sequence[Run]) -> str:
    """One Markdown table, and the line that says where its numbers come from."""
    if name == "quality":
        runs = [run for run in runs if all(score in run["results"] for score in SCORES)]
    if not runs:
        return f"No result of `{name}` is recorded yet."
    if name == "decisions":
        return "\n\n".join(_decisions(run) for run in runs)
    rows = list(ROWS.get(name, plain_rows)(runs))
    files = ", ".join(dict.fromkeys(f"`{run['file']}`" for run in runs))
    return f"{_markdown(rows)}\n\nFrom `benchmarks/results`: {files}. {_machines(runs)}."


def _experiment(name: str, words: Mapping[str, str], runs: Sequence[Run]) -> str:
    """A table or the pictures of an experiment."""
    known = [*EXPERIMENT_ROWS, *EXPERIMENT_PICTURES]
    if name not in known:
        raise SystemExit(f"{name} is no table; there are {', '.join(known)}")
    found = find_experiment(name, words, runs)
    if isinstance(found, str):
        return found
    if name in EXPERIMENT_PICTURES:
        return EXPERIMENT_PICTURES[name](found).link
    machines = "; ".join(found.run["results"]["runs"]["hardware"])
    source = f"From `benchmarks/results`: `{found.run['file']}`. {machines}."
    missing = found.missing()
    return "\n\n".join([_markdown(EXPERIMENT_ROWS[name](found)), *filter(None, [missing]), source])


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
        f"**{found['corpus']}, {found['split']}**, {cell_text(found['documents'])} documents, "
        f"method {found['method']}, rule `{found['rule']}`. "
        f"Calibration error of the predicted labels: {errors}. "
        f"Share of answers that keep to the taxonomy: {coherent}.\n\n"
        f"{_markdown(rows)}\n\nFrom `benchmarks/results`: `{run['file']}`. {_machines([run])}."
    )


def _markdown(rows: Iterable[Sequence[str]]) -> str:
    head, *body = ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows]
    return "\n".join([head, "| --- " * (head.count(" | ") + 1) + "|", *body])


def _machines(runs: Sequence[Run]) -> str:
    machines = (
        ", ".join(
            f"{key.replace('_', ' ')} {cell_text(value)}" for key, value in run["hardware"].items()
        )
        for run in runs
    )
    return "; ".join(dict.fromkeys(machines))


def generated(root: Path, runs: Sequence[Run]) -> dict[Path, str]:
    """Every page, and every picture that a page shows, as they should be."""
    found = {}
    for page in [root / "README.md", *sorted((root / "docs").glob("**/*.md"))]:
        text = page.read_text(encoding="utf-8")
        found[page] = fill(text, runs)
        found |= {page.parent / one.file: one.svg for one in pictures(text, runs)}
    return found


def main() -> int:
    """Write or compare every page and picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    check = parser.parse_args().check
    runs = read_results(ROOT / "benchmarks" / "results")
    stale = []
    for file, new in generated(ROOT, runs).items():
        old = file.read_text(encoding="utf-8") if file.is_file() else None
        if new != old:
            stale.append(file.relative_to(ROOT).as_posix())
            if not check:
                file.parent.mkdir(exist_ok=True)
                file.write_text(new, encoding="utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)}: run `make docs`")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
