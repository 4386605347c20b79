"""What calibration and every decision rule do to a trained model, on documents it has not seen.

    python -m benchmarks.decisions my-model reuters21578:test --out FILE

Records the calibration error before and after (plain sigmoids, after the maps, as answered), the
share of documents whose answer contradicts the taxonomy before and after (the paper's decision
against the model's own), and every score under every rule. The thresholds, the calibration and the
rule are the model's: fitted on its dev split, never on these documents.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.provenance import provenance
from hbgl.corpora import open_corpus
from hbgl.metrics.result import Reliability
from hbgl.report import REFERENCE, Findings, gather
from hbgl.trained_model import TrainedModel

_ERRORS = ("ece_chosen", "ece", "ece_equal_mass", "brier")


def main() -> None:
    """Measure, print a table, write the file, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("source", metavar="CORPUS:SPLIT", help="such as clinc150:test")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    corpus, colon, split = options.source.rpartition(":")
    if not colon:
        sys.exit(f"{options.source!r} names no split; write {options.source}:test")
    model = TrainedModel.load(options.model)
    folder = open_corpus(corpus)
    if folder.taxonomy.labels != model.taxonomy.labels:
        sys.exit(f"{options.model} and {corpus} have other labels")
    started = time.monotonic()
    found = gather(model, folder.records(split), examples=0)
    results = {
        "corpus": folder.path.name,
        "split": split,
        **figures(found),
        "seconds": round(time.monotonic() - started, 1),
    }
    print("\n".join(_table(results)))
    command = " ".join(["python -m benchmarks.decisions", *sys.argv[1:]])
    origin = provenance(command, model.settings.training.seed)
    document = {"benchmark": "decisions", **origin, "results": results}
    if options.out:
        options.out.write_text(json.dumps(document, indent=2) + "\n")
    keep = ("corpus", "split", "calibration", "coherence")
    print(json.dumps({"benchmark": "decisions", **{key: results[key] for key in keep}}))


def figures(found: Findings) -> dict[str, Any]:
    """What is recorded of one model on one file."""
    steps, decision = found.calibration, found.decision
    maps = range(1, found.taxonomy.depth + 1)
    calibrated = steps.calibrated or steps.before
    return {
        "method": found.settings.model.method,
        "backbone": found.settings.backbone,
        "documents": found.evaluation.documents,
        "labels": len(found.taxonomy),
        "rule": decision.rule,
        "tuned_on": (found.metrics.get("tuning") or {}).get("documents"),
        "maps": [decision.calibration.of(level).kind for level in maps],
        "thresholds": decision.to_json(found.taxonomy)["levels"],
        "calibration": {
            name: {
                **_errors(part.overall),
                "levels": [_errors(level) for level in part.levels],
            }
            for name, part in (
                ("before", steps.before),
                ("calibrated", calibrated),
                ("as answered", steps.answered),
            )
        },
        "coherence": {"before": _coherent(found, REFERENCE), "after": _coherent(found, None)},
        "names": {row.key: row.name for row in found.rules[0].rows},
        "shares": [row.key for row in found.rules[0].rows if row.is_share],
        "rules": {one.name: {row.key: row.value for row in one.rows} for one in found.rules},
    }


def _errors(part: Reliability) -> dict[str, float]:
    return {key: getattr(part, key) for key in _ERRORS}


def _coherent(found: Findings, name: str | None) -> float:
    """Share of documents without a label that lacks its parent; None: under the rule in use."""
    one = next(one for one in found.rules if (one.is_own if name is None else one.name == name))
    return 1 - one.evaluation.coherence.documents_with_orphans


def _table(results: dict[str, Any]) -> list[str]:
    rules = list(results["rules"])
    lines = [
        f"{results['corpus']} {results['split']}, {results['documents']:,} documents, "
        f"rule {results['rule']}",
        "calibration error of the predicted labels: "
        + ", ".join(
            f"{name} {100 * part['ece_chosen']:.2f}"
            for name, part in results["calibration"].items()
        ),
        "coherent answers: "
        + ", ".join(f"{name} {100 * part:.2f}%" for name, part in results["coherence"].items()),
        f"{'':<42}" + "".join(f"{rule:>16}" for rule in rules),
    ]
    for key, name in results["names"].items():
        factor = 100 if key in results["shares"] else 1
        values = (factor * results["rules"][rule][key] for rule in rules)
        lines.append(f"{name:<42}" + "".join(f"{value:>16.2f}" for value in values))
    return lines


if __name__ == "__main__":
    main()
