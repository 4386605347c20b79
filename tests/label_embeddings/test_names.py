"""First label vectors from names, descriptions and parents."""

from __future__ import annotations

import pytest
import torch

from hbgl.backbones import Backbone
from hbgl.families import encoder_parts
from hbgl.label_embeddings import initial_vectors
from hbgl.taxonomy import Taxonomy
from tests.tiny import tiny_backbone

# c has two parents, d one: ids bank 0, money 1 | card 2 | pay 3
TAXONOMY = Taxonomy.from_edges(
    [("Root", "bank"), ("Root", "money"), ("bank", "card"), ("money", "card"), ("card", "pay")]
)


def mean_of(text: str, backbone: Backbone) -> torch.Tensor:
    table = encoder_parts(backbone.model).word_embeddings.weight.detach()
    return table[backbone.tokenizer.encode(text, add_special_tokens=False).ids].mean(dim=0)


def test_a_description_is_mixed_with_the_name() -> None:
    """0.75 of the name, 0.25 of the sentence's tokens; labels without one are their names."""
    backbone = tiny_backbone()
    vectors = initial_vectors(
        TAXONOMY,
        backbone,
        descriptions={"card": "money from the bank", "Root": "all"},
        description_weight=0.25,
    )
    names = torch.stack([mean_of(label, backbone) for label in TAXONOMY.labels])
    expected = 0.75 * names[2] + 0.25 * mean_of("money from the bank", backbone)
    torch.testing.assert_close(vectors[2], expected)
    torch.testing.assert_close(vectors[[0, 1, 3]], names[[0, 1, 3]])


def test_parents_are_mixed_in_down_the_levels() -> None:
    """0.4: card is 0.6 card + 0.2 bank + 0.2 money; pay is 0.6 pay + 0.4 of that."""
    backbone = tiny_backbone()
    names = torch.stack([mean_of(label, backbone) for label in TAXONOMY.labels])
    vectors = initial_vectors(TAXONOMY, backbone, parent_weight=0.4)
    torch.testing.assert_close(vectors[:2], names[:2])
    torch.testing.assert_close(vectors[2], 0.6 * names[2] + 0.2 * names[0] + 0.2 * names[1])
    torch.testing.assert_close(vectors[3], 0.6 * names[3] + 0.4 * vectors[2])


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_ends_of_the_weight(weight: float) -> None:
    """0: as without; 1: a label is described by its sentence alone."""
    backbone = tiny_backbone()
    sentences = {label: f"all about {label}" for label in TAXONOMY.labels}
    vectors = initial_vectors(TAXONOMY, backbone, descriptions=sentences, description_weight=weight)
    text = "all about pay" if weight else "pay"
    torch.testing.assert_close(vectors[3], mean_of(text, backbone))


def test_a_sentence_without_tokens_says_nothing() -> None:
    """As a name without tokens: the mean of the word-embedding table."""
    backbone = tiny_backbone()
    vectors = initial_vectors(
        TAXONOMY, backbone, descriptions={"pay": "\u200b"}, description_weight=1.0
    )
    table = encoder_parts(backbone.model).word_embeddings.weight.detach()
    torch.testing.assert_close(vectors[3], table.mean(dim=0))
