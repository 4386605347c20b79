"""Explanations: words and their tokens, integrated gradients, paths, and the deletion test."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import deletion
from hbgl.attention import label_step_mask
from hbgl.batching import collate, tokenize
from hbgl.corpora import open_corpus
from hbgl.decisions import Calibration, Decision, LevelMap
from hbgl.engines import Engine
from hbgl.engines.engine import EngineShape
from hbgl.errors import TaxonomyError, UsageError
from hbgl.explanation import deletion_test, explain, explanation_page
from hbgl.explanation.deletion import without
from hbgl.explanation.explain import likeliest_path
from hbgl.explanation.gradients import integrate
from hbgl.explanation.words import NO_WORD, read_text, word_spans
from hbgl.methods import build_method
from hbgl.model import HBGL
from hbgl.settings import PRESETS, Settings, with_overrides
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel
from tests.small_corpus import TAXONOMY
from tests.tiny import FAMILIES, tiny_backbone, tiny_tokenizer

FLOAT32 = {"training.precision": "float32"}
KINDS = {
    "hbgl": with_overrides(Settings(), FLOAT32),
    "authors": with_overrides(PRESETS["authors"], FLOAT32),
    "expected": with_overrides(Settings(), {**FLOAT32, "model.level_input": "expected"}),
    "multilabel": with_overrides(Settings(), {**FLOAT32, "model.method": "multilabel"}),
}
TEXT = "bank account money, weather is not my football team"


@cache
def model_of(kind: str = "hbgl", family: str = "bert") -> TrainedModel:
    """Random weights; labels are chosen above 0.5, each level on its own."""
    settings = KINDS[kind]
    torch.manual_seed(0)
    backbone = tiny_backbone(family, with_transform=True)
    method = build_method(backbone, TAXONOMY, settings.model, torch.randn(len(TAXONOMY), 16))
    for one in method.label_parameters():
        torch.nn.init.normal_(one)
    decision = Decision.of_paper(len(TAXONOMY))
    return TrainedModel(TAXONOMY, settings, backbone, method.eval(), decision)


def decided(model: TrainedModel, **changes: Any) -> TrainedModel:
    decision = model.decision.changed(model.taxonomy, **changes)
    return TrainedModel(model.taxonomy, model.settings, model.backbone, model.method, decision)


# ---------------------------------------------------------------------- words


def words_of(text: str, family: str, length: int = 256) -> list[str]:
    read = read_text(text, tiny_tokenizer(family), length)
    return [read.text[start:end] for start, end in read.words]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_words_are_the_same_for_every_tokenizer(family: str) -> None:
    """Apostrophes and hyphens inside a word are of the word; other signs are words themselves."""
    text = " Don't freeze  my bank-account, naïve?! (x)\n\n3.5 हिन्दी 中文 🦉"
    expected = [
        *("Don't", "freeze", "my", "bank-account", ",", "naïve", "?!", "(", "x", ")"),
        *("3", ".", "5", "हिन्दी", "中", "文", "🦉"),
    ]
    assert words_of(text, family) == expected
    assert [text[start:end] for start, end in word_spans(text)] == expected


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_tokens_belong_to_the_word_they_come_from(family: str) -> None:
    """The ids are those of a prediction; sums by word lose nothing."""
    tokenizer = tiny_tokenizer(family)
    read = read_text("zebra, bank\nqx", tokenizer, 64)
    assert list(read.ids) == tokenize(["zebra, bank\nqx"], tokenizer, 64).ids.tolist()
    assert read.word_of_token[0] == read.word_of_token[-1] == NO_WORD
    assert sorted(set(read.word_of_token.tolist()) - {NO_WORD}) == [0, 1, 2, 3]
    summed, other = read.sum_by_word(np.ones(len(read.ids)))
    assert summed.sum() + other == len(read.ids)
    assert summed[0] >= 5  # z e b r a, and in a byte-level vocabulary the space before
    assert read.special == (True, *[False] * (len(read.ids) - 2), True)


def test_what_is_not_read_is_said() -> None:
    """Six tokens: [CLS], four of the text, [SEP]."""
    read = read_text("bank money card pay bill", tiny_tokenizer(), 6)
    assert read.truncated
    assert [read.text[start:end] for start, end in read.words] == ["bank", "money", "card", "pay"]
    assert not read_text("bank money card pay", tiny_tokenizer(), 6).truncated


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\x00\x01", "\ud83d", "[SEP] [MASK]", "\u0301 \u200d"]
)
def test_odd_texts_have_words_or_none(text: str) -> None:
    read = read_text(text, tiny_tokenizer(), 16)
    assert list(read.ids) == tokenize([text], tiny_tokenizer(), 16).ids.tolist()
    found = explain(model_of(), text, ["cats"]).explained[0]
    assert len(found.words) == len(read.words)
    assert found.complete


# ---------------------------------------------------------------------- gradients


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_logits_are_those_of_the_walk(kind: str, family: str) -> None:
    """Of all eight labels, given what the walk had chosen above them."""
    model = model_of(kind, family)
    tokens = tokenize([TEXT], model.backbone.tokenizer, model.method.max_length)
    batch = collate(tokens, np.array([0]), model.method.pad_id)
    decoded = model.method.predict(batch, model.decider(model.decision))
    read = read_text(TEXT, model.backbone.tokenizer, model.method.max_length)
    inputs = decoded.probabilities if kind == "expected" else decoded.chosen
    found = integrate(model, read, range(8), inputs[0].numpy(), 2)
    np.testing.assert_allclose(found.logits, decoded.scores[0].numpy(), atol=1e-4)
    shares = 1 / (1 + np.exp(-found.logits))
    np.testing.assert_allclose(shares, model.predict_proba([TEXT])[0], atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_attributions_sum_to_the_change_of_the_logit(kind: str, family: str) -> None:
    """Without words the logit is that of the text in which every token is [MASK]."""
    model = model_of(kind, family)
    found = explain(model, TEXT, TAXONOMY.labels, steps=64)
    assert [one.label for one in found.explained] == list(TAXONOMY.labels)
    for one in found.explained:
        assert one.complete
        total = sum(word.attribution for word in one.words) + one.other
        assert total - (one.logit - one.baseline_logit) == pytest.approx(one.delta, abs=1e-6)
        assert abs(one.delta) < 0.05 * max(1, abs(one.logit - one.baseline_logit))
    assert max(abs(one.logit - one.baseline_logit) for one in found.explained) > 0.1


def test_against_differences_instead_of_gradients() -> None:
    """Each token on its own share a_n of the way from [MASK]: attribution n is the integral over a
    of dF/da_n at (a, .., a). Here by central differences and the midpoint rule, for a root label
    and its first prediction step.
    """
    model = model_of()
    method = model.method
    assert isinstance(method, HBGL)
    read = read_text("bank money", model.backbone.tokenizer, 64)
    label, points, step = 1, 200, 0.02
    with torch.no_grad():
        batch = collate(tokenize(["bank money"], model.backbone.tokenizer, 64), np.array([0]), 0)
        words, (mask, _) = method.look_up(batch)
        start = words.clone()
        start[0, 1:3] = mask

        def logit(shares: torch.Tensor) -> torch.Tensor:
            """[R, 4] shares -> [R]."""
            vectors = start + shares[:, :, None] * (words - start)
            memory = method.encoder.encode_text(vectors, batch.lengths.expand(len(vectors)))
            masked = mask.expand(len(vectors), 1, -1)
            states, _ = method.encoder.encode_labels(
                memory, masked, torch.tensor([0]), label_step_mask(1)
            )
            return method.logits(states[:, 0], TAXONOMY.level_slice(1))[:, label]

        along = ((torch.arange(points) + 0.5) / points)[:, None].expand(-1, 4)
        expected = [
            float((logit(along + step * one) - logit(along - step * one)).mean() / (2 * step))
            for one in torch.eye(4)
        ]
    found = integrate(model, read, [label], np.zeros(8, dtype=bool), 64)
    np.testing.assert_allclose(found.attributions[0], expected, atol=2e-3)
    assert found.attributions[0, [0, 3]].tolist() == [0.0, 0.0]  # [CLS] and [SEP] do not change
    assert np.abs(found.attributions).max() > 0.05
    assert abs(found.deltas[0]) < 1e-3


def test_steps_are_doubled_until_the_sum_holds() -> None:
    """One point is too few for this model; the number that was needed is told."""
    model = model_of()
    rough = explain(model, TEXT, ["cats", "oaks"], steps=1)
    assert rough.steps > 1
    assert all(one.complete for one in rough.explained)


def test_gradients_do_not_depend_on_how_steps_share_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of()
    together = explain(model, TEXT, ["cats"]).explained[0]
    monkeypatch.setattr("hbgl.explanation.gradients._TOKEN_BUDGET", 30)
    apart = explain(model, TEXT, ["cats"]).explained[0]
    for one, other in zip(together.words, apart.words, strict=True):
        assert one.attribution == pytest.approx(other.attribution, abs=1e-4)


def test_explaining_leaves_the_model_as_it_was() -> None:
    model = model_of()
    before = {name: one.clone() for name, one in model.torch_method.state_dict().items()}
    with torch.inference_mode():
        explain(model, TEXT)
    assert all(one.grad is None for one in model.torch_method.parameters())
    for name, one in model.torch_method.state_dict().items():
        assert torch.equal(before[name], one)


# ---------------------------------------------------------------------- paths and siblings


def test_an_explanation_agrees_with_the_prediction() -> None:
    """Every predicted label has a path from a root, its probabilities and likeliest siblings."""
    model = model_of()
    [answer] = model.predict([TEXT], everything=True)
    assert len(answer.labels) > 1
    found = explain(model, TEXT)
    assert found.labels == answer.labels
    assert found.paths == answer.paths
    assert [one.label for one in found.explained] == list(answer.labels)
    for one in found.explained:
        ids = TAXONOMY.ids(node.label for node in one.path).tolist()
        assert [int(TAXONOMY.levels[i]) for i in ids] == list(range(1, len(ids) + 1))
        shares = [answer.probabilities[node.label] for node in one.path]
        assert [node.probability for node in one.path] == shares
        assert [node.predicted for node in one.path] == [
            node.label in answer.labels for node in one.path
        ]
        assert one.joint_probability == pytest.approx(np.prod(shares))
        assert one.path_probability == min(shares)
        for i, node in zip(ids, one.path, strict=True):
            beside = {TAXONOMY.labels[j] for j in TAXONOMY.siblings(i).tolist()}
            assert set(node.siblings) == beside
            assert list(node.siblings.values()) == sorted(node.siblings.values(), reverse=True)


def test_labels_that_were_not_predicted_are_explained_too() -> None:
    model = decided(model_of(), threshold=1.0)
    assert explain(model, TEXT).explained == ()
    assert explain(model, TEXT).labels == ()
    [one] = explain(model, TEXT, ["puppies"]).explained
    assert [node.label for node in one.path] == ["animals", "dogs", "puppies"]
    assert not any(node.predicted for node in one.path)
    with pytest.raises(TaxonomyError, match='unknown label "puppy"'):
        explain(model, TEXT, ["puppy"])
    with pytest.raises(UsageError, match=r"write \[label\]"):
        explain(model, TEXT, "cats")
    with pytest.raises(UsageError, match="steps must be 1 to 512, not 0"):
        explain(model, TEXT, steps=0)


def test_a_model_without_torch_weights_is_refused() -> None:
    class Idle(Engine):
        def _walk(self, batch: Any, walk: Any) -> None:
            raise AssertionError

    model = model_of()
    shape = EngineShape(8, pad_id=0, layers=1, heads=1, head_width=8, sep_class=False)
    idle = dataclasses.replace(model, method=Idle("onnx", {}, TAXONOMY, shape))
    with pytest.raises(UsageError, match="exported for onnx only predicts"):
        explain(idle, TEXT)


@pytest.mark.parametrize("changes", [{"rule": "closed"}, {"rule": "backoff", "most_paths": 1}])
def test_inputs_are_what_the_walk_chose_not_what_was_made_of_it(changes: Any) -> None:
    """``closed`` adds ancestors, a limit of paths drops labels: both after the walk."""
    texts = [" ".join(pair) for pair in itertools.combinations(TEXT.split(), 2)]
    differs = False
    for text in texts:
        model = decided(model_of(), threshold=0.6, **changes)
        [one] = explain(model, text, ["puppies"], steps=2).explained
        tokens = tokenize([text], model.backbone.tokenizer, model.method.max_length)
        batch = collate(tokens, np.array([0]), model.method.pad_id)
        decoded = model.method.predict(batch, model.decider(model.decision))
        score = float(decoded.scores[0, TAXONOMY.id("puppies")])
        assert one.logit == pytest.approx(score, abs=1e-4)
        rule = "paper" if changes["rule"] == "closed" else changes["rule"]
        plain = decided(model_of(), threshold=0.6, rule=rule).predict([text])[0]
        differs |= plain.labels != model.predict([text])[0].labels
    assert differs


@pytest.mark.parametrize("changes", [{"rule": "backoff"}, {"rule": "leaf", "threshold": 0.9}])
def test_expected_inputs_are_the_walks_own(changes: Any) -> None:
    """Whatever the decision makes of the probabilities, calibration included."""
    model = decided(model_of("expected"), **changes)
    calibration = Calibration((LevelMap("temperature", slope=0.1),) * 3)
    model.decision = dataclasses.replace(model.decision, calibration=calibration)
    tokens = tokenize([TEXT], model.backbone.tokenizer, model.method.max_length)
    batch = collate(tokens, np.array([0]), model.method.pad_id)
    scores = model.method.predict(batch, model.decider(model.decision)).scores[0]
    found = explain(model, TEXT, TAXONOMY.labels, steps=2).explained
    assert [one.logit for one in found] == pytest.approx(scores.tolist(), abs=1e-4)


def test_of_several_ways_the_likeliest_is_taken() -> None:
    """c below a (0.9) and b (0.2), d below c: a > c > d."""
    taxonomy = Taxonomy.from_edges(
        [("Root", "a"), ("Root", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("b", "d")]
    )
    ids = {label: taxonomy.id(label) for label in "abcd"}
    shares = np.zeros(4)
    for label, share in {"a": 0.9, "b": 0.2, "c": 0.8, "d": 0.5}.items():
        shares[ids[label]] = share
    assert [taxonomy.labels[i] for i in likeliest_path(taxonomy, shares, ids["d"])] == list("acd")
    shares[ids["b"]] = 1.0
    assert [taxonomy.labels[i] for i in likeliest_path(taxonomy, shares, ids["d"])] == list("bd")


def test_json_and_page() -> None:
    text = "bank <b>&amp; money\n" * 40
    found = explain(model_of(), text)
    data = json.loads(json.dumps(found.to_json()))
    assert data["truncated"] is True
    assert data["tokens"] == model_of().method.max_length
    for one in data["explained"]:
        assert set(one) == {
            *("label", "path", "path_probability", "joint_probability", "logit", "baseline_logit"),
            *("words", "other", "delta", "complete"),
        }
        for word in one["words"]:
            assert text[word["start"] : word["end"]] == word["word"]
    page = explanation_page(found)
    assert "<b>" not in page
    assert "&lt;" in page
    assert not re.search(r"https?:", page)
    assert page.count("<section>") == len(found.labels)
    assert "default-src 'none'" in page
    for one in found.explained:
        ranked = sorted(one.words, key=lambda word: -abs(word.attribution))
        for word in ranked[:8]:
            assert f'<td class="number">{word.attribution:+.4f}</td>' in page
        rest = sum(word.attribution for word in ranked[8:])
        named = f'{len(ranked) - 8} other words together</td><td class="number">{rest:+.4f}</td>'
        assert (named in page) == (len(ranked) > 8)
    assert '<span class="unread">' in page
    assert "No label is predicted" in explanation_page(
        explain(decided(model_of(), threshold=1.0), TEXT)
    )


# ---------------------------------------------------------------------- deletion


KEYWORDS = {"cats": "football", "herbs": "weather"}
FILLERS = ("the", "of", "money", "bank", "is", "my", "paper", "rain", "green", "level")


@cache
def keyword_model(method: str = "hbgl") -> TrainedModel:
    """A label holds where its keyword stands in the text, among words that say nothing."""
    settings = with_overrides(
        Settings(), {**FLOAT32, "model.method": method, "model.teacher_masking": 0.0}
    )
    torch.manual_seed(0)
    backbone = tiny_backbone()
    vectors = torch.randn(len(TAXONOMY), 16)
    model = build_method(backbone, TAXONOMY, settings.model, vectors).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = np.random.default_rng(0)
    for _ in range(200):
        texts, gold = keyword_texts(32, draw)
        batch = collate(tokenize(texts, backbone.tokenizer, 32), np.arange(32), backbone.pad_id)
        batch = type(batch)(batch.ids, batch.lengths, torch.from_numpy(gold))
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
    decision = Decision.of_paper(len(TAXONOMY))
    return TrainedModel(TAXONOMY, settings, backbone, model.eval(), decision)


def keyword_texts(count: int, draw: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """A keyword takes the place of a filler: the length says nothing."""
    texts, gold = [], np.zeros((count, len(TAXONOMY)), dtype=bool)
    for row in range(count):
        words = draw.choice(FILLERS, size=draw.integers(5, 10)).tolist()
        places = draw.permutation(len(words))
        for place, (label, keyword) in zip(places, KEYWORDS.items(), strict=False):
            if draw.random() < 0.5:
                words[place] = keyword
                gold[row, TAXONOMY.closure([TAXONOMY.id(label)])] = True
        texts.append(" ".join(words))
    return texts, gold


@pytest.mark.parametrize("method", ["hbgl", "multilabel"])
def test_the_keyword_is_found(method: str) -> None:
    """Only "football" makes cats, only "weather" makes herbs: they come first, for parents too."""
    model = keyword_model(method)
    found = explain(model, "the paper of football is green weather my bank")
    assert set(found.labels) == {"animals", "cats", "plants", "herbs"}
    expected = {"animals": "football", "plants": "weather", **KEYWORDS}
    for one in found.explained:
        assert max(one.words, key=lambda word: word.attribution).text == expected[one.label]


@pytest.mark.parametrize("method", ["hbgl", "multilabel"])
def test_deleting_the_words_named_first_takes_the_label_away(method: str) -> None:
    """With k = 1 the keyword goes, and the label with it; the lowest words change little."""
    texts, _ = keyword_texts(20, np.random.default_rng(1))
    told: list[int] = []
    result = deletion_test(
        keyword_model(method), texts, counts=(1, 3), draws=3, on_document=told.append
    )
    assert told == list(range(1, 21))
    assert result.documents + result.without_label + result.too_short == 20
    assert result.pairs >= 2 * result.documents
    assert result.complete > 0.9
    assert result.drops["highest"][0] > 0.7
    assert result.drops["random"][0] < 0.4
    assert result.drops["lowest"][0] < 0.2
    assert result.areas["highest"] > result.areas["random"] > result.areas["lowest"]
    assert result.wins[0] > 0.7
    data = json.loads(json.dumps(result.to_json()))
    assert data["mean_drop"]["highest"]["1"] == round(float(result.drops["highest"][0]), 4)


def test_a_model_without_a_reason_fails_the_deletion_test() -> None:
    """Attributions drawn at random do no better than random words: the test can say no."""
    model = keyword_model()
    texts, _ = keyword_texts(12, np.random.default_rng(2))
    true = deletion_test(model, texts, counts=(1,), draws=3)
    shuffled = np.random.default_rng(0)

    def at_random(*arguments: Any, **options: Any) -> Any:
        found = explain(*arguments, **options)
        for one in found.explained:
            for word in one.words:
                object.__setattr__(word, "attribution", float(shuffled.normal()))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hbgl.explanation.deletion.explain", at_random)
        false = deletion_test(model, texts, counts=(1,), draws=3)
    assert false.drops["highest"][0] < 0.4 < true.drops["highest"][0]
    assert false.wins[0] < 0.5 < true.wins[0]


def test_drops_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """p = 0.2 for each "football" and 0.1 for each "bank": deleting football first drops 0.2, then
    0.1 more; from the other end 0, then 0. Area of 0.2, 0.3 at 1, 2: (0.1 + 0.25) / 2 = 0.175.
    """
    model = keyword_model()
    text = "football the of bank weather"
    monkeypatch.setattr(
        TrainedModel,
        "predict_proba",
        lambda _, texts: np.array(
            [[0.2 * one.count("football") + 0.1 * one.count("bank")] * 8 for one in texts]
        ),
    )
    found = explain(model, text, ["cats"])
    weights = {"football": 2.0, "bank": 1.0, "weather": 0.5, "the": 0.0, "of": -1.0}
    for word in found.explained[0].words:
        object.__setattr__(word, "attribution", weights[word.text])
    monkeypatch.setattr("hbgl.explanation.deletion.explain", lambda *_, **__: found)
    result = deletion_test(model, [text], counts=(1, 2))
    assert result.drops["highest"] == pytest.approx([0.2, 0.3])
    assert result.drops["lowest"] == pytest.approx([0.0, 0.0])
    assert result.areas["highest"] == pytest.approx(0.175)
    assert 0 <= result.areas["random"] <= 0.175


def test_punctuation_is_not_deleted_and_unread_words_stay_out() -> None:
    """A text of 200 words is cut before it is tested: its words are those the model reads."""
    model = keyword_model()
    long = "football , weather ! " * 50
    nothing = " ".join(FILLERS)
    result = deletion_test(model, [long, "football !", nothing], counts=(1, 2), draws=1)
    assert (result.documents, result.too_short, result.without_label) == (1, 1, 1)
    assert without("a b c", [(4, 5), (0, 1)]) == " b "


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(UsageError, match="no text can be tested: 0 have no predicted label, 1"):
        deletion_test(keyword_model(), ["football"])
    for counts in ((), (0, 1), (2, 1), (1, 1)):
        with pytest.raises(UsageError, match="counts must rise from 1 or more"):
            deletion_test(keyword_model(), ["football"], counts=counts)
    with pytest.raises(UsageError, match="draws must be 1 or more"):
        deletion_test(keyword_model(), ["football"], draws=0)


def test_the_benchmark_writes_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 40 texts 12 are drawn; the same seed draws and measures the same."""
    keyword_model().save(tmp_path / "model")
    texts, _ = keyword_texts(40, np.random.default_rng(3))
    lines = [json.dumps({"text": text, "labels": []}) for text in texts]
    (tmp_path / "test.jsonl").write_text("\n".join(lines))
    arguments = [str(tmp_path / "model"), str(tmp_path / "test.jsonl"), "--documents", "12"]
    found = []
    for name in ("a.json", "b.json"):
        out = tmp_path / name
        monkeypatch.setattr(
            sys, "argv", ["deletion", *arguments, "--draws", "2", "--out", str(out)]
        )
        deletion.main()
        found.append(json.loads(out.read_text()))
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["benchmark"] == "deletion"
    assert {"benchmark", "command", "seed", "commit", "hardware", "date", "results"} <= set(
        found[0]
    )
    first, second = (one["results"] for one in found)
    assert first["sampled"] == 12
    assert first["documents"] + first["too_short"] + first["without_label"] == 12
    assert first["area"]["highest"] > first["area"]["random"] > first["area"]["lowest"]
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_texts_of_a_real_corpus_are_explained() -> None:
    """By a model that knows nothing of them; its reasons still sum to its scores."""
    texts = [record.text for record in itertools.islice(open_corpus("clinc150").records("test"), 8)]
    result = deletion_test(decided(model_of(), threshold=0.2), texts, counts=(1, 2), draws=1)
    assert result.documents >= 1
    assert result.complete == 1.0
