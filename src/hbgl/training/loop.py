"""The training loop: batches, steps, evaluation on dev, best checkpoint, early stop, resume.

Reads top-down: :func:`fit` sets up, then runs steps. Which documents a step sees and what is drawn
at random in it are functions of (seed, step, process) alone, so a checkpoint is weights, optimiser
and a step number, and a resumed run ends with the weights of an uninterrupted one.

One process or many (``torchrun``, ``accelerate launch``): a step's documents are dealt out to the
processes and each gradient is weighted by its documents, so the number of processes does not change
what is computed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from torch import nn

from hbgl.batching import Batch, collate, epoch_batches, forward_tokens, split_by_tokens
from hbgl.checkpoint import TrainingFolder
from hbgl.decisions import Decider, Decision
from hbgl.errors import TrainingError
from hbgl.evaluation import LabelledTexts, count_labels
from hbgl.methods import TorchMethod
from hbgl.methods.multilabel import Multilabel
from hbgl.metrics import Scores
from hbgl.model import HBGL
from hbgl.optimization import (
    build_optimizer,
    learning_rate_factor,
    seed_step,
    set_learning_rate,
    total_steps,
)
from hbgl.precision import autocast
from hbgl.settings import TrainingSettings
from hbgl.training.checkpoints import Checkpoints
from hbgl.training.events import Evaluated, Listener, Stepped, TrainingResult
from hbgl.training.trained_words import TrainedWords
from hbgl.weight_average import WeightAverage

__all__ = ["fit", "start_accelerator"]

_PATIENCE = timedelta(days=1)


def start_accelerator() -> Accelerator:
    """This process among those of ``torchrun`` or ``accelerate launch``, if it is one of several.

    Without a GPU accelerate must be told so: otherwise every process of ``torchrun`` takes itself
    for the only one. Its own mixed precision stays off, whatever the launcher says; ours is in
    ``precision.py``. Processes wait long for each other: the first one alone does the global stage,
    which for a large taxonomy takes more than torch's half hour. One that dies ends all anyway.
    """
    return Accelerator(
        cpu=not torch.accelerator.is_available(),
        mixed_precision="no",
        kwargs_handlers=[InitProcessGroupKwargs(timeout=_PATIENCE)],
    )


def fit(
    method: TorchMethod,
    train: LabelledTexts,
    dev: LabelledTexts | None,
    settings: TrainingSettings,
    *,
    folder: TrainingFolder | None = None,
    fingerprint: dict[str, Any] | None = None,
    resume: bool = False,
    global_losses: Sequence[float] = (),
    listener: Listener | None = None,
    accelerator: Accelerator | None = None,
) -> TrainingResult:
    """Train ``method`` in place; it ends with the weights that scored best on dev.

    :param folder: where checkpoints go; None keeps only the best weights, in memory.
    :param fingerprint: what must be equal for a checkpoint to be continued (settings, data).
    :param resume: go on from the last checkpoint; otherwise those that are there are removed.
    :param global_losses: what a new run keeps of the stage before it.
    :raises TrainingError: if the run cannot start or diverges.
    """
    if len(train) == 0:
        raise TrainingError("no training documents; give a corpus whose train split is not empty")
    accelerator = accelerator or start_accelerator()
    method.to(accelerator.device)
    embeddings = method.encoder.parts.word_embeddings
    with TrainedWords(embeddings, train.texts.ids, method.special_ids) as words:
        run = _Run(method, words, train, dev, settings, folder, fingerprint or {}, accelerator)
        run.listener = listener or Listener()
        if resume:
            run.restore()
        else:
            run.checkpoints.forget()
        if run.progress.step == 0:
            run.progress.global_losses = list(global_losses)
        run.train()
    run.checkpoints.load_best(run.progress)
    method.eval()
    return run.progress


class _Run:
    """The state of one training run."""

    def __init__(
        self,
        method: TorchMethod,
        words: TrainedWords,
        train: LabelledTexts,
        dev: LabelledTexts | None,
        settings: TrainingSettings,
        folder: TrainingFolder | None,
        fingerprint: dict[str, Any],
        accelerator: Accelerator,
    ) -> None:
        self.method, self.words = method, words
        self.train_texts, self.dev, self.settings = train, dev, settings
        self.accelerator = accelerator
        self.listener = Listener()
        self.device = accelerator.device
        method.encoder.set_dropout(settings.attention_dropout, settings.hidden_dropout)
        if method.settings.loss == "balanced" and isinstance(method, HBGL | Multilabel):
            method.label_loss.count(train.gold.sum(axis=0))
        self.model: nn.Module = accelerator.prepare_model(method)
        self.optimizer = build_optimizer(
            method, method.label_parameters(), settings, method.encoder.parameters_by_depth()
        )
        decay = settings.weight_average
        self.average = WeightAverage(method, decay) if decay > 0 else None
        self.checkpoints = Checkpoints(
            folder, fingerprint, method, self.optimizer, accelerator, self.average
        )
        self.token_budget = settings.token_budget or forward_tokens(self.device)
        self.lengths = train.texts.lengths
        # Tokens that a document takes in a batch, where each is padded to the longest length.
        self.pad_to = method.max_length if method.settings.pad_to_max else None
        self.widths = self.lengths if self.pad_to is None else np.full(len(train), self.pad_to)
        self.batches_per_epoch = -(-len(train) // settings.batch_size)
        self.total = settings.steps or total_steps(self.batches_per_epoch, settings.epochs)
        # While training, the paper's decision: what is tuned on dev is tuned at the end.
        decision = Decision.of_paper(len(method.taxonomy))
        if method.settings.loss_columns == "children":  # a child without its parent means nothing
            decision = dataclasses.replace(decision, rule="coherent")
        self.decider = Decider(method.taxonomy, decision, self.device)
        self.progress = TrainingResult()
        self.epoch_number = -1
        self.batches: list[np.ndarray] = []

    # ------------------------------------------------------------------ the loop

    def train(self) -> None:
        started, first = time.perf_counter() - self.progress.seconds, self.progress.step
        clock, documents = time.perf_counter(), 0
        while self.progress.step < self.total and not self._out_of_patience():
            indices = self._batch_of(self.progress.step)
            loss = self._step(indices)
            self.progress.step += 1
            self.progress.seconds = time.perf_counter() - started
            documents += len(indices)
            passed = max(time.perf_counter() - clock, 1e-9)
            left = (self.total - self.progress.step) * passed / (self.progress.step - first)
            self._tell_step(loss, documents / passed, left)
            self._evaluate_if_due()
            self._save_if_due()
        self.progress.seconds = time.perf_counter() - started
        if self.average is not None:
            self.average.swap()

    def _batch_of(self, step: int) -> np.ndarray:
        epoch, number = divmod(step, self.batches_per_epoch)
        if epoch != self.epoch_number:
            seed, size = self.settings.seed, self.settings.batch_size
            self.batches = epoch_batches(self.lengths, size, seed, epoch)
            self.epoch_number = epoch
        return self.batches[number]

    def _step(self, indices: np.ndarray) -> float:
        """One optimisation step over the documents ``indices``; returns their mean loss."""
        step, process = self.progress.step, self.accelerator.process_index
        self.model.train()
        if isinstance(self.method, HBGL):
            self.method.begin_step(step / self.total)
        seed_step(self.settings.seed, step, process)
        rate = learning_rate_factor(step, self.total, self.settings)
        set_learning_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)
        mine = indices[process :: self.accelerator.num_processes]
        # A process without documents still takes part: one document that weighs nothing.
        idle = len(mine) == 0
        parts = split_by_tokens(indices[:1] if idle else mine, self.widths, self.token_budget)
        loss_sum = torch.zeros((), device=self.device)
        for number, part in enumerate(parts):
            batch = self._collate(part, idle)
            last = number == len(parts) - 1
            with self._maybe_no_sync(last):
                with autocast(self.settings.precision, self.device):
                    loss: torch.Tensor = self.model(batch)
                share = 0.0 if idle else len(part) / len(indices)
                # Gradients are averaged over processes; the sum over documents is what is meant.
                self.accelerator.backward(loss * (share * self.accelerator.num_processes))
            loss_sum += loss.detach() * share
        if self.settings.clip > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(step + 1)
        mean = float(self.accelerator.reduce(loss_sum, "sum"))
        if not np.isfinite(mean):
            raise TrainingError(
                f"the loss is {mean} at step {step + 1}; lower the learning rate "
                f"({self.settings.learning_rate}) or train with --precision float32"
            )
        return mean

    def _maybe_no_sync(self, last: bool) -> AbstractContextManager[Any]:
        return nullcontext() if last else self.accelerator.no_sync(self.model)

    def _collate(self, part: np.ndarray, idle: bool) -> Batch:
        batch = collate(self.train_texts.texts, part, self.method.pad_id, self.pad_to)
        gold = torch.from_numpy(self.train_texts.gold[part].toarray())
        weights = torch.zeros(len(part)) if idle else None
        return Batch(batch.ids, batch.lengths, gold, weights).to(self.device)

    # ------------------------------------------------------------------ dev, checkpoints

    def _is_due(self, every: int) -> bool:
        return self.progress.step % every == 0 or self.progress.step == self.total

    def _evaluate_if_due(self) -> None:
        every = self.settings.evaluate_every or self.batches_per_epoch
        if self.dev is None or len(self.dev) == 0 or not self._is_due(every):
            return
        averages = nullcontext() if self.average is None else self.average.in_place()
        with averages, self.words.whole():
            self._score(self.dev)

    def _score(self, dev: LabelledTexts) -> None:
        """Evaluate the weights as they are, and keep them if they are the best so far."""
        step = self.progress.step
        scores = self._evaluate(dev)
        score = float(getattr(scores, self.settings.metric))
        best = score > self.progress.best_score
        self.progress.stale = 0 if best else self.progress.stale + 1
        epoch = step / self.batches_per_epoch
        self.progress.evaluations.append(
            {
                "step": step,
                "epoch": epoch,
                "micro_f1": scores.micro_f1,
                "macro_f1": scores.macro_f1,
                "mean_f1": scores.mean_f1,
            }
        )
        if best:
            self.progress.best_score, self.progress.best_step = score, step
            self.checkpoints.save_best(self.progress)
        self.listener.evaluated(Evaluated(step, epoch, scores, best))

    def _evaluate(self, corpus: LabelledTexts) -> Scores:
        self.method.eval()
        share = (self.accelerator.process_index, self.accelerator.num_processes)
        counts = count_labels(
            self.method,
            corpus,
            self.decider,
            precision=self.settings.precision,
            token_budget=self.settings.token_budget,
            share=share,
        )
        if share[1] > 1:
            summed = self.accelerator.reduce(
                torch.from_numpy(counts.vector()).to(self.device), "sum"
            )
            counts = counts.from_vector(summed.cpu().numpy())
        return counts.scores()

    def _out_of_patience(self) -> bool:
        return self.settings.patience is not None and self.progress.stale >= self.settings.patience

    def _save_if_due(self) -> None:
        # A run without dev documents is saved as often as one with them is evaluated.
        settings = self.settings
        every = settings.save_every or settings.evaluate_every or self.batches_per_epoch
        if self._is_due(every):
            with self.words.whole():
                self.checkpoints.save_last(self.progress)

    def restore(self) -> None:
        """Go on from the last checkpoint, if there is one."""
        with self.words.whole():
            progress = self.checkpoints.restore()
        if progress is not None:
            self.progress = progress
            self.listener.resumed(progress.step, self.total)

    def _tell_step(self, loss: float, rate: float, left: float) -> None:
        step = self.progress.step
        learning_rate = float(self.optimizer.param_groups[0]["lr"])
        self.progress.window.append(loss)
        if step % max(1, self.total // 200) == 0 or step == self.total:
            self.progress.losses.append([step, float(np.mean(self.progress.window)), learning_rate])
            self.progress.window = []
        epoch = step / self.batches_per_epoch
        self.listener.stepped(Stepped(step, self.total, epoch, loss, learning_rate, rate, left))
