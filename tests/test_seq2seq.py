"""Labels one by one: against the long masked sequence, in scores, in learning, in a folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from hbgl.backbones import Backbone
from hbgl.batching import Batch
from hbgl.decisions import Decision
from hbgl.errors import BackboneError, UsageError
from hbgl.explanation import explain
from hbgl.exporting import export_model
from hbgl.methods import build_method
from hbgl.methods.seq2seq import LabelSequences, Seq2Seq
from hbgl.settings import ModelSettings, Settings, TrainingSettings
from hbgl.trained_model import TrainedModel
from hbgl.training import fit
from tests.long_sequence import long_states
from tests.small_corpus import EIGHT, TAXONOMY, deciding, eight_records, labelled, random_records
from tests.test_two_streams import random_batch, random_taxonomy
from tests.tiny import FAMILIES, tiny_backbone

PLAIN = ModelSettings(method="seq2seq", teacher_masking=0.0)
VARIANTS = {
    "plain": PLAIN,
    "transform": dataclasses.replace(PLAIN, head="transform", label_bias=False),
}


def tiny_method(
    family: str = "bert", seed: int = 0, settings: ModelSettings = PLAIN, parents: int = 1
) -> tuple[Backbone, Seq2Seq, Batch]:
    """Twelve labels; four texts of different lengths with different numbers of labels."""
    random = np.random.default_rng(seed)
    taxonomy = random_taxonomy(random, labels=12, parents=parents)
    backbone = tiny_backbone(family, seed=seed, with_transform=settings.head == "transform")
    vectors = torch.from_numpy(random.normal(0, 0.3, (len(taxonomy), 16)).astype(np.float32))
    method = Seq2Seq(backbone, taxonomy, settings, vectors).eval()
    if method.label_bias is not None:
        with torch.no_grad():
            method.label_bias.copy_(torch.from_numpy(random.normal(0, 2, 13)))
    batch = random_batch(random, taxonomy, documents=4)
    assert batch.gold is not None
    assert len(set(batch.gold.sum(dim=1).tolist())) > 1
    return backbone, method, batch


def long_logits(
    backbone: Backbone, method: Seq2Seq, batch: Batch, classes: torch.Tensor
) -> torch.Tensor:
    """[B, S, C] from ``[text][y_1 .. y_S][m_1 .. m_S]`` in one pass of the Hugging Face model."""
    words = torch.as_tensor(backbone.model.get_input_embeddings().weight)
    mask, sep = words[backbone.mask_id], words[backbone.sep_id]
    table = torch.cat([method.label_vectors, sep[None]])
    known = table[classes]
    states = long_states(backbone, batch, torch.cat([known, mask.expand_as(known)], dim=1))
    states = states[:, classes.shape[1] :]
    if method.transform is not None:
        states = method.transform(states)
    logits = states @ table.T
    return logits if method.label_bias is None else logits + method.label_bias


def recorded_logits(method: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """What ``logits`` returns from now on, call by call."""
    found: list[torch.Tensor] = []
    plain = method.logits

    def logits(states: torch.Tensor, sep: torch.Tensor) -> torch.Tensor:
        found.append(plain(states, sep).clone())
        return found[-1]

    monkeypatch.setattr(method, "logits", logits)
    return found


# ---------------------------------------------------------------------- training


def test_sequences_by_hand() -> None:
    """Four labels; documents with {1, 3}, {} and all four. The end is class 4.
    With three places at most, the last document has its first three labels and no end.
    """
    gold = torch.tensor([[0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]).bool()
    found = LabelSequences.of(gold, most=32)
    assert found.classes.tolist() == [[1, 3, 4, 4, 4], [4, 4, 4, 4, 4], [0, 1, 2, 3, 4]]
    assert found.counted.sum(dim=1).tolist() == [3, 1, 5]
    assert found.counted[0].tolist() == [True, True, True, False, False]
    short = LabelSequences.of(gold, most=3)
    assert short.classes.tolist() == [[1, 3, 4], [4, 4, 4], [0, 1, 2]]
    assert short.counted.sum(dim=1).tolist() == [3, 1, 3]


def test_labels_come_by_level_and_within_it_in_taxonomy_order() -> None:
    gold = torch.from_numpy(np.isin(TAXONOMY.labels, ["oaks", "plants", "animals", "trees"]))
    found = LabelSequences.of(gold[None], most=32).classes[0].tolist()
    names = [TAXONOMY.labels[i] for i in found[:-1]]
    assert names == ["animals", "plants", "trees", "oaks"]
    assert found[-1] == len(TAXONOMY)


@pytest.mark.parametrize("parents", [1, 3], ids=["tree", "dag"])
@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("family", FAMILIES)
def test_training_equals_the_long_sequence(family: str, variant: str, parents: int) -> None:
    for seed in range(3):
        backbone, method, batch = tiny_method(family, seed, VARIANTS[variant], parents)
        assert batch.gold is not None
        sequences = LabelSequences.of(batch.gold, method.most_labels)
        with torch.no_grad():
            logits = method.logits(*method.training_states(batch, sequences))
            expected = long_logits(backbone, method, batch, sequences.classes)
            torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
            losses = [
                -sum(
                    row[place].log_softmax(0)[one]
                    for place, one in enumerate([*labels.nonzero().flatten().tolist(), 12])
                )
                for row, labels in zip(expected, batch.gold, strict=True)
            ]
            loss = torch.stack([torch.as_tensor(one) for one in losses]).mean()
            torch.testing.assert_close(method(batch), loss, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_equal_those_of_the_long_sequence(family: str) -> None:
    backbone, method, batch = tiny_method(family)
    assert batch.gold is not None
    sequences = LabelSequences.of(batch.gold, method.most_labels)
    logits = long_logits(backbone, method, batch, sequences.classes)
    counted = sequences.counted
    expected = functional.cross_entropy(
        logits[counted], sequences.classes[counted], reduction="sum"
    ) / len(counted)
    gradients = []
    for loss in (method(batch), expected):
        method.zero_grad()
        torch.autograd.backward(loss)
        gradients.append(
            {name: one.grad for name, one in method.named_parameters() if one.grad is not None}
        )
    assert gradients[0].keys() <= gradients[1].keys()
    assert {"label_vectors", "label_bias"} <= gradients[0].keys()
    for name, other in gradients[1].items():
        one = gradients[0].get(name, torch.zeros_like(other))
        assert torch.allclose(one, other, atol=1e-5, rtol=1e-4), name


def test_reduction_weights_and_documents_of_a_batch() -> None:
    """Each document's loss is what it is alone: its mean over its places, or its sum; weighted."""
    _, method, batch = tiny_method()
    assert batch.gold is not None
    rows = [
        Batch(batch.ids[i : i + 1, : batch.lengths[i]], batch.lengths[i : i + 1], gold[None])
        for i, gold in enumerate(batch.gold)
    ]
    with torch.no_grad():
        alone = torch.stack([method(row) for row in rows])
        torch.testing.assert_close(method(batch), alone.mean())
        weights = torch.tensor([0.0, 1.0, 2.0, 1.0])
        weighted = dataclasses.replace(batch, weights=weights)
        torch.testing.assert_close(method(weighted), (alone * weights).mean())
        method.settings = dataclasses.replace(PLAIN, loss_reduction="mean")
        places = batch.gold.sum(dim=1) + 1
        torch.testing.assert_close(method(batch), (alone / places).mean())


def test_teacher_masking_and_detached_inputs() -> None:
    """At 1 every known label is [MASK] in training, and nothing in evaluation; without the
    gradient of the input only the head moves the vectors.
    """
    _, method, batch = tiny_method(settings=dataclasses.replace(PLAIN, teacher_masking=1.0))
    assert batch.gold is not None
    classes = LabelSequences.of(batch.gold, 12).classes
    mask, sep = torch.full((16,), 7.0), torch.full((16,), 8.0)
    known = method.train().teacher_inputs(classes, mask, sep)
    assert torch.equal(known, mask.expand_as(known))
    known = method.eval().teacher_inputs(classes, mask, sep)
    assert torch.equal(known[classes == 12], sep.expand_as(known[classes == 12]))
    assert torch.equal(known[classes < 12], method.label_vectors[classes[classes < 12]])
    assert known.requires_grad
    method.settings = dataclasses.replace(PLAIN, input_gradient=False)
    assert not method.teacher_inputs(classes, mask, sep).requires_grad


# ---------------------------------------------------------------------- generation


@pytest.mark.parametrize("parents", [1, 3], ids=["tree", "dag"])
@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_step_equals_a_new_long_sequence(
    family: str, variant: str, parents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logits of all classes, and from them by the plain rule the next label of each document."""
    steps_taken = set()
    for seed in range(3):
        backbone, method, batch = tiny_method(family, seed, VARIANTS[variant], parents)
        found = recorded_logits(method, monkeypatch)
        generated = method.generate(batch).classes
        steps_taken.add(len(found))
        known: list[list[int]] = [[] for _ in batch.ids]
        for step, logits in enumerate(found):
            classes = torch.full((len(batch.ids), step + 1), 12)
            for row, labels in enumerate(known):
                ended = labels[: labels.index(12)] if 12 in labels else labels
                classes[row, : len(ended)] = torch.tensor(ended, dtype=torch.long)
            with torch.no_grad():
                expected = long_logits(backbone, method, batch, classes)[:, step]
            torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
            for row, labels in enumerate(known):
                scores = expected[row].clone()
                scores[[one for one in labels if one != 12]] = -torch.inf
                labels.append(12 if 12 in labels else int(scores.argmax()))
        padded = [labels + [12] * (12 - len(labels)) for labels in known]
        assert generated.tolist() == padded
    assert max(steps_taken) > 2


def test_a_document_is_answered_alone_as_in_a_batch() -> None:
    """Other texts in the batch, their padding and their going on longer change nothing."""
    _, method, batch = tiny_method(seed=2)
    together = method.generate(batch)
    for row, length in enumerate(batch.lengths.tolist()):
        alone = method.generate(Batch(batch.ids[row : row + 1, :length], torch.tensor([length])))
        assert torch.equal(alone.classes[0], together.classes[row])
        torch.testing.assert_close(alone.scores[0], together.scores[row], atol=1e-5, rtol=1e-5)


def in_steps(monkeypatch: pytest.MonkeyPatch, *steps: list[float], most: int = 32) -> Seq2Seq:
    """A model of eight labels whose logits are given, the same for all documents."""
    settings = dataclasses.replace(PLAIN, most_generated=most)
    method = Seq2Seq(tiny_backbone(), TAXONOMY, settings, torch.zeros(8, 16)).eval()
    left = [torch.tensor(step, dtype=torch.float32) for step in steps]
    monkeypatch.setattr(method, "logits", lambda states, _: left.pop(0).repeat(len(states), 1))
    return method


TEXT = Batch(torch.full((1, 3), 20), torch.tensor([3]))


def test_scores_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 1: label 0 leads by 2 over label 1, which misses it by 2; the end by 4.
    Step 2: label 0 is used; label 1 leads by 1 over label 2. Step 3: the end leads, label 2
    misses it by 3, more than the 1 that it missed label 1 by. The last logit is the end's.
    """
    method = in_steps(
        monkeypatch,
        [5, 3, 0, -9, -9, -9, -9, -9, 1],
        [9, 4, 3, -9, -9, -9, -9, -9, 1],
        [9, 9, 1, -9, -9, -9, -9, -9, 4],
    )
    found = method.generate(TEXT)
    assert found.classes[0].tolist() == [0, 1, 8, 8, 8, 8, 8, 8]
    assert found.scores[0].tolist() == [2, 1, -1, -13, -13, -13, -13, -13]


def test_equal_logits_keep_the_set_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two labels tie with each other and one with the end: what is generated has more than 0.5,
    what is not has no more.
    """
    tie = [3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0]
    method = in_steps(monkeypatch, *[tie] * 8)
    generated = method.generate(TEXT)
    method = in_steps(monkeypatch, *[tie] * 8)
    decoded = method.predict(TEXT, deciding())
    wanted = {one for one in generated.classes[0].tolist() if one != 8}
    assert set(decoded.chosen[0].nonzero().flatten().tolist()) == wanted


def test_no_label_twice_and_no_more_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end never comes: eight labels, each once; or the first three where three may be."""
    ahead = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, -9.0]
    found = in_steps(monkeypatch, *[ahead] * 8).generate(TEXT)
    assert found.classes[0].tolist() == list(range(8))
    assert (found.scores > 0).all()
    found = in_steps(monkeypatch, *[ahead] * 3, most=3).generate(TEXT)
    assert found.classes[0].tolist() == [0, 1, 2]
    assert (found.scores[0] > 0).tolist() == [True] * 3 + [False] * 5


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_the_papers_rule_gives_exactly_the_generated_set(family: str) -> None:
    sizes = set()
    for seed in range(6):
        _, method, batch = tiny_method(family, seed)
        generated = method.generate(batch)
        expected = torch.zeros(len(batch.ids), 13, dtype=torch.bool)
        expected.scatter_(1, generated.classes, True)
        decoded = method.predict(batch, deciding(taxonomy=method.taxonomy))
        assert torch.equal(decoded.chosen, expected[:, :12])
        assert torch.equal(decoded.scores, generated.scores)
        assert decoded.scores.isfinite().all()
        torch.testing.assert_close(decoded.probabilities, decoded.scores.sigmoid())
        sizes |= set(expected[:, :12].sum(dim=1).tolist())
    assert len(sizes) > 2


# ---------------------------------------------------------------------- the rest of the system


@pytest.fixture(scope="module")
def learned() -> TrainedModel:
    """The eight documents, learned by heart through the training loop."""
    torch.manual_seed(0)
    backbone = tiny_backbone()
    settings = Settings(
        model=ModelSettings(method="seq2seq", teacher_masking=0.2),
        training=TrainingSettings(
            steps=250,
            batch_size=8,
            learning_rate=5e-3,
            precision="float32",
            hidden_dropout=0.0,
            schedule="constant",
        ),
    )
    method = build_method(backbone, TAXONOMY, settings.model, torch.randn(8, 16) * 0.3)
    corpus = labelled(eight_records(), backbone)
    result = fit(method, corpus, None, settings.training)
    assert result.losses[-1][1] < result.losses[0][1] / 20
    return TrainedModel(TAXONOMY, settings, backbone, method.eval(), Decision.of_paper(8))


def test_it_learns_eight_documents(learned: TrainedModel) -> None:
    scores = learned.evaluate(eight_records())
    assert (scores.micro_f1, scores.exact_match) == (1.0, 1.0)
    answers = learned.predict([text for text, _ in EIGHT])
    assert answers[2].paths == (("animals", "dogs", "puppies"),)
    assert answers[7].labels == ()


def test_a_loaded_model_answers_the_same(learned: TrainedModel, tmp_path: Path) -> None:
    texts = [record.text for record in random_records(30, seed=4)]
    learned.save(tmp_path / "model")
    again = TrainedModel.load(tmp_path / "model", device="cpu")
    assert isinstance(again.method, Seq2Seq)
    assert np.array_equal(again.predict_proba(texts), learned.predict_proba(texts))
    assert again.predict(texts, everything=True) == learned.predict(texts, everything=True)


def test_it_can_be_tuned_and_assessed(learned: TrainedModel) -> None:
    """Calibration and thresholds are fitted on its scores; every rule answers."""
    model = dataclasses.replace(learned)
    records = random_records(40, seed=2) + eight_records()
    before = model.evaluate(records)
    model.tune(records)
    assert model.evaluate(records).micro_f1 >= before.micro_f1
    rules: tuple[Any, ...] = ("paper", "closed", "coherent", "backoff", "leaf")
    for rule in rules:
        decision = model.decision.changed(TAXONOMY, rule=rule)
        assert model.assess(records, decision=decision).scores.documents == 48


def test_export_and_explanation_are_refused(learned: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="seq2seq cannot be explained"):
        explain(learned, "money bank")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")  # packages that are missing are named first
    with pytest.raises(UsageError, match="seq2seq cannot be exported"):
        export_model(learned, tmp_path / "export", "onnx")
    assert not (tmp_path / "export").exists()


def test_sizes() -> None:
    """64 positions: eight labels take eight of them, or as many as may be generated."""
    backbone, vectors = tiny_backbone(), torch.zeros(8, 16)

    def sized(**choices: Any) -> Seq2Seq:
        return Seq2Seq(backbone, TAXONOMY, dataclasses.replace(PLAIN, **choices), vectors)

    assert (sized().most_labels, sized().max_length) == (8, 56)
    assert (sized(most_generated=3).max_length, sized(max_length=9).max_length) == (61, 9)
    assert [tuple(one.shape) for one in sized().label_parameters()] == [(8, 16), (9,)]
    assert [tuple(one.shape) for one in sized(label_bias=False).label_parameters()] == [(8, 16)]
    with pytest.raises(BackboneError, match="8 generated labels leave no room for text"):
        Seq2Seq(tiny_backbone(max_positions=10), TAXONOMY, PLAIN, vectors)
    with pytest.raises(UsageError, match="training needs labels"):
        sized()(TEXT)


def test_the_longest_text_with_the_most_labels_fits() -> None:
    """56 tokens and eight labels: the last label stands at position 63, the last there is."""
    method = Seq2Seq(tiny_backbone(), TAXONOMY, PLAIN, torch.randn(8, 16))
    batch = Batch(torch.full((1, 56), 20), torch.tensor([56]), torch.ones(1, 8, dtype=torch.bool))
    assert torch.isfinite(method(batch))
    assert method.eval().generate(batch).scores.isfinite().all()
