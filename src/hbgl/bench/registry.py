"""The contenders by name. Nothing heavy is imported before one of them is built.

Those of ``hbgl.engines`` take part in prediction under their names. Another one does after
``ENGINES[name] = build``, where ``build`` makes a contender of texts from a workload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hbgl.errors import UsageError

if TYPE_CHECKING:
    from hbgl.bench.contender import Contender
    from hbgl.bench.workload import Workload
    from hbgl.evaluation import LabelledTexts

__all__ = [
    "ENGINES",
    "PEERS",
    "PREDICTION",
    "STRAIGHTFORWARD_BATCH",
    "TRAINING",
    "chosen_contenders",
    "documents_of",
    "prediction_contender",
    "training_contender",
]

PREDICTION = ("hbgl", "flat", "pipeline", "pipeline-sorted", "long")
TRAINING = ("hbgl", "flat", "trainer", "long", "plain")
OURS = "hbgl"
PEERS = ("pipeline", "pipeline-sorted", "trainer", "long", "plain")
"""What others would use: they run as their users would run them."""
STRAIGHTFORWARD_BATCH = {"predict": 32, "train": 12}
"""Documents in a batch of ``long``."""
_PART = 8

ENGINES: dict[str, Callable[[Workload], Contender[list[str]]]] = {}


def chosen_contenders(known: tuple[str, ...], against: str | None) -> list[str]:
    """``hbgl``, then those of a comma-separated list; all of them without one.

    >>> chosen_contenders(("hbgl", "flat", "long"), "long")
    ['hbgl', 'long']
    """
    if against is None:
        return list(known)
    wanted = [name.strip() for name in against.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"no contender {unknown[0]!r}; there are: {', '.join(known)}")
    return list(dict.fromkeys([OURS, *wanted]))


def documents_of(kind: str, name: str, documents: int) -> int:
    """How many of a round's documents a contender runs.

    All of them; ``long``, which pads every text to the same length, so that each costs the same,
    an eighth in whole batches. Else most of a round would be spent waiting for it.

    >>> [documents_of("train", "long", documents) for documents in (8, 96, 100, 1024)]
    [8, 12, 24, 132]
    """
    if name != "long":
        return documents
    batch = STRAIGHTFORWARD_BATCH[kind]
    return min(documents, -(-documents // (_PART * batch)) * batch)


def prediction_contender(name: str, workload: Workload) -> Contender[list[str]]:
    """One that answers texts."""
    if name in ("pipeline", "pipeline-sorted"):
        from hbgl.bench.hugging_face import PipelinePrediction

        return PipelinePrediction(workload, improved=name == "pipeline-sorted")
    from hbgl.bench.predicting import OurPrediction, StraightforwardPrediction

    if name == "long":
        return StraightforwardPrediction(workload)
    if name in ("hbgl", "flat"):
        return OurPrediction(workload, name)
    if name in ENGINES:
        return ENGINES[name](workload)
    from hbgl.bench.engine_prediction import EnginePrediction, parse_engine

    parse_engine(name)
    return EnginePrediction(workload, name)


def training_contender(name: str, workload: Workload, batch_size: int) -> Contender[LabelledTexts]:
    """One that trains on tokenised documents."""
    if name == "trainer":
        from hbgl.bench.hugging_face import TrainerTraining

        return TrainerTraining(workload)
    from hbgl.bench.training import OurTraining, PlainTraining, StraightforwardTraining

    if name == "plain":
        return PlainTraining(workload)
    if name == "long":
        return StraightforwardTraining(workload)
    if name in ("hbgl", "flat"):
        return OurTraining(workload, name, batch_size)
    raise UsageError(f"no contender {name!r}; there are: {', '.join(TRAINING)}")
