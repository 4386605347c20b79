"""Mask ratios, masks, and the targets of the global stage against matrices written by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from hbgl.label_embeddings import draw_masks, global_targets, mask_ratio
from hbgl.label_embeddings.masking import MaskedRows, leaf_groups
from hbgl.settings import GlobalStage
from hbgl.taxonomy import Taxonomy
from tests.label_embeddings.encoders import random_taxonomy
from tests.test_attention import eight_labels, matrix


def dense_targets(taxonomy: Taxonomy, masked: list[str]) -> np.ndarray:
    """The targets of all masked rows as a matrix [M, L]."""
    mask = torch.zeros(len(taxonomy), dtype=torch.bool)
    mask[torch.from_numpy(taxonomy.ids(masked).astype(np.int64))] = True
    labels, rows, columns = global_targets(taxonomy, mask)
    assert labels.tolist() == mask.nonzero()[:, 0].tolist()
    targets = np.zeros((len(labels), len(taxonomy)), dtype=int)
    np.add.at(targets, (rows.numpy(), columns.numpy()), 1)
    assert targets.max() == 1  # no pair twice
    return targets.astype(bool)


def test_targets_of_masked_siblings() -> None:
    """Masked a, c, e, f, deep: leaves e, f, deep share c; a and c are inner and stand alone."""
    expected = matrix(
        #       a b c m d e f deep
        "1 0 0 0 0 0 0 0",  # a
        "0 0 1 0 0 0 0 0",  # c
        "0 0 0 0 0 1 1 1",  # e
        "0 0 0 0 0 1 1 1",  # f
        "0 0 0 0 0 1 1 1",  # deep
    )
    assert (dense_targets(eight_labels(), ["a", "c", "e", "f", "deep"]) == expected).all()


def test_unmasked_siblings_are_no_targets() -> None:
    """Masked mixed, d, f: mixed is inner; d and f are leaves, but of different parents."""
    expected = matrix("0 0 0 1 0 0 0 0", "0 0 0 0 1 0 0 0", "0 0 0 0 0 0 1 0")
    assert (dense_targets(eight_labels(), ["mixed", "d", "f"]) == expected).all()


def test_any_shared_parent_makes_siblings_but_siblings_of_siblings_are_none() -> None:
    """x under p, xy under p and q, y under q: x and y share nobody, both share one with xy."""
    edges = [("p", "x"), ("p", "xy"), ("q", "xy"), ("q", "y")]
    taxonomy = Taxonomy.from_edges([("Root", "p"), ("Root", "q"), *edges])
    assert taxonomy.labels == ("p", "q", "x", "xy", "y")
    expected = matrix("0 0 1 1 0", "0 0 1 1 1", "0 0 0 1 1")
    assert (dense_targets(taxonomy, ["x", "xy", "y"]) == expected).all()


def test_leaves_that_are_roots_share_the_virtual_root() -> None:
    """Root > flat, lone, tree; tree > x. flat and lone are siblings; x is alone under tree."""
    edges = [("Root", "flat"), ("Root", "lone"), ("Root", "tree"), ("tree", "x")]
    taxonomy = Taxonomy.from_edges(edges)
    expected = matrix("1 1 0 0", "1 1 0 0", "0 0 1 0", "0 0 0 1")
    assert (dense_targets(taxonomy, ["flat", "lone", "tree", "x"]) == expected).all()


@pytest.mark.parametrize("parents", [1, 3], ids=["tree", "dag"])
def test_targets_equal_the_rule_spelled_out(parents: int) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        taxonomy = random_taxonomy(random, labels=30, parents=parents)
        masked = np.flatnonzero(random.random(30) < 0.6)
        leaves = set(taxonomy.leaves.tolist())
        above = [set(taxonomy.parents(i).tolist()) or {-1} for i in range(30)]
        expected = [
            [
                i == j or (j in masked and {i, j} <= leaves and bool(above[i] & above[j]))
                for j in range(30)
            ]
            for i in masked
        ]
        found = dense_targets(taxonomy, [taxonomy.labels[i] for i in masked])
        assert (found == np.array(expected)).all()


def test_rows_stand_for_all_masked_leaves_of_a_group() -> None:
    """Masked a, e, f, deep: e and f have the same parents (c), deep has c and mixed."""
    taxonomy = eight_labels()
    masks = np.zeros((2, 8), dtype=bool)
    masks[0, taxonomy.ids(["a", "e", "f", "deep"])] = True
    masks[1, taxonomy.ids(["f"])] = True
    rows = MaskedRows.of(leaf_groups(taxonomy), masks)
    assert rows.mask.tolist() == [0, 0, 0, 1]
    assert [taxonomy.labels[i] for i in rows.label] == ["a", "e", "deep", "f"]
    assert rows.weight.tolist() == [1, 2, 1, 1]
    assert rows.target_row.tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    assert rows.target_label.tolist() == [0, 5, 6, 7, 5, 6, 7, 6]


def test_mask_ratio_is_linear() -> None:
    """Three steps from 0.15 to 0.45: 0.15, 0.30, 0.45."""
    settings = GlobalStage(steps=3)
    assert [mask_ratio(settings, step) for step in range(3)] == pytest.approx([0.15, 0.3, 0.45])
    assert mask_ratio(GlobalStage(steps=1), 0) == pytest.approx(0.15)


def test_masks_hide_the_share_and_depend_on_seed_and_step_only() -> None:
    """40 labels, 0.15 of them: 6 in each of the 8 masks."""
    settings = GlobalStage(steps=3)
    masks = draw_masks(40, settings, seed=7, step=0)
    assert masks.shape == (8, 40)
    assert masks.sum(axis=1).tolist() == [6] * 8
    assert len({mask.tobytes() for mask in masks}) == 8
    torch.manual_seed(99)
    assert (draw_masks(40, settings, seed=7, step=0) == masks).all()
    assert not (draw_masks(40, settings, seed=8, step=0) == masks).all()
    assert not (draw_masks(40, dataclasses.replace(settings, steps=9), 7, 1)[:, :40] == masks).all()


@pytest.mark.parametrize("labels", [1, 2, 3])
def test_at_least_one_label_is_masked(labels: int) -> None:
    masks = draw_masks(labels, GlobalStage(), seed=0, step=0)
    assert (masks.sum(axis=1) == 1).all()
