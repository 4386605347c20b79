"""A trained model with all it needs to answer: taxonomy, tokenizer, weights, thresholds, history.

Its folder is complete or absent, holds no code and names any file that was damaged:
``model.safetensors``, ``config.json``, ``taxonomy.tsv``, ``names.json``, ``tokenizer.json``,
``thresholds.json``, ``calibration.json``, ``metrics.json``, ``README.md`` (the model card),
``MANIFEST.json``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix

from hbgl.backbones import Backbone
from hbgl.batching import tokenize
from hbgl.checkpoint import save_tensors, write_folder
from hbgl.decisions import Decider, Decision, Decoded
from hbgl.decoding import Prediction, answer
from hbgl.engines import Engine
from hbgl.errors import UsageError
from hbgl.evaluation import (
    LabelledTexts,
    Watcher,
    count_labels,
    evaluate_answers,
    label_matrix,
    predict_batches,
)
from hbgl.methods import TorchMethod
from hbgl.metrics import Evaluation, Scores
from hbgl.model_card import model_card
from hbgl.model_folder import WEIGHTS, default_device, files_but_weights, read_model_folder
from hbgl.records import Record
from hbgl.settings import DecisionSettings, Settings
from hbgl.taxonomy import Taxonomy
from hbgl.tuning import tune_decision

__all__ = ["TrainedModel", "default_device", "prepare_records"]


@dataclass(slots=True)
class TrainedModel:
    """A trained hierarchical text classifier.

    >>> model = TrainedModel.load("my-model")                              # doctest: +SKIP
    >>> model.predict(["how do i freeze my account"])[0].paths               # doctest: +SKIP
    (('banking', 'freeze_account'),)
    """

    taxonomy: Taxonomy
    settings: Settings
    backbone: Backbone
    method: TorchMethod | Engine
    """In torch, or of an exported model the engine that runs it."""
    decision: Decision
    """How scores become labels: rule, thresholds, calibration."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """Scores, curves and provenance of the training run."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    _ready: tuple[Decision, Decider] | None = field(default=None, repr=False)

    # ------------------------------------------------------------------ answers

    def predict(
        self,
        texts: Sequence[str],
        *,
        decision: Decision | None = None,
        threshold: float | None = None,
        top_k: int | None = None,
        everything: bool = False,
    ) -> list[Prediction]:
        """The labels of each text, as whole paths with probabilities.

        :param decision: instead of the model's own; ``model.decision.changed(...)`` makes one.
        :param threshold: one threshold for all labels.
        :param top_k: also keep the probabilities of the k likeliest labels of each level.
        :param everything: keep the probabilities of all labels.
        """
        decision = decision or self.decision
        if threshold is not None:
            decision = decision.changed(self.taxonomy, threshold=threshold)
        found: list[Prediction | None] = [None] * len(texts)
        for indices, decoded in self._batches(texts, decision):
            probabilities, chosen = decoded.probabilities.numpy(), decoded.chosen.numpy()
            for index, row, picked in zip(indices, probabilities, chosen, strict=True):
                found[index] = answer(
                    self.taxonomy, row, picked, top_k=top_k, everything=everything
                )
        return [one for one in found if one is not None]

    def choose(self, texts: Sequence[str], *, decision: Decision | None = None) -> csr_matrix:
        """The labels of each text as a matrix, [texts, L] boolean and sparse."""
        chosen = [np.zeros(0, dtype=np.int64)] * len(texts)
        for indices, decoded in self._batches(texts, decision or self.decision):
            for index, row in zip(indices, decoded.chosen.numpy(), strict=True):
                chosen[index] = np.flatnonzero(row)
        return label_matrix(chosen, len(self.taxonomy))

    def predict_proba(
        self, texts: Sequence[str], *, decision: Decision | None = None
    ) -> np.ndarray:
        """A probability for every label of the taxonomy, [texts, L] float32."""
        everything = np.zeros((len(texts), len(self.taxonomy)), dtype=np.float32)
        for indices, decoded in self._batches(texts, decision or self.decision):
            everything[indices] = decoded.probabilities.numpy()
        return everything

    def evaluate(self, records: Iterable[Record], *, decision: Decision | None = None) -> Scores:
        """F1 scores over labelled records, overall, by level and by label."""
        counts = count_labels(
            self.method,
            self.prepare(records),
            self.decider(decision or self.decision),
            precision=self.settings.training.precision,
        )
        return counts.scores(self.taxonomy.levels)

    def assess(
        self,
        records: Iterable[Record] | LabelledTexts,
        *,
        decision: Decision | None = None,
        watchers: Sequence[Watcher] = (),
        on_batch: Callable[[int], None] | None = None,
    ) -> Evaluation:
        """Every score over labelled records; those of `evaluate` are its ``scores``.

        :param records: or what :meth:`prepare` made of them, for several decisions in turn.
        :param watchers: see every answer on the way.
        :param on_batch: hears how many documents each batch had.
        """
        return evaluate_answers(
            self.method.eval(),
            records if isinstance(records, LabelledTexts) else self.prepare(records),
            self.decider(decision or self.decision),
            precision=self.settings.training.precision,
            watchers=watchers,
            on_batch=on_batch,
        )

    def tune(self, records: Iterable[Record], settings: DecisionSettings | None = None) -> None:
        """Fit calibration and thresholds anew on labelled records, which training did not see.

        The report goes to ``metrics["tuning"]``.
        """
        settings = settings or self.settings.decision
        self.decision, report = tune_decision(
            self.method.eval(),
            self.prepare(records),
            settings,
            device=self.device,
            precision=self.settings.training.precision,
            seed=self.settings.training.seed,
        )
        self.settings = dataclasses.replace(self.settings, decision=settings)
        self.metrics = {**self._metrics_of(self.decision), "tuning": dataclasses.asdict(report)}

    def decided_by(self, decision: Decision) -> TrainedModel:
        """The same model with another decision; it says no longer what it scored by its own."""
        metrics, tuning = self._metrics_of(decision), self.metrics.get("tuning")
        if tuning and decision.fingerprint() != self.decision.fingerprint():
            metrics["tuning"] = {**tuning, "after": {}, "set_by_hand": True}
        return dataclasses.replace(self, decision=decision, metrics=metrics)

    def _metrics_of(self, decision: Decision) -> dict[str, Any]:
        """Without scores that name another decision."""
        own = decision.fingerprint()
        return {
            name: value
            for name, value in self.metrics.items()
            if not isinstance(value, dict) or value.get("decision", own) == own
        }

    def decider(self, decision: Decision) -> Decider:
        """A decision made ready for this model; the last one is kept."""
        ready = self._ready
        if ready is None or ready[0] is not decision:
            ready = (decision, Decider(self.taxonomy, decision, self.device))
            self._ready = ready
        return ready[1]

    def prepare(self, records: Iterable[Record]) -> LabelledTexts:
        """Records -> token ids and a label matrix."""
        return prepare_records(records, self.taxonomy, self.backbone, self.method.max_length)

    def _batches(
        self, texts: Sequence[str], decision: Decision
    ) -> Iterator[tuple[np.ndarray, Decoded]]:
        if isinstance(texts, str):
            raise UsageError("one text was given where a list of texts belongs; write [text]")
        tokens = tokenize(texts, self.backbone.tokenizer, self.method.max_length)
        self.method.eval()
        yield from predict_batches(
            self.method,
            tokens,
            self.decider(decision),
            precision=self.settings.training.precision,
        )

    @property
    def torch_method(self) -> TorchMethod:
        """The method with its weights.

        :raises UsageError: of an exported model, which only predicts.
        """
        if isinstance(self.method, Engine):
            raise UsageError(
                f"a model exported for {self.method.name} only predicts; "
                "use the model folder that it was exported from"
            )
        return self.method

    # ------------------------------------------------------------------ the folder

    def save(self, path: str | Path, *, more: Mapping[str, bytes] | None = None) -> None:
        """Write the model folder: complete or not at all.

        :param more: further files, or other content for the model card.
        """
        weights = self.torch_method.state_dict()
        write_folder(
            Path(path),
            {
                WEIGHTS: lambda file: save_tensors(file, weights),
                **self.files_but_weights(),
                **(more or {}),
            },
        )

    def files_but_weights(self, **config: Any) -> dict[str, bytes | Callable[[Path], None]]:
        """The other files of the folder; ``config`` is added to ``config.json``."""
        return files_but_weights(
            self.taxonomy,
            self.settings,
            self.backbone,
            self.decision,
            self.metrics,
            self.card(),
            **config,
        )

    def card(self, **details: str | None) -> str:
        """The model card; ``details`` are those of :func:`hbgl.model_card.model_card`."""
        return model_card(self.taxonomy, self.settings, self.decision, self.metrics, **details)

    @classmethod
    def load(cls, path: str | Path, *, device: str | torch.device | None = None) -> TrainedModel:
        """Read a model folder after checking every file against its SHA-256.

        :param device: default: a GPU where there is one, else the CPU.
        :raises ModelFolderError: naming the file that is damaged, missing or foreign.
        """
        parts = read_model_folder(Path(path), device)
        return cls(
            parts.taxonomy,
            parts.settings,
            parts.backbone,
            parts.method,
            parts.decision,
            parts.metrics,
            parts.device,
        )


def prepare_records(
    records: Iterable[Record], taxonomy: Taxonomy, backbone: Backbone, max_length: int
) -> LabelledTexts:
    """Records -> token ids of at most ``max_length`` and a label matrix [documents, L]."""
    texts: list[str] = []
    label_ids: list[np.ndarray] = []
    for record in records:
        texts.append(record.text)
        label_ids.append(taxonomy.ids(record.labels))
    tokens = tokenize(texts, backbone.tokenizer, max_length)
    return LabelledTexts(tokens, label_matrix(label_ids, len(taxonomy)))
