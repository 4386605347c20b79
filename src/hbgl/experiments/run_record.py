"""``run.json``: all that is kept of one run beside its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from hbgl.bench.machine import peak_mib, provenance, source_root
from hbgl.experiments.answers import Answers
from hbgl.experiments.plan import Run

__all__ = ["forget_peak", "run_record"]

_FORMAT = 1
_PACKAGES = (
    "hbgl", "torch", "transformers", "tokenizers", "accelerate", "numpy", "scipy", "scikit-learn",
    "hiclass", "datasets",
)  # fmt: skip


def run_record(
    run: Run,
    data: Mapping[str, str],
    answers: Mapping[str, Mapping[str, Answers]],
    labels: Sequence[str],
    train_counts: np.ndarray,
    training: Mapping[str, Any],
    command: str,
) -> dict[str, Any]:
    """The JSON of a finished run.

    :param answers: split -> decision -> answers.
    :param train_counts: [L] training documents of each label.
    :param training: what the method says of its training: ``seconds``, curves, choices on dev.
    """
    test = answers["test"]["tuned"]
    documents = test.evaluation.documents
    return {
        "format": _FORMAT,
        "corpus": run.corpus,
        "method": run.method,
        "seed": run.seed,
        "configuration": {**run.configuration(), "data": dict(data)},
        "scores": {
            split: {
                decision: _scores(one, labels, train_counts)
                for decision, one in by_decision.items()
            }
            for split, by_decision in answers.items()
        },
        "seconds": {
            "training": training["seconds"],
            "prediction": round(test.seconds, 3),
            "documents_per_second": round(documents / max(test.seconds, 1e-9), 2),
        },
        "peak_mib": peak_mib(),
        "training": dict(training),
        "provenance": provenance(command, run.seed, source_root()),
        "packages": dict(_versions()),
    }


def _scores(answers: Answers, labels: Sequence[str], train_counts: np.ndarray) -> dict[str, Any]:
    found = answers.evaluation.to_json(labels)
    for label, count in zip(labels, train_counts.tolist(), strict=True):
        found["labels"][label]["train"] = count
    return found


def forget_peak() -> None:
    """Begin a new high-water mark of this process's memory, where the system lets it.

    Without it the peak of a run is that of all runs of its process so far.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    installed = {one.metadata["Name"].lower(): one.version for one in metadata.distributions()}
    return tuple((name, installed[name]) for name in _PACKAGES if name in installed)
