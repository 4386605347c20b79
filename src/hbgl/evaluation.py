"""Predictions over a tokenised corpus, in batches by length, in corpus order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix
from torch import nn

from hbgl.batching import (
    TokenizedTexts,
    collate,
    forward_tokens,
    prediction_batches,
    prediction_tokens,
)
from hbgl.cores import over_cores, workers
from hbgl.decisions import Decider, Decoded
from hbgl.methods import Method
from hbgl.metrics import Evaluation, Evaluator, LabelCounts
from hbgl.precision import autocast

__all__ = [
    "LabelledTexts",
    "Watcher",
    "count_labels",
    "evaluate_answers",
    "label_matrix",
    "predict_batches",
]


_LEAST_SHARE = 2048
"""Tokens that a core should have to itself; less is not worth a batch of its own."""


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """A tokenised corpus with its labels."""

    texts: TokenizedTexts
    gold: csr_matrix
    """[documents, L] boolean."""

    def __len__(self) -> int:
        return len(self.texts)

    def subset(self, indices: np.ndarray) -> LabelledTexts:
        """The documents at ``indices``, in that order."""
        return LabelledTexts(self.texts.subset(indices), self.gold[indices])


def label_matrix(label_ids: list[np.ndarray], labels: int) -> csr_matrix:
    """Ids of each document's labels -> [documents, L] boolean."""
    offsets = np.zeros(len(label_ids) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in label_ids], out=offsets[1:])
    columns = np.concatenate(label_ids) if label_ids else np.zeros(0, dtype=np.int64)
    return csr_matrix(
        (np.ones(len(columns), dtype=bool), columns, offsets), shape=(len(label_ids), labels)
    )


def predict_batches(
    method: Method,
    texts: TokenizedTexts,
    decider: Decider,
    *,
    precision: str,
    token_budget: int | None = None,
    share: tuple[int, int] = (0, 1),
) -> Iterator[tuple[np.ndarray, Decoded]]:
    """Document indices and answers, on the CPU, of batch after batch.

    :param token_budget: most tokens of a batch, padding included; None: what suits the device,
        and less where few texts are to be shared out to its cores.
    :param share: (process, processes): every process takes its batches of the same list.
    """
    process, processes = share
    device = decider.device
    in_torch = isinstance(method, nn.Module)  # an engine has threads of its own
    count = workers(device) if in_torch else 1
    budget = token_budget or (prediction_tokens(device) if in_torch else forward_tokens(device))
    # Several processes must cut the list alike, whatever their machines are.
    if token_budget is None and processes == 1:
        budget = _shared_out(budget, int(texts.lengths.sum()), count)
    batches = list(prediction_batches(texts.lengths, budget))[process::processes]

    def answer(indices: np.ndarray) -> tuple[np.ndarray, Decoded]:
        batch = collate(texts, indices, method.pad_id).to(device)
        with autocast(precision, device):
            return indices, method.predict(batch, decider).cpu()

    yield from over_cores(answer, batches, min(count, len(batches)))


def _shared_out(budget: int, tokens: int, count: int) -> int:
    """Smaller batches for few texts, so that there is one for everybody."""
    return budget if count < 2 else min(budget, max(_LEAST_SHARE, -(-tokens // (2 * count))))


def count_labels(
    method: Method,
    corpus: LabelledTexts,
    decider: Decider,
    *,
    precision: str,
    token_budget: int | None = None,
    share: tuple[int, int] = (0, 1),
    on_batch: Callable[[int], None] | None = None,
) -> LabelCounts:
    """What the F1 scores are made of, counted over (a process's share of) a corpus."""
    counts = LabelCounts(corpus.gold.shape[1])
    for indices, decoded in predict_batches(
        method,
        corpus.texts,
        decider,
        precision=precision,
        token_budget=token_budget,
        share=share,
    ):
        counts.update(corpus.gold[indices], csr_matrix(decoded.chosen.numpy()))
        if on_batch is not None:
            on_batch(len(indices))
    return counts


class Watcher(Protocol):
    """Something that sees every answer beside its gold labels while they are evaluated."""

    def update(self, indices: np.ndarray, gold: csr_matrix, decoded: Decoded) -> None:
        """See a batch: document indices [B], gold labels [B, L], answers on the CPU."""


def evaluate_answers(
    method: Method,
    corpus: LabelledTexts,
    decider: Decider,
    *,
    precision: str,
    token_budget: int | None = None,
    watchers: Sequence[Watcher] = (),
    on_batch: Callable[[int], None] | None = None,
) -> Evaluation:
    """Every score of one walk over a corpus; no answer is kept."""
    evaluator = Evaluator(method.taxonomy)
    for indices, decoded in predict_batches(
        method, corpus.texts, decider, precision=precision, token_budget=token_budget
    ):
        gold = corpus.gold[indices]
        evaluator.update(gold, decoded.chosen.numpy(), decoded.probabilities.numpy())
        for watcher in watchers:
            watcher.update(indices, gold, decoded)
        if on_batch is not None:
            on_batch(len(indices))
    return evaluator.result()
