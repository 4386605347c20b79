"""Integrated gradients: which tokens moved a label's logit, and by how much.

For a label with logit F over the word embeddings x [N, d] of a text and those of a baseline x'
(Sundararajan et al., 2017):

    attribution_n = sum over d of (x - x')_nd * integral_0^1 dF(x' + a (x - x')) / dx_nd  da

so that the attributions of all tokens sum to F(x) - F(x'). The integral is a Gauss-Legendre
quadrature; what is missing from that sum is measured, and more steps are taken where it is much.

The label inputs u_1 .. u_{h-1} are those of the prediction and stay as they are along the path:
F is the logit that the walk down the levels computed, given what it had chosen above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from hbgl.attention import label_training_mask
from hbgl.errors import UsageError
from hbgl.explanation.words import ReadText
from hbgl.methods.multilabel import Multilabel
from hbgl.methods.seq2seq import Seq2Seq
from hbgl.model import HBGL
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel

__all__ = ["MOST_STEPS", "Integrals", "explainable_method", "integrate", "is_complete"]

MOST_STEPS = 512
"""Up to here the steps are doubled where the quadrature is not exact enough."""
_TOLERANCE = 0.05
"""Of the logit's difference that may be missing; an absolute one where the difference is small."""
_TOKEN_BUDGET = 2048
"""Padded tokens of one forward pass; its activations are kept for the gradient."""

_Logits = Callable[[torch.Tensor], torch.Tensor]
"""Word embeddings [R, N, d] -> logits of the K labels asked for [R, K]."""


@dataclass(frozen=True, slots=True)
class Integrals:
    """Of K labels over N tokens."""

    attributions: np.ndarray
    """[K, N]"""
    logits: np.ndarray
    """[K] with the text's words."""
    baselines: np.ndarray
    """[K] with [MASK] in the place of every word."""
    steps: int

    @property
    def deltas(self) -> np.ndarray:
        """[K] sum of the attributions minus the logit's difference; 0 for an exact integral."""
        missing: np.ndarray = self.attributions.sum(axis=1) - (self.logits - self.baselines)
        return missing


def explainable_method(model: TrainedModel) -> HBGL | Multilabel:
    """The model's method, if a label has one logit that a gradient can be taken of.

    :raises UsageError: of an exported model, and of the method seq2seq.
    """
    method = model.torch_method
    if isinstance(method, Seq2Seq):
        raise UsageError(
            "models of the method seq2seq cannot be explained: a label's score there comes from "
            "different steps of the generation"
        )
    return method


def is_complete(delta: float, difference: float) -> bool:
    """Whether the attributions account for the logit's difference.

    >>> is_complete(0.1, 4.0), is_complete(0.1, 0.2), is_complete(0.01, 0.2)
    (True, False, True)
    """
    return abs(delta) <= _TOLERANCE * max(abs(difference), 1.0)


def integrate(
    model: TrainedModel, read: ReadText, labels: Sequence[int], chosen: np.ndarray, steps: int
) -> Integrals:
    """Integrated gradients of the logits of ``labels`` (ids) in float32.

    :param chosen: [L] what the prediction fed into the levels below: labels (boolean), or with
        expected level inputs their probabilities.
    :param steps: at least so many; doubled, up to ``MOST_STEPS``, until the sums hold.
    """
    explainable_method(model).eval()
    device = model.device
    while True:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast(device.type, enabled=False),
        ):
            found = _integrate(model, read, labels, chosen, steps)
        differences = found.logits - found.baselines
        if steps * 2 > MOST_STEPS or all(map(is_complete, found.deltas, differences)):
            return found
        steps *= 2


def _integrate(
    model: TrainedModel, read: ReadText, labels: Sequence[int], chosen: np.ndarray, steps: int
) -> Integrals:
    method, backbone = explainable_method(model), model.backbone
    ids = torch.tensor([read.ids], device=model.device)
    words, special = method.encoder.look_up(ids, [backbone.mask_id, backbone.sep_id])
    words, mask, sep = words[0].detach(), special[0].detach(), special[1].detach()
    # The baseline is [MASK] for every word: the one embedding whose meaning, from pretraining on,
    # is "some word stands here". [PAD] is seen by nobody in training, so its vector means nothing
    # (RoBERTa's is zero). [CLS] and [SEP] stay: no word put them there.
    own = torch.tensor(read.special, device=model.device)[:, None]
    baseline = torch.where(own, words, mask)
    logits_of = _logits(model, labels, chosen, mask, sep)
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    shares = np.concatenate([[0.0, 1.0], (nodes + 1) / 2])  # the two ends weigh nothing
    weights = np.concatenate([[0.0, 0.0], weights / 2])
    logits = np.zeros((len(shares), len(labels)))
    gradients = torch.zeros(len(labels), *words.shape, device=model.device)
    rows = max(_TOKEN_BUDGET // len(read.ids), 1)
    for start in range(0, len(shares), rows):
        part = slice(start, start + rows)
        share = torch.tensor(shares[part], dtype=words.dtype, device=model.device)[:, None, None]
        weight = torch.tensor(weights[part], dtype=words.dtype, device=model.device)
        points = (baseline + share * (words - baseline)).requires_grad_()
        found = logits_of(points)  # [R, K]
        logits[part] = found.detach().cpu().numpy()
        for number in range(len(labels)):
            (gradient,) = torch.autograd.grad(
                (found[:, number] * weight).sum(), points, retain_graph=number + 1 < len(labels)
            )
            gradients[number] += gradient.sum(dim=0)
    attributions = (gradients * (words - baseline)).sum(dim=2)  # [K, N]
    return Integrals(attributions.double().cpu().numpy(), logits[1], logits[0], steps)


def _logits(
    model: TrainedModel,
    labels: Sequence[int],
    chosen: np.ndarray,
    mask: torch.Tensor,
    sep: torch.Tensor,
) -> _Logits:
    method = explainable_method(model)
    if isinstance(method, Multilabel):
        return _flat_logits(method, labels)
    inputs = torch.tensor(chosen, device=model.device)[None]
    return _level_logits(method, model.taxonomy, labels, inputs, mask, sep)


def _flat_logits(method: Multilabel, labels: Sequence[int]) -> _Logits:
    wanted = list(labels)
    weight, bias = method.head_weight[wanted].detach(), method.head_bias[wanted].detach()

    def logits(words: torch.Tensor) -> torch.Tensor:
        state = method.encoder.first_state(words, _lengths(words))
        return torch.nn.functional.linear(state, weight, bias)

    return logits


def _level_logits(
    method: HBGL,
    taxonomy: Taxonomy,
    labels: Sequence[int],
    chosen: torch.Tensor,
    mask: torch.Tensor,
    sep: torch.Tensor,
) -> _Logits:
    """All levels in one pass: what a step of the walk sees, m_h sees in the training mask, too."""
    levels = [int(taxonomy.levels[i]) - 1 for i in labels]  # from 0
    depth = max(levels) + 1
    known = torch.stack(
        [method.level_input(chosen, level, sep).detach() for level in range(depth)], dim=1
    )  # [1, D, d]
    inputs = torch.cat([known, mask.expand_as(known)], dim=1)
    offsets = torch.arange(depth, device=mask.device).repeat(2)
    visible = label_training_mask(depth, mask.device)

    def logits(words: torch.Tensor) -> torch.Tensor:
        memory = method.encoder.encode_text(words, _lengths(words))
        both = inputs.expand(len(words), -1, -1)
        states, _ = method.encoder.encode_labels(memory, both, offsets, visible)
        columns = []
        for label, level in zip(labels, levels, strict=True):
            columns.append(method.logits(states[:, depth + level], slice(label, label + 1)))
        return torch.cat(columns, dim=1)

    return logits


def _lengths(words: torch.Tensor) -> torch.Tensor:
    """Nothing is padded: all rows are the same text."""
    return torch.full((len(words),), words.shape[1], device=words.device)
