"""Tables for a reader, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["growth_table", "speed_table", "startup_table"]

Results = Mapping[str, Any]


def speed_table(results: Results) -> Iterator[str]:
    """Contenders below each other; the last columns say how many times faster ours are."""
    yield (
        f"{results['workload']}: {results['documents']:,} documents, {results['tokens']:,} tokens, "
        f"{results['labels']:,} labels on {results['levels']} levels; {results['backbone']}, "
        f"{results['threads']} threads, medians of {results['rounds']} rounds"
    )
    peaks = (f"{name} {_number(one['median'])}" for name, one in results["peak_gflops"].items())
    yield f"matrix products here, GFLOP/s: {', '.join(peaks)}"
    yield ""
    ratios = results["ratios"]
    rows = [
        [
            "",
            "documents/s",
            "from - to",
            "tokens/s",
            "of peak",
            "peak MiB",
            *(f"{champion} is" for champion in ratios),
        ]
    ]
    for name, one in results["contenders"].items():
        rate = one["documents_per_second"]
        rows.append(
            [
                name,
                _number(rate["median"]),
                f"{_number(rate['low'])} - {_number(rate['high'])}",
                _number(one["tokens_per_second"]["median"]),
                f"{one['share_of_peak']['median']:.0%}",
                _memory(one["peak_mib"]),
                *(_times(of_one.get(name)) for of_one in ratios.values()),
            ]
        )
    yield from _aligned(rows)
    yield ""
    for name, one in results["contenders"].items():
        yield f"{name}: {one['what']}"
    yield (
        "of peak: operations that the answers need, of real tokens only, against matrix products "
        "in the contender's precision"
    )


def growth_table(results: Results) -> Iterator[str]:
    """One block for labels, one for levels, one for the global stage."""
    yield (
        f"synthetic: {results['documents']:,} documents of {results['words']} words; "
        f"{results['backbone']}, {results['threads']} threads"
    )
    for what in ("labels", "levels"):
        if what not in results:
            continue
        rows = [["labels", "levels", "documents/s", "times slower", "peak MiB"]]
        rows += [
            [
                f"{one['labels']:,}",
                str(one["levels"]),
                _number(one["documents_per_second"]["median"]),
                f"{one['times_slower']['median']:.2f}",
                _memory(one["peak_mib"]),
            ]
            for one in results[what]["rows"].values()
        ]
        yield ""
        yield f"prediction by {what}, medians of {results[what]['rounds']} rounds"
        yield from _aligned(rows)
    if "global_stage" in results:
        rows = [["labels", "levels", "s/step", "masks", "path", "peak MiB"]]
        rows += [
            [
                f"{one['labels']:,}",
                str(one["levels"]),
                _number(one["seconds_per_step"]["median"]),
                str(one["masks_per_step"]),
                one["path"],
                _memory(one["peak_mib"]),
            ]
            for one in results["global_stage"].values()
        ]
        yield ""
        yield "a step of the global stage"
        yield from _aligned(rows)


def startup_table(results: Results) -> Iterator[str]:
    """Seconds from nothing to an answer; then memory over many documents."""
    yield (
        f"one sentence in a fresh process: {results['backbone']}, {results['labels']:,} labels on "
        f"{results['levels']} levels, medians of {results['rounds']} rounds"
    )
    rows = [["", "seconds", "from - to"]]
    names = {
        "import_torch_s": 'python -c "import torch"',
        "help_s": "hbgl --help",
        "predict_one_s": "hbgl predict",
        "predict_beyond_torch_s": "hbgl predict beyond importing torch",
    }
    for key, name in names.items():
        one = results[key]
        rows.append([name, f"{one['median']:.2f}", f"{one['low']:.2f} - {one['high']:.2f}"])
    yield from _aligned(rows)
    if "many" in results:
        rows = [["documents from a file", "seconds", "documents/s", "peak MiB"]]
        rows += [
            [
                f"{one['documents']:,}",
                _number(one["seconds"]),
                _number(one["documents_per_second"]),
                _memory(one["peak_mib"]),
            ]
            for one in results["many"].values()
        ]
        yield ""
        yield from _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *rest = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *rest]).rstrip()


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _memory(mib: float | None) -> str:
    return "" if mib is None else f"{mib:,.0f}"


def _times(ratio: Mapping[str, float] | None) -> str:
    return "" if ratio is None else f"{ratio['median']:.2f} x"
