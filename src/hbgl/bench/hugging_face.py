"""What people would use instead: a flat classifier by Hugging Face's own classes and defaults."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, pipeline

from hbgl.backbones import Backbone
from hbgl.bench.workload import Workload
from hbgl.evaluation import LabelledTexts
from hbgl.hf_trainer import fast_tokenizer, train_by_trainer

__all__ = ["PipelinePrediction", "TrainerTraining", "sequence_classifier"]

_SORTED_BATCH = 32


def sequence_classifier(backbone: Backbone, labels: int) -> Any:
    """A flat model of the backbone's type and weights, its head (and pooler) at random."""
    config = copy.deepcopy(backbone.model.config)
    config.num_labels = labels
    config.problem_type = "multi_label_classification"
    automatic: Any = AutoModelForSequenceClassification
    model = automatic.from_config(config)
    model.base_model.load_state_dict(backbone.model.state_dict(), strict=False)
    return model.eval()


@dataclass(slots=True)
class PipelinePrediction:
    """``pipeline("text-classification")``: as it comes, or with sorted batches in bfloat16."""

    workload: Workload
    improved: bool
    method: str = "flat"
    answers: list[Any] = field(default_factory=list)
    _pipeline: Any = None

    @property
    def name(self) -> str:
        """``pipeline`` or ``pipeline-sorted``."""
        return "pipeline-sorted" if self.improved else "pipeline"

    @property
    def precision(self) -> str:
        """Its default is float32."""
        return "bfloat16" if self.improved else "float32"

    @property
    def what(self) -> str:
        """How it computes."""
        if self.improved:
            return f"Hugging Face pipeline, flat, sorted, batches of {_SORTED_BATCH}, bfloat16"
        return "Hugging Face pipeline, flat, its defaults: batches of 1, unsorted, float32"

    def prepare(self) -> None:
        """Build the pipeline."""
        model = sequence_classifier(self.workload.backbone, len(self.workload.taxonomy))
        if self.improved:
            model = model.to(torch.bfloat16)
        self._pipeline = pipeline(
            "text-classification",
            model=model,
            tokenizer=fast_tokenizer(self.workload.backbone, self.workload.max_length),
        )

    def run(self, documents: list[str]) -> None:
        """Answer all texts, in their order."""
        if not self.improved:
            self.answers = self._pipeline(documents, truncation=True)
            return
        order = np.argsort([-len(text) for text in documents], kind="stable").tolist()
        found = self._pipeline(
            [documents[i] for i in order], truncation=True, batch_size=_SORTED_BATCH
        )
        self.answers = [None] * len(documents)
        for place, answer in zip(order, found, strict=True):
            self.answers[place] = answer


@dataclass(slots=True)
class TrainerTraining:
    """``Trainer`` with the defaults of ``TrainingArguments``, one epoch, nothing written."""

    workload: Workload
    name: str = "trainer"
    method: str = "flat"
    precision: str = "float32"
    steps: int = 0
    _model: Any = None
    _tokenizer: Any = None

    @property
    def what(self) -> str:
        """How it computes."""
        return "Hugging Face Trainer, flat, its defaults: batches of 8, unsorted, float32"

    def prepare(self) -> None:
        """Build model and tokenizer."""
        self._model = sequence_classifier(self.workload.backbone, len(self.workload.taxonomy))
        self._tokenizer = fast_tokenizer(self.workload.backbone, self.workload.max_length)

    def run(self, documents: LabelledTexts) -> None:
        """One epoch."""
        self.steps = train_by_trainer(
            self._model,
            self._tokenizer,
            documents,
            seed=self.workload.spec.seed,
            num_train_epochs=1,
        )
