"""How long a step of the global stage takes, and how much memory, by number of labels.

    python -m benchmarks.global_stage --out benchmarks/results/global_stage.json

The encoder has the shape of the default backbone (6 layers, width 384, 12 heads) and random
weights: time and memory depend on shapes alone. Trees of three levels with very unequal numbers of
children. Small ones go both ways, through attention matrices (dense) and along the edges; the
large ones along the edges only. Each measurement is a process of its own; peak memory is that of
the whole process. ``cpu_s`` are processor seconds of all threads per step and hardly depend on
what else the machine does; ``wall_s`` are seconds per step on the clock, and do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import BertConfig, BertModel

from benchmarks.provenance import provenance
from hbgl.backbones import Backbone
from hbgl.label_embeddings import train_label_vectors
from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy

__all__ = ["main"]

BOTH_WAYS = (100, 200, 400, 800)


class Job(TypedDict):
    """One measurement."""

    labels: int
    path: Literal["dense", "edges"]
    precision: str
    mask_ratio: float
    masks_per_step: int
    steps: int
    seed: int
    threads: int


def tree(labels: int, random: np.random.Generator) -> Taxonomy:
    """Three levels; parents are drawn with a square law, so that some have very many children."""
    top, middle = max(1, labels // 500), max(2, labels // 20)
    edges = [("Root", f"a{i}") for i in range(top)]
    edges += [(f"a{int(top * random.random() ** 2)}", f"b{i}") for i in range(middle)]
    leaves = labels - top - middle
    edges += [(f"b{int(middle * random.random() ** 2)}", f"c{i}") for i in range(leaves)]
    return Taxonomy.from_edges(edges)


def backbone() -> Backbone:
    """The default backbone's shape with random weights."""
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    return Backbone(
        name="random",
        model=BertModel(config, add_pooling_layer=False),
        tokenizer=Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")),  # noqa: S106
        transform=None,
        sha256=None,
        source="random numbers",
        cls_id=101,
        sep_id=102,
        mask_id=103,
        pad_id=0,
    )


def measure(job: Job) -> dict[str, Any]:
    """Run one job in this process."""
    torch.set_num_threads(job["threads"])
    torch.manual_seed(job["seed"])
    taxonomy = tree(job["labels"], np.random.default_rng(job["seed"]))
    settings = GlobalStage(
        steps=job["steps"] + 1,
        masks_per_step=job["masks_per_step"],
        mask_ratio_start=job["mask_ratio"],
        mask_ratio_end=job["mask_ratio"],
    )
    clocks = []
    trained, report = train_label_vectors(
        taxonomy,
        backbone(),
        settings,
        torch.randn(len(taxonomy), 384) * 0.05,
        seed=job["seed"],
        precision=job["precision"],
        path=job["path"],
        progress=lambda *_: clocks.append((time.perf_counter(), time.process_time())),
    )
    # The first step pays for what is made once.
    wall, cpu = (statistics.median(np.diff(column).tolist()) for column in np.transpose(clocks))
    return {
        **job,
        "masks_per_step": report.masks_per_step,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "last_loss": round(report.losses[-1], 4),
        "norm": round(float(trained.norm()), 4),
    }


def jobs(labels: int, steps: int, seed: int, threads: int) -> list[Job]:
    """Small taxonomies both ways, the large one along the edges in both precisions."""
    common = {"steps": steps, "seed": seed, "threads": threads, "masks_per_step": 8}
    small: list[dict[str, Any]] = [
        {"labels": size, "path": path, "precision": "float32", "mask_ratio": 0.3}
        for size in BOTH_WAYS
        if size < labels
        for path in ("dense", "edges")
    ]
    large: list[dict[str, Any]] = [
        {"labels": labels, "path": "edges", "precision": precision, "mask_ratio": ratio}
        for precision in ("float32", "bfloat16")
        for ratio in (0.15, 0.45)
    ]
    return [Job(**common, **job) for job in [*small, *large]]  # type: ignore[typeddict-item]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--labels", type=int, default=10_000, help="of the large taxonomy")
    parser.add_argument("--steps", type=int, default=3, help="measured steps, after a first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    options = parser.parse_args(arguments)
    columns = ("labels", "path", "precision", "mask_ratio", "masks_per_step", "cpu_s", "wall_s",
               "peak_mib", "last_loss")  # fmt: skip
    print("".join(f"{column:>15}" for column in columns))
    results = []
    for job in jobs(options.labels, options.steps, options.seed, options.threads):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            result = pool.apply(measure, (job,))
        results.append(result)
        print("".join(f"{result[column]:>15}" for column in columns), flush=True)
    command = (
        f"python -m benchmarks.global_stage --labels {options.labels} --steps {options.steps} "
        f"--seed {options.seed} --threads {options.threads}"
    )
    record = {
        "benchmark": "global_stage",
        **provenance(command, options.seed),
        "results": results,
    }
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
