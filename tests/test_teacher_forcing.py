"""All masked levels at once: text and labels together as one after the other, u_S left out."""

from __future__ import annotations

import pytest
import torch

from hbgl.attention import label_training_mask
from hbgl.encoder import TwoStreamEncoder
from hbgl.precision import autocast
from hbgl.teacher_forcing import states_after_text, states_with_text
from tests.tiny import FAMILIES, tiny_backbone

LENGTHS = ([7, 4, 1], [5, 5, 5])


def inputs(encoder: TwoStreamEncoder, lengths: list[int], levels: int) -> list[torch.Tensor]:
    """Words [B, N, d], lengths, known levels [B, S, d] and [MASK] [d], gradients into all."""
    torch.manual_seed(levels)
    words = torch.randn(len(lengths), max(lengths), 16, requires_grad=True)
    known = torch.randn(len(lengths), levels, 16, requires_grad=True)
    return [words, torch.tensor(lengths), known, torch.randn(16, requires_grad=True)]


def gradients(encoder: TwoStreamEncoder, made: torch.Tensor) -> dict[str, torch.Tensor]:
    encoder.zero_grad()
    torch.autograd.backward((made * torch.linspace(-1, 1, 16)).sum())
    return {name: p.grad.clone() for name, p in encoder.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("lengths", LENGTHS, ids=["padded", "equal"])
@pytest.mark.parametrize("levels", [1, 2, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_three_ways_give_the_same_states_and_gradients(
    family: str, levels: int, lengths: list[int]
) -> None:
    """Together; labels after an encoded text; and with u_S and every state of the last layer."""
    encoder = TwoStreamEncoder(tiny_backbone(family).model).eval()
    found = []
    for way in range(3):
        words, sizes, known, mask = inputs(encoder, lengths, levels)
        if way == 0:
            made = states_with_text(encoder, words, sizes, known, mask)
        elif way == 1:
            made = states_after_text(encoder, encoder.encode_text(words, sizes), known, mask)
        else:
            states, _ = encoder.encode_labels(
                encoder.encode_text(words, sizes),
                torch.cat([known, mask.expand_as(known)], dim=1),
                torch.arange(levels).repeat(2),
                label_training_mask(levels),
            )
            made = states[:, levels:]
        assert made.shape == (len(lengths), levels, 16)
        grads = gradients(encoder, made)
        for name, leaf in (("mask", mask), ("words", words), ("known", known)):
            assert leaf.grad is not None
            grads[name] = leaf.grad
        found.append((made.detach(), grads))
    for states, grads in found[:2]:
        torch.testing.assert_close(states, found[2][0], atol=1e-5, rtol=1e-5)
        for name, one in found[2][1].items():
            if not name.endswith("key.bias"):  # rounding noise: nothing depends on it
                scale = max(float(one.abs().max()), 1.0)
                torch.testing.assert_close(
                    grads[name], one, atol=1e-5 * scale, rtol=1e-4, msg=f"{name} {family}"
                )


def test_the_last_known_level_is_used_by_nobody() -> None:
    encoder = TwoStreamEncoder(tiny_backbone().model).eval()
    words, lengths, known, mask = inputs(encoder, [6, 3], 3)
    before = states_with_text(encoder, words, lengths, known, mask)
    changed = known.detach().clone()
    changed[:, 2] *= -3.0
    assert torch.equal(states_with_text(encoder, words, lengths, changed, mask), before)
    changed[:, 1] *= -3.0
    after = states_with_text(encoder, words, lengths, changed, mask)
    assert torch.equal(after[:, :2], before[:, :2])
    assert not torch.allclose(after[:, 2], before[:, 2])


def test_together_also_in_bfloat16_and_with_dropout_in_training() -> None:
    """Dropout moves the states, inside attention, too; without it training computes the same."""
    encoder = TwoStreamEncoder(tiny_backbone().model).eval()
    words, lengths, known, mask = inputs(encoder, [6, 3], 3)
    exact = states_with_text(encoder, words, lengths, known, mask)
    with autocast("bfloat16", torch.device("cpu")):
        rounded = states_with_text(encoder, words, lengths, known, mask)
    assert rounded.dtype == torch.bfloat16
    assert float((rounded.float() - exact).detach().abs().mean()) < 0.05
    encoder.train()
    for attention, hidden, same in ((0.0, 0.0, True), (0.5, 0.0, False), (0.0, 0.5, False)):
        encoder.set_dropout(attention, hidden)
        made = states_with_text(encoder, words, lengths, known, mask)
        assert torch.allclose(made, exact, atol=1e-5) == same
