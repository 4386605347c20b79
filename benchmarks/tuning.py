"""Which way of tuning holds on documents it was not tuned on? Halves of dev against each other.

    python -m benchmarks.tuning my-model reuters21578 --out FILE

Every way (rule, calibration, target, granularity) is fitted on one half of the dev split and judged
on the other, in both directions, over several random halvings; the test split is not touched. The
scores of dev are those of one walk by the paper's decision.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.provenance import provenance
from hbgl.corpora import open_corpus
from hbgl.decisions import Decider, Decision, Walk
from hbgl.evaluation import LabelledTexts
from hbgl.settings import CalibrationKind, DecisionSettings, Granularity, Rule, TuneFor
from hbgl.trained_model import TrainedModel
from hbgl.tuning import decision_of_scores, dev_scores

RULES: tuple[Rule, ...] = ("paper", "closed", "coherent", "backoff", "leaf")
TARGETS: tuple[TuneFor, ...] = ("micro_f1", "macro_f1", "mean_f1")
GRANULARITIES: tuple[Granularity, ...] = ("auto", "level", "label")
CALIBRATIONS: tuple[CalibrationKind, ...] = ("none", "auto")


@dataclass(frozen=True, slots=True)
class Half:
    """Where one fit is made, and where it is judged."""

    fitted: np.ndarray
    judged: np.ndarray


def main() -> None:
    """Measure, print a table, write the file, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("corpus", help="a corpus folder or a bundled corpus by name")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    model = TrainedModel.load(options.model)
    corpus = open_corpus(options.corpus)
    dev = model.prepare(corpus.records("dev"))
    scores = dev_scores(
        model.method, dev, Decision.of_paper(len(model.taxonomy)), model.device,
        model.settings.training.precision,
    )  # fmt: skip
    halves = list(_halves(len(dev), options.repeats, options.seed))
    ways = {}
    for name, settings in _ways():
        ways[name] = _judge(model, dev, scores, settings, halves)
        row = ways[name]
        print(f"{name:<34} Micro-F1 {row['micro_f1']:.4f}  Macro-F1 {row['macro_f1']:.4f}")
    results = {
        "corpus": corpus.path.name,
        "method": model.settings.model.method,
        "documents": len(dev),
        "halves": len(halves),
        "ways": ways,
    }
    command = " ".join(["python -m benchmarks.tuning", *sys.argv[1:]])
    document = {"benchmark": "tuning", **provenance(command, options.seed), "results": results}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    best = max(ways, key=lambda name: float(ways[name]["mean_f1"]))
    print(json.dumps({"benchmark": "tuning", "corpus": corpus.path.name, "best": best}))


def _ways() -> Iterator[tuple[str, DecisionSettings]]:
    for rule in RULES:
        yield f"{rule}, 0.5", DecisionSettings(rule=rule, tune="none", calibration="none")
    for calibration in CALIBRATIONS:
        for target in TARGETS:
            for granularity in GRANULARITIES:
                settings = DecisionSettings(
                    tune=target, granularity=granularity, calibration=calibration
                )
                yield f"{settings.rule}, {target}, {granularity}, map {calibration}", settings


def _halves(documents: int, repeats: int, seed: int) -> Iterator[Half]:
    draw = np.random.default_rng(seed)
    for _ in range(repeats):
        order = draw.permutation(documents)
        one, other = np.sort(order[: documents // 2]), np.sort(order[documents // 2 :])
        yield Half(one, other)
        yield Half(other, one)


def _judge(
    model: TrainedModel,
    dev: LabelledTexts,
    scores: torch.Tensor,
    settings: DecisionSettings,
    halves: list[Half],
) -> dict[str, Any]:
    """Micro- and Macro-F1 on the halves that were not fitted on, and their mean: fractions."""
    taxonomy = model.taxonomy
    found = []
    for half in halves:
        gold = dev.gold[half.fitted].toarray()
        decision, _ = decision_of_scores(taxonomy, settings, scores[half.fitted], gold, 0)
        walk = Walk(Decider(taxonomy, decision, torch.device("cpu")), len(half.judged))
        for level in range(1, taxonomy.depth + 1):
            walk.take(level, scores[half.judged][:, taxonomy.level_slice(level)])
        found.append(_f1(walk.decoded().chosen.numpy(), dev.gold[half.judged].toarray()))
    micro, macro = (float(one) for one in np.mean(found, axis=0))
    return {"micro_f1": micro, "macro_f1": macro, "mean_f1": (micro + macro) / 2}


def _f1(chosen: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    hits, sizes = (chosen & gold).sum(axis=0), chosen.sum(axis=0) + gold.sum(axis=0)
    return float(2 * hits.sum() / sizes.sum()), float(np.mean(2 * hits / np.maximum(sizes, 1)))


if __name__ == "__main__":
    main()
