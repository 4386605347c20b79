"""Train on a corpus, choose the checkpoint on dev, look at test once, and write it down.

    python benchmarks/quality.py clinc150 --name hbgl --set training.epochs=3 ... --out FILE

``--set PART.FIELD=VALUE`` sets a field of the settings (JSON values). With ``--dev-only`` the test
split is not touched: that is for choosing. Several ``--seed`` train several models.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from provenance import provenance

from hbgl.corpora import open_corpus
from hbgl.settings import preset, with_overrides
from hbgl.training import Evaluated, Stepped
from hbgl.training_run import RunListener, train_classifier


class _Log(RunListener):
    """Plain lines with times, for a log file."""

    def __init__(self) -> None:
        self.started = self.noted = time.monotonic()

    def said(self, message: str) -> None:
        print(f"[{time.monotonic() - self.started:7.0f} s] {message}", flush=True)

    def global_step(self, step: int, total: int, loss: float) -> None:
        if step in (1, total) or step % 100 == 0:
            self.said(f"global stage {step}/{total}: loss {loss:.4f}")

    def stepped(self, event: Stepped) -> None:
        if time.monotonic() - self.noted < 30 and event.step != event.total:
            return
        self.noted = time.monotonic()
        self.said(
            f"{event.step}/{event.total} loss {event.loss:.4f} "
            f"{event.documents_per_second:.1f} documents/s {event.seconds_left:.0f} s left"
        )

    def evaluated(self, event: Evaluated) -> None:
        micro, macro = 100 * event.scores.micro_f1, 100 * event.scores.macro_f1
        self.said(f"epoch {event.epoch:.2f}: dev Micro-F1 {micro:.2f} Macro-F1 {macro:.2f}")


def main() -> None:
    """Run, print a table, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="a corpus folder or a bundled corpus by name")
    parser.add_argument("--name", default="hbgl", help="name of the configuration")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--dev-only", action="store_true")
    parser.add_argument("--checkpoints", type=Path, help="keep checkpoints there, and resume")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    overrides = dict(_assignment(one) for one in options.set)
    seeds = options.seed or [0]
    runs = []
    for seed in seeds:
        chosen = {**overrides, "training.seed": seed}
        runs.append(_run(options, chosen, seed))
    for run in runs:
        test = run.get("test") or {}
        print(
            f"{run['corpus']:>14} {run['name']:<24} seed {run['seed']}  "
            f"dev {100 * run['dev']['micro_f1']:.2f} / {100 * run['dev']['macro_f1']:.2f}  test "
            + (f"{100 * test['micro_f1']:.2f} / {100 * test['macro_f1']:.2f}" if test else "-")
        )
    results = {**runs[0], "runs": runs} if len(runs) > 1 else runs[0]
    command = "python " + " ".join(sys.argv)
    document = {"benchmark": "quality", **provenance(command, seeds[0]), "results": results}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps({"benchmark": "quality", "runs": [_short(run) for run in runs]}))


def _run(options: argparse.Namespace, overrides: dict[str, Any], seed: int) -> dict[str, Any]:
    corpus = open_corpus(options.corpus)
    settings = with_overrides(preset(options.preset), overrides)
    log = _Log()
    log.said(f"{corpus.path.name} {options.name} seed {seed} {overrides}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.checkpoints or Path(scratch)
        model = train_classifier(
            corpus,
            settings,
            run_folder=folder,
            resume=options.checkpoints is not None,
            listener=log,
        )
    training = model.metrics["training"]
    run = {
        "corpus": corpus.path.name,
        "name": options.name,
        "method": settings.model.method,
        "seed": seed,
        "epochs": settings.training.epochs,
        "batch_size": settings.training.batch_size,
        "learning_rate": settings.training.learning_rate,
        "dev": model.metrics["dev"],
        "evaluations": training["evaluations"],
        "losses": training["losses"],
        "training_seconds": round(training["seconds"], 1),
        "seconds": model.metrics["seconds"],
        "settings": settings.to_json(),
    }
    if not options.dev_only:
        scores = model.evaluate(corpus.records("test"))
        run["test"] = {
            "micro_f1": scores.micro_f1,
            "macro_f1": scores.macro_f1,
            "macro_f1_supported": scores.macro_f1_supported,
            "documents": scores.documents,
            "levels": [[one.micro_f1, one.macro_f1] for one in scores.levels],
        }
        run["micro_f1"], run["macro_f1"] = scores.micro_f1, scores.macro_f1
        log.said(f"test Micro-F1 {100 * scores.micro_f1:.2f} Macro-F1 {100 * scores.macro_f1:.2f}")
    return run


def _short(run: dict[str, Any]) -> dict[str, Any]:
    keep = ("corpus", "name", "seed", "micro_f1", "macro_f1", "seconds")
    return {key: run[key] for key in keep if key in run}


def _assignment(text: str) -> tuple[str, Any]:
    field, equals, value = text.partition("=")
    if not equals:
        sys.exit(f"--set takes FIELD=VALUE, not {text!r}")
    try:
        return field, json.loads(value)
    except ValueError:
        return field, value


if __name__ == "__main__":
    main()
