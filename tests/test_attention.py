"""Every mask against a matrix written by hand.

The taxonomy, eight labels, three levels, ``mixed`` and ``deep`` with two parents:

    level 1   a=0        b=1
    level 2   c=2  mixed=3  d=4        a > c, a > mixed, b > mixed, b > d
    level 3   e=5  f=6  deep=7         c > e, c > f, c > deep, mixed > deep
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hbgl.attention import (
    global_root_mask,
    global_self_mask,
    label_step_mask,
    label_training_mask,
    long_sequence_mask,
    text_mask,
)
from hbgl.taxonomy import Taxonomy


def eight_labels() -> Taxonomy:
    edges = "a c,a mixed,b mixed,b d,c e,c f,c deep,mixed deep"
    pairs = [(pair.split()[0], pair.split()[1]) for pair in edges.split(",")]
    return Taxonomy.from_edges([("Root", "a"), ("Root", "b"), *pairs])


def matrix(*rows: str) -> np.ndarray:
    return np.array([[cell == "1" for cell in row.replace(" ", "")] for row in rows])


def test_the_taxonomy_is_the_one_drawn() -> None:
    taxonomy = eight_labels()
    assert taxonomy.labels == ("a", "b", "c", "mixed", "d", "e", "f", "deep")
    assert taxonomy.levels.tolist() == [1, 1, 2, 2, 2, 3, 3, 3]


def test_global_self_mask() -> None:
    """A label sees itself, its parents, its children: deep sees c, mixed and deep."""
    expected = matrix(
        "1 0 1 1 0 0 0 0",  # a
        "0 1 0 1 1 0 0 0",  # b
        "1 0 1 0 0 1 1 1",  # c
        "1 1 0 1 0 0 0 1",  # mixed
        "0 1 0 0 1 0 0 0",  # d
        "0 0 1 0 0 1 0 0",  # e
        "0 0 1 0 0 0 1 0",  # f
        "0 0 1 1 0 0 0 1",  # deep
    )
    assert (global_self_mask(eight_labels()) == expected).all()


def test_global_root_mask() -> None:
    """Not itself; [CLS] (first) and level 1 see each other; [SEP] (last) sees itself."""
    expected = matrix(
        "1 1 1 0 0 0 0 0 0 0",  # [CLS]
        "1 0 0 1 1 0 0 0 0 0",  # a
        "1 0 0 0 1 1 0 0 0 0",  # b
        "0 1 0 0 0 0 1 1 1 0",  # c
        "0 1 1 0 0 0 0 0 1 0",  # mixed
        "0 0 1 0 0 0 0 0 0 0",  # d
        "0 0 0 1 0 0 0 0 0 0",  # e
        "0 0 0 1 0 0 0 0 0 0",  # f
        "0 0 0 1 1 0 0 0 0 0",  # deep
        "0 0 0 0 0 0 0 0 0 1",  # [SEP]
    )
    assert (global_root_mask(eight_labels()) == expected).all()


def test_label_training_mask() -> None:
    """Three levels, u_1 u_2 u_3 m_1 m_2 m_3: m_3 sees u_1, u_2 and itself."""
    expected = matrix(
        "1 0 0 0 0 0",
        "1 1 0 0 0 0",
        "1 1 1 0 0 0",
        "0 0 0 1 0 0",
        "1 0 0 0 1 0",
        "1 1 0 0 0 1",
    )
    assert (label_training_mask(eight_labels().depth).numpy() == expected).all()


def test_label_step_masks() -> None:
    """m_1 alone; then u_{h-1} and m_h over u_1 .. u_{h-1}, m_h."""
    assert (label_step_mask(1).numpy() == matrix("1")).all()
    assert (label_step_mask(2).numpy() == matrix("1 0", "1 1")).all()
    assert (label_step_mask(3).numpy() == matrix("1 1 0", "1 1 1")).all()


def test_text_mask() -> None:
    """Lengths 1 and 3 in a width of 3; nothing to mask where all are full."""
    mask = text_mask(torch.tensor([1, 3]), 3)
    assert mask is not None
    assert (mask.numpy() == matrix("1 0 0", "1 1 1")).all()
    assert text_mask(torch.tensor([3, 3]), 3) is None


def test_long_sequence_mask() -> None:
    """A text of length 2 padded to 3, two levels: t t . u_1 u_2 m_1 m_2."""
    expected = matrix(
        "1 1 0 0 0 0 0",
        "1 1 0 0 0 0 0",
        "1 1 0 0 0 0 0",
        "1 1 0 1 0 0 0",
        "1 1 0 1 1 0 0",
        "1 1 0 0 0 1 0",
        "1 1 0 1 0 0 1",
    )
    assert (long_sequence_mask(torch.tensor([2]), 3, 2)[0].numpy() == expected).all()


@pytest.mark.parametrize("make", [label_training_mask, label_step_mask])
def test_levels_start_at_one(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match="must be 1 or more, not 0"):
        make(0)
