"""Do explanations name the words that matter? Delete words, predict anew, write it down.

    python -m benchmarks.deletion MODEL reuters21578:test --documents 100 --out FILE

For each predicted label of each document: how far its probability falls without the k words of
the highest attribution, without k random words, and without the k of the lowest.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.provenance import provenance
from hbgl.cli.sources import checked_source
from hbgl.errors import HBGLError
from hbgl.explanation import DeletionResult, deletion_test
from hbgl.explanation.deletion import ORDERS
from hbgl.records import Columns, read_records
from hbgl.trained_model import TrainedModel

_COUNTS = (1, 2, 3, 5)


def main() -> None:
    """Run, print a table, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("source", help="CORPUS:SPLIT or a file of records")
    parser.add_argument("--documents", type=int, default=100, help="how many, drawn at random")
    parser.add_argument("--steps", type=int, default=32, help="of the integrated gradients")
    parser.add_argument("--draws", type=int, default=5, help="random deletions per label and k")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    try:
        results = _run(options)
    except HBGLError as error:
        sys.exit(str(error))
    command = " ".join(["python -m benchmarks.deletion", *sys.argv[1:]])
    document = {"benchmark": "deletion", **provenance(command, options.seed), "results": results}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    keep = ("corpus", "method", "pairs", "area", "seconds")
    print(json.dumps({"benchmark": "deletion", **{key: results[key] for key in keep}}))


def _run(options: argparse.Namespace) -> dict[str, Any]:
    model = TrainedModel.load(options.model)
    texts = _sample(options.source, options.documents, options.seed)
    started = noted = time.monotonic()

    def told(done: int) -> None:
        nonlocal noted
        if time.monotonic() - noted > 30 or done == len(texts):
            noted = time.monotonic()
            print(f"[{noted - started:6.0f} s] {done} of {len(texts)} documents", flush=True)

    result = deletion_test(
        model,
        texts,
        counts=_COUNTS,
        draws=options.draws,
        seed=options.seed,
        steps=options.steps,
        on_document=told,
    )
    _show(result)
    return {
        "corpus": options.source,
        "trained_on": model.metrics.get("corpus", "unknown"),
        "method": model.settings.model.method,
        "backbone": model.backbone.name,
        "sampled": len(texts),
        **result.to_json(),
        "steps": options.steps,
        "draws": options.draws,
        "seconds": round(time.monotonic() - started, 1),
    }


def _sample(source: str, count: int, seed: int) -> list[str]:
    """Texts drawn without replacement, in the order of the draw; all where there are fewer."""
    records = read_records(checked_source(source), columns=Columns(labels=None))
    texts = [record.text for record in records]
    order = np.random.default_rng(seed).permutation(len(texts))[:count]
    return [texts[i] for i in order]


def _show(result: DeletionResult) -> None:
    print(f"{result.documents} documents, {result.pairs} predicted labels")
    print(
        "mean drop of probability"
        + "".join(f"{f'k = {k}':>9}" for k in result.counts)
        + "     area"
    )
    for order in ORDERS:
        drops = "".join(f"{drop:>9.4f}" for drop in result.drops[order])
        print(f"  {order:<22}{drops}{result.areas[order]:>9.4f}")


if __name__ == "__main__":
    main()
