"""Losses for rare labels, and the columns that a loss counts, against numbers by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from hbgl.errors import UsageError
from hbgl.losses import LabelLoss, TrueParents, asymmetric_entropy, balanced_weights
from hbgl.methods.multilabel import Multilabel
from hbgl.model import HBGL
from hbgl.settings import ModelSettings
from hbgl.taxonomy import Taxonomy
from tests.small_corpus import TAXONOMY
from tests.test_model import DOCUMENTS, batch_of, entropy, gold_of, hbgl
from tests.tiny import tiny_backbone

DOCUMENTS_OF_LABELS = np.array([4, 1, 0, 2, 2, 2, 5, 5])


# ---------------------------------------------------------------------- asymmetric


def test_asymmetric_loss_by_hand() -> None:
    """Margin 0.05, gamma 2. A negative of p = 0.55: q = 0.5, 0.25 * ln 2. A positive of p = 0.25:
    ln 4, as in cross-entropy. A negative of p = 0.04 lies below the margin: 0.
    """
    logits = torch.logit(torch.tensor([0.55, 0.25, 0.04]))
    found = asymmetric_entropy(logits, torch.tensor([0.0, 1.0, 0.0]), gamma=2.0, margin=0.05)
    expected = torch.tensor([0.25 * math.log(2), math.log(4), 0.0])
    torch.testing.assert_close(found, expected)


def test_without_gamma_and_margin_it_is_cross_entropy() -> None:
    logits = torch.tensor([-200.0, -3.0, 0.0, 2.0, 200.0]).repeat(2)
    targets = torch.tensor([0.0] * 5 + [1.0] * 5)
    found = asymmetric_entropy(logits, targets, gamma=0.0, margin=0.0)
    expected = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_its_gradient_is_finite_and_that_of_a_weighted_term(gamma: float, margin: float) -> None:
    """A negative moves by q^gamma (dL/dx of the term alone); below the margin not at all."""
    logits = torch.tensor([-100.0, -20.0, -4.0, 0.0, 3.0, 100.0], requires_grad=True)
    torch.autograd.backward(asymmetric_entropy(logits, torch.zeros(6), gamma, margin).sum())
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    share = 1 / (1 + math.exp(-0.0))
    shifted = share - margin
    # d/dx of -log(1 - p + margin) is p (1 - p) / (1 - p + margin)
    expected = shifted**gamma * share * (1 - share) / (1 - share + margin)
    assert float(logits.grad[3]) == pytest.approx(expected, rel=1e-5)
    if margin > 0:
        assert logits.grad[:3].tolist() == [0.0, 0.0, 0.0]  # p = 0.018 at -4


# ---------------------------------------------------------------------- balanced


def test_balanced_weights_by_hand() -> None:
    """beta 1/2: 1 - beta^n is 15/16 for 4 documents and 1/2 for 1, so (1 - beta) over it is 8/15
    and 1, with the mean 23/30: weights 16/23 and 30/23. Level 2 has 0, 2, 2, 2 documents: 1 each,
    and the label without any 1. Level 3: 5 and 5, so 1 each.
    """
    found = balanced_weights(DOCUMENTS_OF_LABELS, TAXONOMY, beta=0.5)
    np.testing.assert_allclose(found, [16 / 23, 30 / 23, 1, 1, 1, 1, 1, 1], rtol=1e-6)


def test_balanced_weights_lie_between_none_and_one_over_n() -> None:
    """beta 0: one document is as good as many. beta near 1: weights as 1/4 to 1/1."""
    assert balanced_weights(DOCUMENTS_OF_LABELS, TAXONOMY, beta=0.0).tolist() == [1.0] * 8
    near = balanced_weights(DOCUMENTS_OF_LABELS, TAXONOMY, beta=1 - 1e-9)
    np.testing.assert_allclose(near[:2], [0.4, 1.6], rtol=1e-6)
    assert near.dtype == np.float32


def test_balanced_loss_weighs_positives_only() -> None:
    """Label 1 (30/23) of logit 0: 30/23 ln 2 where true, ln 2 where not."""
    loss = LabelLoss(ModelSettings(loss="balanced", balanced_beta=0.5), TAXONOMY)
    loss.count(DOCUMENTS_OF_LABELS)
    targets = torch.tensor([[True, True], [False, False]])
    found = loss(torch.zeros(2, 2), targets, slice(0, 2))
    expected = torch.tensor([[16 / 23, 30 / 23], [1.0, 1.0]]) * math.log(2)
    torch.testing.assert_close(found, expected)
    # All columns, and [SEP] after them: it weighs 1.
    every = loss(torch.zeros(1, 9), torch.ones(1, 9))
    torch.testing.assert_close(every[0, [0, 1, 8]], torch.tensor([16, 30, 23]) / 23 * math.log(2))


def test_balanced_loss_needs_the_frequencies() -> None:
    method = hbgl(ModelSettings(loss="balanced"))
    with pytest.raises(UsageError, match="number of training documents of each label"):
        method(batch_of(gold_of(*DOCUMENTS)))


def test_a_loss_leaves_no_trace_in_the_weights() -> None:
    """A model folder is the same whatever loss trained it."""
    method = hbgl(ModelSettings(loss="balanced", loss_columns="children"))
    method.label_loss.count(DOCUMENTS_OF_LABELS)
    assert method.state_dict().keys() == hbgl().state_dict().keys()
    assert len(list(method.parameters())) == len(list(hbgl().parameters()))


# ---------------------------------------------------------------------- in the methods


@torch.no_grad()
@pytest.mark.parametrize("columns", ["level", "all"])
def test_hbgl_sums_the_losses_of_its_labels(columns: str) -> None:
    """Each loss through the model is the loss of its logits and targets; bce is what it was."""
    gold, states = gold_of(*DOCUMENTS), torch.randn(3, 3, 16)
    for name in ("bce", "asymmetric", "balanced"):
        settings = ModelSettings(loss=name, loss_columns=columns)  # type: ignore[arg-type]
        method = hbgl(settings)
        method.label_loss.count(DOCUMENTS_OF_LABELS)
        weights = balanced_weights(DOCUMENTS_OF_LABELS, TAXONOMY, 0.999)
        for row, found in enumerate(method.losses(states, gold)):
            expected = 0.0
            for level, label in ((i, j) for i in range(3) for j in range(8)):
                here = int(TAXONOMY.levels[label]) == level + 1
                if not here and columns == "level":
                    continue
                target = float(here and gold[row, label])
                logit = method.logits(states[row, level])[label]
                if name == "asymmetric":
                    term = asymmetric_entropy(logit, torch.tensor(target), 4.0, 0.05)
                else:
                    term = entropy(logit, target)
                    term = term * float(weights[label]) if name == "balanced" and target else term
                expected += float(term)
            assert float(found) == pytest.approx(expected, rel=1e-4), name


@pytest.mark.parametrize("name", ["asymmetric", "balanced"])
def test_the_flat_classifier_has_the_same_losses(name: str) -> None:
    settings = ModelSettings(method="multilabel", loss=name)  # type: ignore[arg-type]
    method = Multilabel(tiny_backbone(), TAXONOMY, settings).eval()
    method.label_loss.count(DOCUMENTS_OF_LABELS)
    batch = batch_of(gold_of(*DOCUMENTS))
    assert batch.gold is not None
    loss = LabelLoss(settings, TAXONOMY)
    loss.count(DOCUMENTS_OF_LABELS)
    expected = loss(method.logits(batch), batch.gold).sum(dim=1).mean()
    torch.testing.assert_close(method(batch), expected)
    plain = functional.binary_cross_entropy_with_logits(
        method.logits(batch), batch.gold.float(), reduction="none"
    )
    assert not torch.allclose(method(batch), plain.sum(dim=1).mean(), rtol=1e-3)


# ---------------------------------------------------------------------- columns: children


def test_true_parents_by_hand() -> None:
    """a b | c (of a) e (of b) | d (of a, of e). {a}: the roots, c and d; {b, e}: roots, e, d."""
    edges = [("Root", "a"), ("Root", "b"), ("a", "c"), ("a", "d"), ("b", "e"), ("e", "d")]
    taxonomy = Taxonomy.from_edges(edges)
    assert taxonomy.labels == ("a", "b", "c", "e", "d")
    gold = torch.zeros(3, 5, dtype=torch.bool)
    gold[0, 0] = True
    gold[1, [1, 3]] = True
    assert TrueParents(taxonomy)(gold).int().tolist() == [
        [1, 1, 1, 0, 1],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 0, 0],
    ]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_loss_of_the_children_of_true_parents(reduction: str) -> None:
    """{animals, cats}: animals, plants, cats, dogs: four terms. {}: the two of level 1."""
    settings = ModelSettings(loss_columns="children", loss_reduction=reduction)  # type: ignore[arg-type]
    method = hbgl(settings)
    states = torch.randn(3, 3, 16)
    losses = method.losses(states, gold_of(*DOCUMENTS))
    for row, counted in ((0, ("animals", "plants", "cats", "dogs")), (2, ("animals", "plants"))):
        terms = []
        for label in TAXONOMY.ids(counted).tolist():
            logit = method.logits(states[row, int(TAXONOMY.levels[label]) - 1])[label]
            terms.append(entropy(logit, float(gold_of(*DOCUMENTS)[row, label])))
        together = torch.stack(terms)
        expected = together.sum() if reduction == "sum" else together.mean()
        torch.testing.assert_close(losses[row].double(), expected, atol=1e-5, rtol=1e-5)
    # {animals, plants, dogs, trees, puppies, oaks}: every label has a true parent.
    every = hbgl(ModelSettings(loss_reduction=reduction))  # type: ignore[arg-type]
    torch.testing.assert_close(losses[1], every.losses(states, gold_of(*DOCUMENTS))[1])
    assert isinstance(method, HBGL)
