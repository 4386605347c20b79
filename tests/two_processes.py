"""What each process of ``torch.distributed.run`` executes in the test of distributed training."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import distributed, nn

from hbgl.checkpoint import TrainingFolder, save_tensors
from hbgl.methods.multilabel import Multilabel
from hbgl.model import HBGL
from hbgl.settings import ModelSettings, TrainingSettings
from hbgl.training import Listener, Stepped, TrainingResult, fit, start_accelerator
from tests.small_corpus import TAXONOMY, eight_records, labelled, random_records
from tests.tiny import tiny_backbone

EXACT = TrainingSettings(
    epochs=2,
    batch_size=4,
    token_budget=40,
    learning_rate=1e-3,
    hidden_dropout=0.0,
    clip=0.0,
    evaluate_every=2,
    precision="float32",
    weight_average=0.5,
)
"""13 documents in batches of 4: the last one has a single document, which one process lacks.

Nothing is clipped, so that the size of a gradient shows: Adam's steps do not depend on it. The
weights that come out are averages.
"""
LEARNING = dataclasses.replace(
    EXACT,
    epochs=100,
    batch_size=8,
    learning_rate=1e-2,
    clip=1.0,
    hidden_dropout=None,
    evaluate_every=15,
)


def model(start: float = 1.0, *, flat: bool = False) -> HBGL | Multilabel:
    """``start`` scales the first label vectors: processes other than the first know none."""
    torch.manual_seed(0)
    backbone = tiny_backbone()
    if flat:
        return Multilabel(backbone, TAXONOMY, ModelSettings(method="multilabel"))
    vectors = start * torch.randn(len(TAXONOMY), 16)
    return HBGL(backbone, TAXONOMY, ModelSettings(teacher_masking=0.0), vectors)


class Gradients(Listener):
    """The norm of the whole gradient at each step."""

    def __init__(self, method: nn.Module) -> None:
        self.method = method
        self.norms: list[float] = []

    def stepped(self, event: Stepped) -> None:
        grads = [one.grad for one in self.method.parameters() if one.grad is not None]
        self.norms.append(float(torch.stack([one.norm() for one in grads]).norm()))


def exact_run(
    folder: Path | None, accelerator: Accelerator | None = None, start: float = 1.0
) -> tuple[HBGL | Multilabel, TrainingResult, list[float]]:
    """Nothing random in it but the order of the documents; also the gradient norms."""
    method = model(start)
    corpus = labelled(random_records(13), tiny_backbone())
    kept = None if folder is None else TrainingFolder(folder)
    heard = Gradients(method)
    result = fit(
        method, corpus, corpus, EXACT, folder=kept, accelerator=accelerator, listener=heard
    )
    return method, result, heard.norms


def learning_run(
    accelerator: Accelerator | None = None, *, flat: bool = False
) -> tuple[HBGL | Multilabel, TrainingResult]:
    """With dropout: other random numbers in every process, and the same end."""
    method = model(flat=flat)
    corpus = labelled(eight_records(), tiny_backbone())
    settings = dataclasses.replace(LEARNING, epochs=150) if flat else LEARNING
    return method, fit(method, corpus, corpus, settings, accelerator=accelerator)


def hours_of_waiting() -> float:
    """How long this process waits for another one before it gives up."""
    group: Any = distributed.group.WORLD
    waiting: timedelta = group._get_backend(torch.device("cpu")).options._timeout
    return waiting.total_seconds() / 3600


def main(folder: Path) -> None:
    accelerator = start_accelerator()
    number = accelerator.process_index
    method, exact, norms = exact_run(folder / "run", accelerator, start=1.0 if number == 0 else 0.0)
    save_tensors(folder / f"{number}.safetensors", method.state_dict())
    _, learnt = learning_run(accelerator)
    found = {
        "processes": accelerator.num_processes,
        "hours_of_waiting": hours_of_waiting(),
        "exact": exact.evaluations,
        "losses": exact.losses,
        "norms": norms,
        "learnt": learnt.evaluations,
    }
    (folder / f"{number}.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
