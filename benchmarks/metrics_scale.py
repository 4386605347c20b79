"""How long the scores of a million documents by a thousand labels take, and how much memory.

    python -m benchmarks.metrics_scale --out benchmarks/results/metrics_scale.json

Draws batches of gold labels, closed under ancestors, of predictions that mostly agree with them,
and of probabilities for every label, and counts them with `Evaluator`: over a tree and over a
graph, with the probabilities and without, and over the tree for Micro- and Macro-F1 alone, as the
training loop does (`LabelCounts`). Label sets alone come in large batches, probabilities in small
ones; a few batches are drawn once and used again, so that making them does not count. Times are
processor seconds. Each measurement has a process of its own, whose peak resident memory is that of
the interpreter, the batches and the scores; a tenth of the documents is counted, too: memory that
does not grow is constant. More than 2 GiB is a failure.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from benchmarks.provenance import provenance
from hbgl.bench.machine import peak_mib
from hbgl.metrics import Evaluator, LabelCounts, Scores
from hbgl.taxonomy import Taxonomy

__all__ = ["main"]

LIMIT_MIB = 2048.0
SPARSE_BATCH, DENSE_BATCH = 50_000, 1_000
POOL = 4  # batches that are drawn
CASES = {
    "flat_sets": ("tree", False),
    "tree_sets": ("tree", False),
    "graph_sets": ("graph", False),
    "tree": ("tree", True),
    "graph": ("graph", True),
}


def taxonomy(labels: int, shape: str, seed: int) -> Taxonomy:
    """Three levels, about ten children each; in a graph every third leaf has a second parent."""
    generator = np.random.default_rng(seed)
    areas = max(1, labels // 100)
    fields = min(max(1, labels // 10), labels - areas)
    topics = labels - areas - fields
    edges = [("Root", f"area {area}") for area in range(areas)]
    edges += [(f"area {field % areas}", f"field {field}") for field in range(fields)]
    for topic in range(topics):
        parents = {topic % fields}
        if shape == "graph" and topic % 3 == 0:
            parents.add(int(generator.integers(fields)))
        edges += [(f"field {parent}", f"topic {topic}") for parent in sorted(parents)]
    return Taxonomy.from_edges(edges)


class Batches:
    """Documents with one to three leaves and their ancestors; a fifth of the leaves is missed."""

    def __init__(self, known: Taxonomy, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.leaves = known.leaves
        closures = [known.closure([label]) for label in range(len(known))]
        ends = np.cumsum([0, *map(len, closures)])
        columns = np.concatenate(closures)
        self.above = csr_matrix((np.ones(len(columns), np.int32), columns, ends))
        self.width = len(known)

    def draw(self, documents: int, with_scores: bool) -> tuple[Any, Any, Any]:
        """Gold and predicted labels and probabilities, [documents, L] each."""
        counts = self.generator.integers(1, 4, documents)
        total = int(counts.sum())
        gold = self.generator.choice(self.leaves, total)
        other = self.generator.choice(self.leaves, total)
        predicted = np.where(self.generator.random(total) < 0.8, gold, other)
        ends = np.concatenate([[0], np.cumsum(counts)])
        sets = self._closed(gold, ends), self._closed(predicted, ends)
        return *sets, self._probabilities(sets[1]) if with_scores else None

    def _probabilities(self, predicted: csr_matrix) -> npt.NDArray[np.float32]:
        """Near 0 for most labels, over one half for the predicted ones."""
        scores: npt.NDArray[np.float32] = self.generator.random(predicted.shape, dtype=np.float32)
        scores **= 8
        scores /= 2
        scores[predicted.nonzero()] += 0.5
        return scores

    def _closed(self, labels: npt.NDArray[Any], ends: npt.NDArray[Any]) -> csr_matrix:
        ones = np.ones(len(labels), np.int32)
        matrix = csr_matrix((ones, labels, ends), shape=(len(ends) - 1, self.width)) @ self.above
        return csr_matrix(matrix.astype(bool))


class _LabelsOnly:
    """`LabelCounts`, called as an `Evaluator` is."""

    def __init__(self, known: Taxonomy) -> None:
        self.levels = known.levels
        self.counts = LabelCounts(len(known))

    def update(self, gold: csr_matrix, predicted: csr_matrix, _: None) -> None:
        """Count a batch."""
        self.counts.update(gold, predicted)

    def result(self) -> Scores:
        """Micro- and Macro-F1."""
        return self.counts.scores(self.levels)


def measure(case: str, documents: int, labels: int, seed: int) -> dict[str, float | int]:
    """Count the documents in this process: processor seconds and peak mebibytes."""
    shape, with_scores = CASES[case]
    known = taxonomy(labels, shape, seed)
    batches = Batches(known, seed)
    size = DENSE_BATCH if with_scores else SPARSE_BATCH
    pool = [batches.draw(min(size, documents), with_scores) for _ in range(POOL)]
    before = peak_mib()
    counter: Any = _LabelsOnly(known) if case == "flat_sets" else Evaluator(known)
    start, counted = time.process_time(), 0
    for gold, predicted, scores in itertools.cycle(pool):
        left = documents - counted
        counter.update(gold[:left], predicted[:left], None if scores is None else scores[:left])
        counted += min(left, gold.shape[0])
        if counted == documents:
            break
    counted_s = time.process_time() - start
    found = counter.result()
    json.dumps(found.to_json(known.labels))
    if found.documents != documents:
        raise SystemExit(f"{case}: {found.documents} of {documents} documents were counted")
    return {
        "cpu_s": time.process_time() - start,
        "result_cpu_s": time.process_time() - start - counted_s,
        "peak_mib": peak_mib(),
        "peak_mib_before": before,
    }


def measured_apart(case: str, documents: int, labels: int, seed: int) -> dict[str, float | int]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.metrics_scale", "--case", case]
    for name, value in (("documents", documents), ("labels", labels), ("seed", seed)):
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float | int] = json.loads(done.stdout)
    return found


def results(documents: int, labels: int, seed: int) -> dict[str, dict[str, float | int]]:
    """One entry for each case."""
    found: dict[str, dict[str, float | int]] = {}
    for case in CASES:
        tenth = measured_apart(case, max(1, documents // 10), labels, seed)
        whole = measured_apart(case, documents, labels, seed)
        if whole["peak_mib"] > LIMIT_MIB:
            raise SystemExit(f"{case} took {whole['peak_mib']} MiB, more than {LIMIT_MIB}")
        found[case] = {
            "documents": documents,
            "labels": labels,
            "cpu_s": round(whole["cpu_s"], 2),
            "result_cpu_s": round(whole["result_cpu_s"], 3),
            "documents_per_cpu_s": round(documents / whole["cpu_s"]),
            "peak_mib": whole["peak_mib"],
            "peak_mib_of_a_tenth": tenth["peak_mib"],
            "peak_mib_before_counting": whole["peak_mib_before"],
        }
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    size = options.documents, options.labels, options.seed
    if options.case:
        print(json.dumps(measure(options.case, *size)))
        return 0
    found = results(*size)
    print(f"{'':<26}" + "".join(f"{name:>12}" for name in found))
    for row in next(iter(found.values())):
        print(f"{row:<26}" + "".join(f"{values[row]:>12,}" for values in found.values()))
    command = (
        f"python -m benchmarks.metrics_scale --documents {options.documents} "
        f"--labels {options.labels} --seed {options.seed}"
    )
    record = {"benchmark": "metrics_scale", **provenance(command, options.seed), "results": found}
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
