"""Schedule, optimiser groups and randomness."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from hbgl.model import HBGL
from hbgl.optimization import (
    build_optimizer,
    learning_rate_factor,
    seed_step,
    set_learning_rate,
    total_steps,
)
from hbgl.settings import ModelSettings, TrainingSettings
from tests.small_corpus import TAXONOMY
from tests.tiny import FAMILIES, tiny_backbone


@pytest.mark.parametrize(
    ("batches", "epochs", "expected"),
    [(10, 3.0, 30), (10, 0.25, 3), (10, 0.01, 1), (1, 0.5, 1), (10, 1.1, 11), (100, 1.15, 115)],
)
def test_steps_of_a_run(batches: int, epochs: float, expected: int) -> None:
    """10 batches, a quarter epoch: 2.5 steps, so 3; 10 * 1.1 is 11, whatever floats say."""
    assert total_steps(batches, epochs) == expected


def test_linear_warm_up_and_decay() -> None:
    """20 steps, 10% warm-up: 1/2, 1, then (20 - step) / 18: step 2 is 1, 11 is 1/2, 19 is 1/18."""
    settings = TrainingSettings(warmup=0.1)
    factors = [learning_rate_factor(step, 20, settings) for step in range(20)]
    assert factors[:4] == [0.5, 1.0, 1.0, 17 / 18]
    assert factors[11] == 0.5
    assert factors[19] == 1 / 18


def test_constant_after_warm_up_in_steps() -> None:
    """Warm-up 4: a quarter, a half, three quarters, all; and so on."""
    settings = TrainingSettings(warmup=4, schedule="constant")
    factors = [learning_rate_factor(step, 6, settings) for step in range(6)]
    assert factors == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_a_run_shorter_than_its_warm_up_only_warms_up() -> None:
    settings = TrainingSettings(warmup=500)
    assert [learning_rate_factor(step, 2, settings) for step in (0, 1)] == [1 / 500, 2 / 500]


@given(st.integers(1, 60), st.floats(0, 80), st.sampled_from(["linear", "constant"]))
def test_the_rate_never_exceeds_its_peak_and_never_vanishes(
    total: int, warmup: float, schedule: Any
) -> None:
    """Up, then down; a warm-up of a broken number of steps does not overshoot."""
    settings = TrainingSettings(warmup=warmup, schedule=schedule)
    factors = [learning_rate_factor(step, total, settings) for step in range(total)]
    assert all(0 < factor <= 1 for factor in factors)
    top = factors.index(max(factors))
    assert factors[:top] == sorted(factors[:top])
    assert factors[top:] == sorted(factors[top:], reverse=True)


def hbgl() -> HBGL:
    return HBGL(tiny_backbone(), TAXONOMY, ModelSettings(), torch.zeros(len(TAXONOMY), 16))


def test_every_parameter_is_in_one_group() -> None:
    """Matrices decay, vectors do not; label vectors and biases may have a rate of their own."""
    model = hbgl()
    settings = TrainingSettings(label_learning_rate=1e-2, weight_decay=0.1, learning_rate=1e-3)
    groups = build_optimizer(model, model.label_parameters(), settings).param_groups
    found = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(found) == sorted(id(one) for one in model.parameters())
    assert [(group["peak_lr"], group["weight_decay"]) for group in groups] == [
        (1e-3, 0.1),
        (1e-3, 0.0),
        (1e-2, 0.1),
        (1e-2, 0.0),
    ]
    assert all(one.ndim >= 2 for one in groups[0]["params"])
    assert all(one.ndim == 1 for one in groups[1]["params"])
    assert groups[2]["params"] == [model.label_vectors]
    assert groups[3]["params"] == [model.label_bias]


@pytest.mark.parametrize("family", FAMILIES)
def test_layer_decay_by_hand(family: str) -> None:
    """Rate 1e-3, decay 1/2, two layers: 1e-3 and 5e-4, embeddings 2.5e-4; the head 1e-3 and label
    parameters 1e-2 as they were.
    """
    backbone = tiny_backbone(family, with_transform=True)
    model = HBGL(backbone, TAXONOMY, ModelSettings(head="transform"), torch.zeros(8, 16))
    settings = TrainingSettings(label_learning_rate=1e-2, learning_rate=1e-3, layer_decay=0.5)
    by_depth = model.encoder.parameters_by_depth()
    optimizer = build_optimizer(model, model.label_parameters(), settings, by_depth)
    groups = optimizer.param_groups
    rates = {id(one): group["peak_lr"] for group in groups for one in group["params"]}
    decays = {id(one): group["weight_decay"] for group in groups for one in group["params"]}
    assert sum(len(group["params"]) for group in groups) == len(rates)
    assert rates.keys() == {id(one) for one in model.parameters()}
    for name, one in model.named_parameters():
        if name.startswith(("label_", "transform")):
            expected = 1e-2 if name.startswith("label_") else 1e-3
        elif ".layer.1." in name:
            expected = 1e-3
        else:
            expected = 5e-4 if ".layer.0." in name else 2.5e-4
        assert rates[id(one)] == expected, name
        assert decays[id(one)] == (0.01 if one.ndim >= 2 else 0.0)
    assert groups[0]["peak_lr"] == 1e-3  # what the learning curve shows
    set_learning_rate(optimizer, 0.5)
    assert rates[id(model.label_vectors)] == 1e-2
    assert optimizer.param_groups[-1]["lr"] == 5e-3


def test_without_layer_decay_nothing_changes() -> None:
    """The groups, and so the checkpoints, are those of before."""
    model = hbgl()
    by_depth = model.encoder.parameters_by_depth()
    one, other = (
        build_optimizer(model, model.label_parameters(), TrainingSettings(), depth).param_groups
        for depth in ([], by_depth)
    )
    assert [group["params"] for group in one] == [group["params"] for group in other]
    assert len(one) == 4


def test_adam_does_not_decay() -> None:
    model = hbgl()
    settings = TrainingSettings(optimizer="adam", weight_decay=0.1)
    optimizer = build_optimizer(model, model.label_parameters(), settings)
    assert type(optimizer) is torch.optim.Adam
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.0}
    decaying = build_optimizer(model, model.label_parameters(), TrainingSettings())
    assert type(decaying) is torch.optim.AdamW


def test_frozen_parameters_are_left_out() -> None:
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    groups = build_optimizer(model, [], TrainingSettings()).param_groups
    assert [len(group["params"]) for group in groups] == [1]


def test_the_rate_of_every_group_is_scaled_from_its_peak() -> None:
    model = hbgl()
    settings = TrainingSettings(label_learning_rate=1e-2, learning_rate=1e-3)
    optimizer = build_optimizer(model, model.label_parameters(), settings)
    set_learning_rate(optimizer, 0.5)
    set_learning_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [2.5e-4, 2.5e-4, 2.5e-3, 2.5e-3]


def drawn(seed: int, step: int, process: int) -> float:
    seed_step(seed, step, process)
    return float(torch.rand(()))


def test_a_steps_randomness_is_a_function_of_seed_step_and_process() -> None:
    torch.rand(7)
    assert drawn(1, 2, 3) == drawn(1, 2, 3)
    several = {
        drawn(seed, step, process) for seed in (0, 1) for step in (0, 1) for process in (0, 1)
    }
    assert len(several) == 8


def test_any_seed_can_be_used() -> None:
    """torch takes 64 bits; a user's seed times steps times processes may have more."""
    assert drawn(2**63, 10**7, 1000) == drawn(2**63, 10**7, 1000)
    assert drawn(2**63, 0, 0) != drawn(2**63 + 1, 0, 0)
