"""Train on a corpus, choose the checkpoint on dev, look at test once, and write it down.

    python -m benchmarks.quality clinc150 --name hbgl --set training.epochs=3 ... --out FILE

Test scores are given twice: as the model decides (rule, thresholds and calibration fitted on dev)
and, as ``test_paper``, by the paper's decision, each level on its own over 0.5.

``--set PART.FIELD=VALUE`` sets a field of the settings (JSON values). With ``--dev-only`` the test
split is not touched: that is for choosing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.provenance import provenance
from hbgl.allocation import keep_freed_memory
from hbgl.corpora import open_corpus
from hbgl.decisions import Decision
from hbgl.metrics import Scores
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dev-only", action="store_true")
    parser.add_argument("--checkpoints", type=Path, help="keep checkpoints there, and resume")
    parser.add_argument("--model", type=Path, help="save the trained model there")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    keep_freed_memory()
    overrides = {**dict(_assignment(one) for one in options.set), "training.seed": options.seed}
    command = " ".join(["python -m benchmarks.quality", *sys.argv[1:]])
    origin = provenance(command, options.seed)  # the commit that runs, not one that comes meanwhile
    run = _run(options, overrides)
    scores = {split: run[split] for split in ("dev", "test", "test_paper") if run.get(split)}
    shown = (
        f"{split} Micro-F1 {100 * one['micro_f1']:.2f} Macro-F1 {100 * one['macro_f1']:.2f}"
        for split, one in scores.items()
    )
    print(f"{run['corpus']} {run['name']} seed {run['seed']}: " + ", ".join(shown))
    document = {"benchmark": "quality", **origin, "results": run}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    keep = ("corpus", "name", "seed", "micro_f1", "macro_f1", "seconds")
    print(json.dumps({"benchmark": "quality", **{key: run[key] for key in keep if key in run}}))


def _run(options: argparse.Namespace, overrides: dict[str, Any]) -> dict[str, Any]:
    corpus = open_corpus(options.corpus)
    settings = with_overrides(preset(options.preset), overrides)
    log = _Log()
    log.said(f"{corpus.path.name} {options.name} {overrides}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.checkpoints or Path(scratch)
        model = train_classifier(
            corpus,
            settings,
            run_folder=folder,
            resume=options.checkpoints is not None,
            listener=log,
        )
    if options.model:
        model.save(options.model)
    training = model.metrics["training"]
    run = {
        "corpus": corpus.path.name,
        "name": options.name,
        "method": settings.model.method,
        "preset": options.preset,
        "backbone": settings.backbone,
        "seed": options.seed,
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
    if settings.model.method == "hbgl":
        run["label_embeddings"] = settings.model.label_vectors
    run["dev_tuned"] = model.metrics["tuning"]["after"]
    run["decision"] = model.decision.to_json(model.taxonomy)
    if not options.dev_only:
        test = list(corpus.records("test"))
        run["test"] = _figures(model.evaluate(test))
        paper = Decision.of_paper(len(model.taxonomy))
        run["test_paper"] = _figures(model.evaluate(test, decision=paper))
        run["micro_f1"], run["macro_f1"] = run["test"]["micro_f1"], run["test"]["macro_f1"]
        for name in ("test", "test_paper"):
            micro, macro = 100 * run[name]["micro_f1"], 100 * run[name]["macro_f1"]
            log.said(f"{name} Micro-F1 {micro:.2f} Macro-F1 {macro:.2f}")
    return run


def _figures(scores: Scores) -> dict[str, Any]:
    return {
        "micro_f1": scores.micro_f1,
        "macro_f1": scores.macro_f1,
        "macro_f1_supported": scores.macro_f1_supported,
        "documents": scores.documents,
        "levels": [[one.micro_f1, one.macro_f1] for one in scores.levels],
    }


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
