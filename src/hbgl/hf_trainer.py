"""Hugging Face's ``Trainer`` with its own defaults, over texts that are tokenised already.

It prints nothing, reports to nobody and writes nothing: no checkpoint outlives the training.
"""

from __future__ import annotations

import tempfile
import warnings
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from hbgl.backbones import Backbone
from hbgl.evaluation import LabelledTexts

__all__ = ["fast_tokenizer", "train_by_trainer"]


def fast_tokenizer(backbone: Backbone, max_length: int) -> Any:
    """The backbone's tokenizer as Hugging Face's class."""
    names = {
        f"{role}_token": backbone.tokenizer.id_to_token(getattr(backbone, f"{role}_id"))
        for role in ("cls", "sep", "mask", "pad")
    }
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=backbone.tokenizer, model_max_length=max_length, **names)


def train_by_trainer(
    model: Any,
    tokenizer: Any,
    documents: LabelledTexts,
    *,
    seed: int,
    head_learning_rate: float | None = None,
    **arguments: Any,
) -> int:
    """Train a flat model in place, and leave it ready to predict; the number of steps.

    :param head_learning_rate: of the layers above the encoder; None: the same as the rest.
    :param arguments: of ``TrainingArguments``, where its defaults are not wanted.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Without a GPU its data loader warns that there is no memory to pin.
        warnings.filterwarnings("ignore", message=".*pin_memory.*")
        trainer = _TwoRates(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                logging_strategy="no",
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                seed=seed,
                **arguments,
            ),
            train_dataset=_Rows(documents),
            processing_class=tokenizer,
        )
        trainer.head_learning_rate = head_learning_rate
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    model.eval()
    return int(trainer.state.global_step)


class _TwoRates(Trainer):
    """The Trainer, with a learning rate of its own for the head where one is given."""

    head_learning_rate: float | None = None

    def create_optimizer(self, *arguments: Any, **options: Any) -> torch.optim.Optimizer:
        """Its own optimiser, the head's parameters moved to groups of their own."""
        optimizer: torch.optim.Optimizer = super().create_optimizer(*arguments, **options)
        if self.head_learning_rate is None:
            return optimizer
        model: Any = self.model
        backbone = {
            id(parameter)
            for name, parameter in model.base_model.named_parameters()
            if not name.startswith("pooler.")
        }
        for group in list(optimizer.param_groups):
            head = [one for one in group["params"] if id(one) not in backbone]
            if head:
                group["params"] = [one for one in group["params"] if id(one) in backbone]
                rate = self.head_learning_rate
                optimizer.add_param_group({**group, "params": head, "lr": rate})
        return optimizer


class _Rows(torch.utils.data.Dataset[dict[str, Any]]):
    """Token ids and labels of each document, as the Trainer's collator takes them."""

    def __init__(self, documents: LabelledTexts) -> None:
        self.documents = documents

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> dict[str, Any]:
        texts = self.documents.texts
        ids = texts.ids[texts.offsets[index] : texts.offsets[index + 1]].tolist()
        labels = self.documents.gold[index].toarray()[0].astype(np.float32)
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}
