"""How long a large taxonomy takes, and how much memory.

    python -m benchmarks.taxonomy_scale --out benchmarks/results/taxonomy_scale.json

Three taxonomies of 100,000 labels: a tree, a graph (up to three parents per label) and a chain of
50,000 levels beside as many roots. Times are processor seconds of the one thread at work, so that
other work on the machine does not count. Memory is what tracemalloc counts while the TSV is read,
in a second run, because counting slows the first; ``kept_mib`` stays with the taxonomy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.provenance import provenance
from hbgl.errors import TaxonomyError
from hbgl.taxonomy import Taxonomy, read_taxonomy, write_taxonomy

__all__ = ["main"]

Edges = list[tuple[str, str]]


def tree(labels: int, rng: random.Random) -> Edges:
    """Each label below one of the labels before it, about ten children per inner label."""
    names = [f"label {i:06}" for i in range(labels)]
    edges = [("Root", name) for name in names[:10]]
    edges += [(names[rng.randrange(i // 10, i // 5 + 1)], names[i]) for i in range(10, labels)]
    return edges


def graph(labels: int, rng: random.Random) -> Edges:
    """The tree, with up to two more parents for every third label."""
    edges = dict.fromkeys(tree(labels, rng))
    names = [child for _, child in edges]
    for i in range(30, labels, 3):
        for _ in range(2):
            edges[names[rng.randrange(i // 20, i // 5)], names[i]] = None
    return list(edges)


def chain(labels: int, _: random.Random) -> Edges:
    """Half of the labels on one path, half at the top."""
    names = [f"label {i:06}" for i in range(labels)]
    half = labels // 2
    edges = [("Root", name) for name in names[half:]]
    return [("Root", names[0]), *itertools.pairwise(names[:half]), *edges]


SHAPES: dict[str, Callable[[int, random.Random], Edges]] = {
    "tree": tree,
    "graph": graph,
    "chain": chain,
}


def measure(edges: Edges, seed: int) -> dict[str, float | int]:
    """Processor seconds of each step, peak mebibytes, and the shape."""
    seconds: dict[str, float] = {}

    def timed(step: str, action: Callable[[], object]) -> object:
        start = time.process_time()
        result = action()
        seconds[f"{step}_s"] = round(time.process_time() - start, 4)
        return result

    with tempfile.TemporaryDirectory() as folder:
        tsv, flat = Path(folder) / "taxonomy.tsv", Path(folder) / "taxonomy.json"
        taxonomy = Taxonomy.from_edges(edges)
        write_taxonomy(taxonomy, flat)
        timed("write_tsv", lambda: write_taxonomy(taxonomy, tsv))
        again = timed("read_tsv", lambda: read_taxonomy(tsv))
        timed("read_json", lambda: read_taxonomy(flat))
        if again != taxonomy:
            raise SystemExit("what was read back is not what was written")
        tracemalloc.start()
        kept = read_taxonomy(tsv)
        current, peak = (value / 2**20 for value in tracemalloc.get_traced_memory())
        tracemalloc.stop()
    del kept
    sample = random.Random(seed).sample(range(len(taxonomy)), min(10_000, len(taxonomy)))
    groups = [sample[i : i + 3] for i in range(0, len(sample), 3)]
    if taxonomy.depth > 1000:
        sample, groups = sample[:100], groups[:100]
    timed("levels", lambda: [taxonomy.level_slice(h + 1) for h in range(taxonomy.depth)])
    timed("ancestors", lambda: [taxonomy.ancestors(i) for i in sample])
    timed("descendants", lambda: [taxonomy.descendants(i) for i in sample])
    timed("closure_of_3", lambda: [taxonomy.closure(ids) for ids in groups])
    timed("unknown_label", lambda: _ask(taxonomy))
    return {
        "labels": len(taxonomy),
        "edges": len(taxonomy.edges),
        "depth": taxonomy.depth,
        **seconds,
        "questions": len(sample),
        "kept_mib": round(current, 1),
        "peak_mib": round(peak, 1),
    }


def _ask(taxonomy: Taxonomy) -> str:
    try:
        taxonomy.id("lable 000123")
    except TaxonomyError as error:
        return str(error)
    raise SystemExit("an unknown label was not refused")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    options = parser.parse_args(arguments)
    results = {
        name: measure(build(options.labels, random.Random(options.seed)), options.seed)
        for name, build in SHAPES.items()
    }
    print(f"{'':<16}" + "".join(f"{name:>12}" for name in results))
    for row in next(iter(results.values())):
        print(f"{row:<16}" + "".join(f"{result[row]:>12}" for result in results.values()))
    command = f"python -m benchmarks.taxonomy_scale --labels {options.labels} --seed {options.seed}"
    record = {
        "benchmark": "taxonomy_scale",
        **provenance(command, options.seed),
        "results": results,
    }
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
