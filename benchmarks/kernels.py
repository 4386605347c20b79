"""The choices for CPUs, each beside what it replaced, interleaved, in bfloat16, as `minilm` is.

    python -m benchmarks.kernels --out benchmarks/results/kernels.json

In training: attention by plain products against the fused kernel, and dropout from shared random
numbers against torch's own, forward and backward. In prediction: attention in pieces against the
fused kernel over the padded batch; then whole texts through an encoder, in forward passes of 4,096
tokens against 16,384, and with freed memory kept against the allocator's usual way.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from transformers import BertConfig, BertModel

from benchmarks.provenance import provenance
from hbgl.allocation import keep_freed_memory
from hbgl.attending import attend
from hbgl.dropout import dropout
from hbgl.encoder import TwoStreamEncoder

HEADS, WIDTH = 12, 32
LEARNED = ((32, 14, 14), (16, 134, 6), (16, 128, 128), (16, 256, 256), (8, 500, 500))
"""Documents, keys, queries."""
READ = ((256, 14), (32, 128), (16, 256), (8, 500))
"""Documents and tokens of the longest."""
MIB = 1 << 20

Run = Callable[[], object]


def main() -> None:
    """Measure, print a table, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    keep_freed_memory()
    rows = [_learned(*size, options.repetitions) for size in LEARNED]
    rows += [_dropout(16, 128, options.repetitions)]
    rows += [_read(*size, options.repetitions) for size in READ]
    rows += _encoder(256, 64, options.repetitions)
    print(f"{'what':<44} {'replaced ms':>12} {'chosen ms':>10} {'ratio':>6}")
    for row in rows:
        print(
            f"{row['what']:<44} {row['replaced_ms']:>12.1f} {row['chosen_ms']:>10.1f} "
            f"{row['ratio']:>6.1f}"
        )
    command = " ".join(["python -m benchmarks.kernels", *sys.argv[1:]])
    document = {"benchmark": "kernels", **provenance(command, 0), "results": {"rows": rows}}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document))


def _learned(batch: int, keys: int, queries: int, repetitions: int) -> dict[str, Any]:
    """Attention forward and backward, without padding."""
    query, key, value = (
        torch.randn(batch, places, HEADS, WIDTH, dtype=torch.bfloat16)
        .transpose(1, 2)
        .requires_grad_()
        for places in (queries, keys, keys)
    )

    def fused() -> None:
        torch.autograd.backward(functional.scaled_dot_product_attention(query, key, value).sum())

    def chosen() -> None:
        torch.autograd.backward(attend(query, key, value, None, 0.0).sum())

    what = f"training, attention: {batch} x {queries} queries, {keys} keys"
    return _compare(what, fused, chosen, repetitions)


def _dropout(batch: int, places: int, repetitions: int) -> dict[str, Any]:
    values = torch.randn(batch, places, HEADS * WIDTH, dtype=torch.bfloat16, requires_grad=True)
    return _compare(
        f"training, dropout: {batch} x {places} x {HEADS * WIDTH}",
        lambda: torch.autograd.backward(functional.dropout(values, 0.1).sum()),
        lambda: torch.autograd.backward(dropout(values, 0.1, training=True).sum()),
        repetitions,
    )


@torch.inference_mode()
def _read(batch: int, longest: int, repetitions: int) -> dict[str, Any]:
    """Attention of texts of like lengths, padded to the longest, as they are sorted."""
    query, key, value = (
        torch.randn(batch, longest, HEADS, WIDTH, dtype=torch.bfloat16).transpose(1, 2)
        for _ in range(3)
    )
    key, value = key.contiguous(), value.contiguous()
    lengths = [longest - longest * row // (20 * batch) for row in range(batch)]
    mask = (torch.arange(longest)[None, :] < torch.tensor(lengths)[:, None])[:, None, None, :]
    return _compare(
        f"prediction, attention: {batch} texts of up to {longest} tokens",
        lambda: functional.scaled_dot_product_attention(query, key, value, mask),
        lambda: attend(query, key, value, mask, 0.0, lengths),
        repetitions,
    )


def _encoder(tokens: int, texts: int, repetitions: int) -> list[dict[str, Any]]:
    """Texts through an encoder of the size of ``minilm`` with random weights."""
    config = BertConfig(
        hidden_size=HEADS * WIDTH,
        num_hidden_layers=6,
        num_attention_heads=HEADS,
        intermediate_size=4 * HEADS * WIDTH,
    )
    encoder = TwoStreamEncoder(BertModel(config)).eval()
    ids = torch.randint(1000, config.vocab_size, (texts, tokens))

    def read(budget: int) -> None:
        rows = budget // tokens
        for start in range(0, texts, rows):
            part = ids[start : start + rows]
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                words, _ = encoder.look_up(part, [0])
                encoder.encode_text(words, torch.full((len(part),), tokens))

    what = f"prediction, {texts} texts of {tokens} tokens"
    smaller = _compare(
        f"{what}: 4,096 tokens a pass, not 16,384",
        lambda: read(16384),
        lambda: read(4096),
        repetitions,
    )
    kept = _compare(
        f"{what}: freed memory kept",
        lambda: read(4096),
        lambda: read(4096),
        repetitions,
        before=(_usual_memory, keep_freed_memory),
    )
    return [smaller, kept]


def _usual_memory() -> None:
    """What glibc's thresholds grow to by themselves: at most 32 MiB, and twice that."""
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(-3, 32 * MIB)
    mallopt(-1, 64 * MIB)


def _compare(
    what: str, replaced: Run, chosen: Run, repetitions: int, before: Sequence[Run] = ()
) -> dict[str, Any]:
    """Medians of alternating runs; ``before`` each of the two, something that is not timed."""
    times: dict[str, list[float]] = {"replaced": [], "chosen": []}
    prepare = dict(zip(times, before, strict=False))
    for number in range(repetitions + 2):
        for name, run in (("replaced", replaced), ("chosen", chosen)):
            prepare.get(name, int)()
            started = time.perf_counter()
            run()
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
