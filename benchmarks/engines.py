"""Every engine beside torch on one model and one split: speed, and what it costs in F1.

    python -m benchmarks.engines my-model arxiv:test --calibrate arxiv \
        --out benchmarks/results/engines_arxiv.json

Torch in float32 and (where the processor has it) bfloat16, and the exports of the same model for
each engine that is installed, in float and in 8 bits. Documents are tokenised beforehand. The speed
is of interleaved rounds over the same documents; the scores are of the whole split.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.provenance import provenance
from hbgl.bench.rounds import interleave, ratio, spread
from hbgl.cli.sources import checked_source
from hbgl.engines import EngineName
from hbgl.evaluation import LabelledTexts, count_labels, predict_batches
from hbgl.exporting import export_model
from hbgl.methods import Method
from hbgl.precision import autocast_dtype
from hbgl.records import read_records
from hbgl.trained_model import TrainedModel

REFERENCE = "torch float32"
PACKAGES: dict[EngineName, tuple[str, ...]] = {
    "onnx": ("onnx", "onnxruntime"),
    "openvino": ("openvino", "nncf"),
}


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to predict."""

    name: str
    method: Method
    precision: str
    """Of torch; an engine has its own."""
    export: dict[str, Any] | None = None


def main() -> None:
    """Measure, print a table, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("split", help="labelled documents: CORPUS:SPLIT or a file")
    parser.add_argument("--calibrate", required=True, help="the training corpus")
    parser.add_argument("--calibration-documents", type=int, default=600)
    parser.add_argument("--documents", type=int, default=1000, help="for the speed")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--budget", type=float, default=1800.0, help="seconds for all rounds")
    parser.add_argument("--token-budget", type=int, help="of a batch; default: what suits each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = _measure(options)
    _print_table(results["engines"])
    command = " ".join(["python -m benchmarks.engines", *sys.argv[1:]])
    document = {
        "benchmark": "engines",
        **provenance(command, options.seed),
        "results": results,
    }
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document))


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    model = TrainedModel.load(options.model, device="cpu")
    corpus = model.prepare(read_records(checked_source(options.split), taxonomy=model.taxonomy))
    draw = np.random.default_rng(options.seed)
    chosen = np.sort(draw.permutation(len(corpus))[: options.documents])
    timed = corpus.subset(chosen)
    with tempfile.TemporaryDirectory(prefix="hbgl-engines-") as place:
        contenders = _contenders(model, Path(place), _calibration_texts(options))
        scores = {one.name: _scores(model, one, corpus, options) for one in contenders}
        runs = {one.name: _timed_run(model, one, timed, options) for one in contenders}
        rounds = interleave(runs, options.repetitions, options.budget)
    seconds = {name: [run["seconds"] for run in found] for name, found in rounds.items()}
    tokens = int(timed.texts.lengths.sum())
    engines = {}
    for one in contenders:
        own = scores[one.name]
        engines[one.name] = {
            "documents_per_second": spread(
                [len(timed) / taken for taken in seconds[one.name]]
            ).to_json(),
            "tokens_per_second": spread([tokens / taken for taken in seconds[one.name]]).to_json(),
            "times_reference": ratio(seconds[one.name], seconds[REFERENCE]).to_json(),
            **own,
            "micro_f1_points": 100 * (own["micro_f1"] - scores[REFERENCE]["micro_f1"]),
            "macro_f1_points": 100 * (own["macro_f1"] - scores[REFERENCE]["macro_f1"]),
            "export": one.export,
        }
    return {
        "model": options.model.name,
        "split": options.split,
        "documents_scored": len(corpus),
        "documents_timed": len(timed),
        "tokens_timed": tokens,
        "threads": torch.get_num_threads(),
        "token_budget": options.token_budget,
        "rounds": len(rounds[REFERENCE]),
        "engines": engines,
    }


def _calibration_texts(options: argparse.Namespace) -> list[str]:
    name = options.calibrate
    if ":" not in name and not Path(name).is_file():
        name = f"{name}:train"
    texts = [record.text for record in read_records(checked_source(name))]
    order = np.random.default_rng(options.seed).permutation(len(texts))
    return [texts[i] for i in islice(order, options.calibration_documents)]


def _contenders(model: TrainedModel, place: Path, texts: list[str]) -> list[Contender]:
    """Torch twice, and what each installed engine makes of the model."""
    found = [Contender(REFERENCE, model.method, "float32")]
    if autocast_dtype("auto", "cpu") is torch.bfloat16:
        found.append(Contender("torch bfloat16", model.method, "bfloat16"))
    for engine, packages in PACKAGES.items():
        if missing := [one for one in packages if importlib.util.find_spec(one) is None]:
            print(f"{engine} left out: {', '.join(missing)} not installed", file=sys.stderr)
            continue
        for int8 in (False, True):
            name = f"{engine} {'int8' if int8 else 'float'}"
            print(f"exporting {name}", file=sys.stderr, flush=True)
            folder = place / name.replace(" ", "-")
            report = export_model(model, folder, engine, texts=texts, int8=int8)
            method = TrainedModel.load(folder).method
            found.append(Contender(name, method, "float32", report.to_json()))
    return found


def _scores(
    model: TrainedModel, one: Contender, corpus: LabelledTexts, options: argparse.Namespace
) -> dict[str, float]:
    print(f"scoring {one.name}", file=sys.stderr, flush=True)
    counts = count_labels(
        one.method,
        corpus,
        model.decider(model.decision),
        precision=one.precision,
        token_budget=options.token_budget,
    )
    scores = counts.scores(model.taxonomy.levels)
    return {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1}


def _timed_run(
    model: TrainedModel, one: Contender, corpus: LabelledTexts, options: argparse.Namespace
) -> Any:
    decider = model.decider(model.decision)

    def run() -> dict[str, float]:
        started = time.perf_counter()
        for _ in predict_batches(
            one.method,
            corpus.texts,
            decider,
            precision=one.precision,
            token_budget=options.token_budget,
        ):
            pass
        return {"seconds": time.perf_counter() - started}

    return run


def _print_table(engines: Mapping[str, dict[str, Any]]) -> None:
    print(f"{'engine':<16} {'documents/s':>12} {'times':>6} {'Micro-F1':>9} {'Macro-F1':>9}")
    for name, row in engines.items():
        print(
            f"{name:<16} {row['documents_per_second']['median']:>12.1f} "
            f"{row['times_reference']['median']:>6.2f} "
            f"{row['micro_f1_points']:>+9.2f} {row['macro_f1_points']:>+9.2f}"
        )


if __name__ == "__main__":
    main()
