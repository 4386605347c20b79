"""Counted operations, by hand and beside torch's own counter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hbgl.batching import Batch
from hbgl.bench.flops import EncoderShape, all_layers_flops, needed_flops
from hbgl.decisions import Decider, Decision
from hbgl.methods.multilabel import Multilabel
from hbgl.model import HBGL
from hbgl.settings import ModelSettings
from tests.small_corpus import TAXONOMY
from tests.tiny import tiny_backbone

SHAPE = EncoderShape(layers=2, width=16, inner=32)


def test_by_hand() -> None:
    """Two layers, d 4, i 8: a token takes 2 (4 16 + 2 32) = 256 in a layer, a key and value 64.

    A text of 3 tokens: 3 256 + 4 9 4 = 912 in the first layer, 3 64 = 192 in the last: 1104.
    flat: [CLS] in the last layer takes 256 - 64 + 4 3 4 = 240; 5 labels take 2 4 5 = 40.
    hbgl, two levels, each of two layers: m_1 sees 4 positions, u_1 sees 4, m_2 sees 5:
    3 256 + 4 (4 + 4 + 5) 4 = 976, and in the last layer u_1 has only its 64: 976 + 976 - 256 - 64
    + 64 = 1696. Training has the same positions at once (u_2 is seen by no masked level), and
    everything three times.
    """
    shape = EncoderShape(layers=2, width=4, inner=8)

    def needed(method: str, *, training: bool) -> int:
        return needed_flops(shape, [3], 2, 5, method=method, training=training)

    assert needed("flat", training=False) == 1104 + 240 + 40
    assert needed("hbgl", training=False) == 1104 + 1696 + 40
    assert needed("hbgl", training=True) == 3 * (1104 + 1696 + 40)
    assert all_layers_flops(shape, [3], training=False) == 2 * 912
    assert all_layers_flops(shape, [3, 3], training=True) == 3 * 2 * 2 * 912


@pytest.fixture
def batch() -> Batch:
    """Without padding."""
    gold = torch.zeros(4, len(TAXONOMY), dtype=torch.bool)
    return Batch(torch.randint(10, 100, (4, 9)), torch.full((4,), 9), gold)


def hbgl() -> HBGL:
    backbone = tiny_backbone(hidden=16, layers=2)
    vectors = torch.zeros(len(TAXONOMY), 16)
    return HBGL(backbone, TAXONOMY, ModelSettings(), vectors).eval()


def decider() -> Decider:
    half = np.full(len(TAXONOMY), 0.5, dtype=np.float32)
    return Decider(TAXONOMY, Decision(half), torch.device("cpu"))


def counted(counter: FlopCounterMode) -> int:
    return int(counter.get_total_flops())


def hidden(pairs: int) -> int:
    """Attention of pairs that the mask hides, in 2 layers and 4 documents, width 16."""
    return 4 * 2 * 4 * 16 * pairs


def needed(method: str, *, training: bool) -> int:
    return needed_flops(
        SHAPE, [9] * 4, TAXONOMY.depth, len(TAXONOMY), method=method, training=training
    )


def test_training_as_torch_counts_it(batch: Batch) -> None:
    """Torch also counts the sums of label vectors, 2 d per label and document, and the pairs of
    label positions that the mask hides. u_1, u_2 see 1 + 2 of them, m_1..m_3 1 + 2 + 3: 16 of 5 x 5
    pairs are hidden in the first of two layers, 9 of 3 x 5 in the last, which has only m_1..m_3.
    """
    model = hbgl()
    with FlopCounterMode(display=False) as counter:
        model(batch)
    sums = 4 * 2 * 16 * len(TAXONOMY)
    assert 3 * (counted(counter) - sums - hidden(16 + 9) // 2) == needed("hbgl", training=True)


def test_prediction_as_torch_counts_it(batch: Batch) -> None:
    """The sums again, but for the last level's, which nobody needs; u_1 and u_2 do not see the m
    beside them, in the first of the two layers. m_1, which goes along with the text, is hidden from
    9 tokens in the first layer, and in both from later levels: 2 and 1 positions of each.
    """
    model, decide = hbgl(), decider()
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model.predict(batch, decide)
    last = TAXONOMY.level_slice(TAXONOMY.depth)
    sums = 4 * 2 * 16 * last.start
    unseen = hidden(2) // 2 + hidden(9 + 2 * (2 + 1)) // 2
    assert counted(counter) - sums - unseen == needed("hbgl", training=False)


def test_flat_prediction_as_torch_counts_it(batch: Batch) -> None:
    model = Multilabel(tiny_backbone(hidden=16, layers=2), TAXONOMY, ModelSettings())
    decide = decider()
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model.eval().predict(batch, decide)
    assert counted(counter) == needed("flat", training=False)


def test_the_shape_of_an_encoder() -> None:
    assert EncoderShape.of(hbgl().encoder.parts) == SHAPE
