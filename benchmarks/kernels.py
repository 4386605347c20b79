"""The two CPU choices of the training step, each beside what it replaced, interleaved.

    python -m benchmarks.kernels --out benchmarks/results/kernels.json

Attention forward and backward with plain products against the fused kernel, and dropout from
shared random numbers against torch's own, in bfloat16 at the sizes of ``minilm``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from benchmarks.provenance import provenance
from hbgl.attending import attend
from hbgl.dropout import dropout

HEADS, WIDTH = 12, 32
SIZES = ((32, 14, 14), (16, 134, 6), (16, 128, 128), (16, 256, 256), (8, 500, 500))


def main() -> None:
    """Measure, print a table, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    rows = [_attention(*size, options.repetitions) for size in SIZES]
    rows += [_dropout(16, 128, options.repetitions)]
    print(f"{'what':<34} {'replaced ms':>12} {'chosen ms':>10} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['what']:<34} {row['replaced_ms']:>12.1f} {row['chosen_ms']:>10.1f} "
            f"{row['ratio']:>6.1f}"
        )
    command = " ".join(["python -m benchmarks.kernels", *sys.argv[1:]])
    document = {"benchmark": "kernels", **provenance(command, 0), "results": {"rows": rows}}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document))


def _attention(batch: int, keys: int, queries: int, repetitions: int) -> dict[str, Any]:
    query, key, value = (
        torch.randn(batch, places, HEADS, WIDTH, dtype=torch.bfloat16)
        .transpose(1, 2)
        .requires_grad_()
        for places in (queries, keys, keys)
    )

    def fused() -> torch.Tensor:
        return functional.scaled_dot_product_attention(query, key, value)

    def chosen() -> torch.Tensor:
        return attend(query, key, value, None, 0.0)

    what = f"attention {batch} x {queries} queries, {keys} keys"
    return _compare(what, fused, chosen, repetitions)


def _dropout(batch: int, places: int, repetitions: int) -> dict[str, Any]:
    values = torch.randn(batch, places, HEADS * WIDTH, dtype=torch.bfloat16, requires_grad=True)
    return _compare(
        f"dropout {batch} x {places} x {HEADS * WIDTH}",
        lambda: functional.dropout(values, 0.1),
        lambda: dropout(values, 0.1, training=True),
        repetitions,
    )


def _compare(
    what: str,
    replaced: Callable[[], torch.Tensor],
    chosen: Callable[[], torch.Tensor],
    repetitions: int,
) -> dict[str, Any]:
    times: dict[str, list[float]] = {"replaced": [], "chosen": []}
    for number in range(repetitions + 2):
        for name, run in (("replaced", replaced), ("chosen", chosen)):
            started = time.perf_counter()
            torch.autograd.backward(run().sum())
            if number >= 2:  # the first two warm up
                times[name].append(1000 * (time.perf_counter() - started))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "what": what,
        "replaced_ms": round(medians["replaced"], 2),
        "chosen_ms": round(medians["chosen"], 2),
        "ratio": round(medians["replaced"] / medians["chosen"], 2),
    }


if __name__ == "__main__":
    main()
