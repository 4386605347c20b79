"""The two streams equal the long masked sequence through the plain Hugging Face model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from hbgl.attention import label_training_mask
from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.model import HBGL
from hbgl.settings import PRESETS, ModelSettings
from hbgl.taxonomy import Taxonomy
from tests.long_sequence import long_prediction, long_training_states
from tests.small_corpus import deciding
from tests.tiny import tiny_backbone

FAMILIES = ["bert", "roberta", "electra", "distilbert", "mpnet"]


def random_taxonomy(random: np.random.Generator, labels: int, parents: int) -> Taxonomy:
    """A random tree (``parents`` 1) or DAG, of at most five levels."""
    depth = {"Root": 0}
    edges = []
    for number in range(labels):
        name = f"label {number}"
        known = [node for node, level in depth.items() if level < 5]
        count = min(len(known), 1 + int(random.integers(parents)))
        chosen = [known[i] for i in random.choice(len(known), size=count, replace=False)]
        if "Root" in chosen:
            chosen = ["Root"]
        edges += [(parent, name) for parent in chosen]
        depth[name] = 1 + max(depth[parent] for parent in chosen)
    return Taxonomy.from_edges(edges)


def random_batch(random: np.random.Generator, taxonomy: Taxonomy, documents: int) -> Batch:
    """Padded texts; label sets closed under ancestors, some empty, some with an empty level."""
    lengths = random.integers(2, 12, size=documents)
    ids = random.integers(10, 100, size=(documents, lengths.max()))
    gold = np.zeros((documents, len(taxonomy)), dtype=bool)
    for row in range(documents):
        picked = random.integers(len(taxonomy), size=random.integers(0, 4))
        gold[row, taxonomy.closure(picked.tolist())] = True
    gold[-1, taxonomy.level_slice(1)] = False
    return Batch(torch.from_numpy(ids), torch.from_numpy(lengths), torch.from_numpy(gold))


def tiny_method(
    family: str, seed: int, settings: ModelSettings, parents: int
) -> tuple[Backbone, HBGL, Batch]:
    random = np.random.default_rng(seed)
    taxonomy = random_taxonomy(random, labels=12, parents=parents)
    backbone = tiny_backbone(family, seed=seed, with_transform=settings.head == "transform")
    vectors = torch.from_numpy(random.normal(0, 0.3, (len(taxonomy), 16)).astype(np.float32))
    method = HBGL(backbone, taxonomy, settings, vectors).eval()
    if method.label_bias is not None:
        torch.nn.init.normal_(method.label_bias)
    return backbone, method, random_batch(random, taxonomy, documents=4)


@pytest.mark.parametrize("parents", [1, 3], ids=["tree", "dag"])
@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("family", FAMILIES)
def test_training_equals_the_long_sequence(family: str, preset: str, parents: int) -> None:
    for seed in range(3):
        backbone, method, batch = tiny_method(family, seed, PRESETS[preset].model, parents)
        with torch.no_grad():
            states = method.training_states(batch)
            expected = long_training_states(backbone, method, batch)
            torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(
                method.logits(states), method.logits(expected), atol=1e-5, rtol=1e-5
            )


@pytest.mark.parametrize("parents", [1, 3], ids=["tree", "dag"])
@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_prediction_step_equals_the_long_sequence(
    family: str, preset: str, parents: int
) -> None:
    """With the presets' own step functions: probabilities of all labels and the choices made."""
    for seed in range(3):
        backbone, method, batch = tiny_method(family, seed, PRESETS[preset].model, parents)
        decoded = method.predict(batch, deciding(taxonomy=method.taxonomy))
        with torch.no_grad():
            probabilities, chosen = long_prediction(backbone, method, batch, 0.5)
        torch.testing.assert_close(decoded.probabilities, probabilities, atol=1e-5, rtol=1e-5)
        assert torch.equal(decoded.chosen, chosen)


@pytest.mark.parametrize("tokens", [1, 20, 30])
@pytest.mark.parametrize("family", FAMILIES)
def test_texts_read_in_parts_answer_alike(
    monkeypatch: pytest.MonkeyPatch, family: str, tokens: int
) -> None:
    """Whatever the order of lengths; MPNet has a pass of its own for the first level."""
    _, method, _ = tiny_method(family, 5, ModelSettings(), 1)
    batch = random_batch(np.random.default_rng(5), method.taxonomy, documents=9)
    decider = deciding(taxonomy=method.taxonomy)
    whole = method.predict(batch, decider)
    monkeypatch.setattr("hbgl.text_memory.forward_tokens", lambda _: tokens)
    with torch.inference_mode():
        memory = method.encoder.encode_text(method.look_up(batch)[0], batch.lengths)
    covered = [row for piece in memory.pieces for row in range(9)[piece.rows]]
    assert covered == list(range(9))
    assert len(memory.pieces) > 2
    parts = method.predict(batch, decider)
    torch.testing.assert_close(parts.scores, whole.scores, atol=1e-5, rtol=1e-5)
    assert torch.equal(parts.chosen, whole.chosen)


def test_the_guest_is_hidden_by_a_mask_where_attention_does_not_hide_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a GPU, where lengths are not read back: padding and guest are in one mask."""
    for seed in range(3):
        _, method, batch = tiny_method("bert", seed, ModelSettings(), 1)
        decider = deciding(taxonomy=method.taxonomy)
        expected = method.predict(batch, decider)
        with monkeypatch.context() as patch:
            patch.setattr("hbgl.encoder.TwoStreamEncoder.known_lengths", lambda *_: None)
            found = method.predict(batch, decider)
        torch.testing.assert_close(found.scores, expected.scores, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_equal_those_of_the_long_sequence(family: str) -> None:
    backbone, method, batch = tiny_method(family, 0, ModelSettings(teacher_masking=0.0), 1)
    gradients = []
    for states in (
        method.training_states(batch),
        long_training_states(backbone, method, batch),
    ):
        method.zero_grad()
        assert batch.gold is not None
        torch.autograd.backward(method.losses(states, batch.gold).mean())
        gradients.append(
            {
                name: torch.zeros_like(one) if one.grad is None else one.grad.clone()
                for name, one in method.named_parameters()
            }
        )
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], atol=1e-5, rtol=1e-4), name


def test_padding_changes_nothing() -> None:
    _, method, batch = tiny_method("bert", 1, ModelSettings(), 1)
    wider = Batch(torch.nn.functional.pad(batch.ids, (0, 7)), batch.lengths, batch.gold)
    with torch.no_grad():
        torch.testing.assert_close(method.training_states(batch), method.training_states(wider))


def test_a_later_level_leaves_earlier_logits_unchanged() -> None:
    _, method, batch = tiny_method("bert", 2, ModelSettings(teacher_masking=0.0), 1)
    assert batch.gold is not None
    with torch.no_grad():
        before = method.training_states(batch)
        for level, columns in enumerate(method.slices):
            gold = batch.gold.clone()
            gold[:, columns] = ~gold[:, columns]
            after = method.training_states(dataclasses.replace(batch, gold=gold))
            assert torch.equal(before[:, : level + 1], after[:, : level + 1])
            if level + 1 < method.levels:
                assert not torch.allclose(before[:, level + 1], after[:, level + 1])


def test_text_and_masked_levels_are_seen_by_nobody_they_must_not_reach() -> None:
    """A masked level's own input moves only its own state (m_h is nobody's key but its own)."""
    _, method, batch = tiny_method("bert", 3, ModelSettings(), 1)
    encoder, levels = method.encoder, method.levels
    with torch.no_grad():
        memory = encoder.encode_text(encoder.parts.word_embeddings(batch.ids), batch.lengths)
        vectors = torch.randn(len(batch.ids), 2 * levels, 16)
        offsets = torch.arange(levels).repeat(2)
        mask = label_training_mask(levels)
        before, _ = encoder.encode_labels(memory, vectors, offsets, mask)
        for level in range(levels):
            changed = vectors.clone()
            changed[:, levels + level] += 1.0
            after, _ = encoder.encode_labels(memory, changed, offsets, mask)
            moved = (before != after).any(dim=2).any(dim=0).nonzero().flatten().tolist()
            assert moved == [levels + level]
