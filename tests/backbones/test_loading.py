"""Folder -> encoder and transform: the same numbers as transformers, or a clear refusal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

import hbgl.backbones
from hbgl.backbones import backbone_config, backbone_from_config, load_backbone
from hbgl.errors import BackboneError
from tests.tiny import FAMILIES, tiny_backbone, tiny_folder

ALL_TYPES = (*FAMILIES, "xlm-roberta", "camembert")
TEXTS = ("the bank card to Paris!", "é 漢 🙂", "", "market " * 20)


def encode(backbone: hbgl.backbones.Backbone, text: str) -> torch.Tensor:
    return torch.tensor([backbone.tokenizer.encode(text).ids])


@torch.no_grad()
def states(model: Any, ids: torch.Tensor) -> torch.Tensor:
    output: torch.Tensor = model(input_ids=ids).last_hidden_state
    return output


def edit_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_weights(
    folder: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]
) -> None:
    path = folder / "model.safetensors"
    # Cloned: the file that the tensors are mapped from is written over.
    weights = {name: tensor.clone() for name, tensor in load_file(path).items()}
    save_file(change(weights), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_folder(tmp_path / "tiny")
    return tmp_path / "tiny"


def refused(folder: Path) -> str:
    with pytest.raises(BackboneError) as caught:
        load_backbone(str(folder))
    return str(caught.value)


def test_public_names_exist() -> None:
    names = hbgl.backbones.__all__
    assert all(hasattr(hbgl.backbones, name) for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("bare", [False, True], ids=["with heads", "bare"])
@pytest.mark.parametrize("family", ALL_TYPES)
def test_states_are_those_of_transformers(family: str, bare: bool, tmp_path: Path) -> None:
    reference: Any = tiny_folder(tmp_path, family, bare=bare)
    backbone = load_backbone(str(tmp_path))
    assert not backbone.model.training
    assert {parameter.dtype for parameter in backbone.model.parameters()} == {torch.float32}
    assert not any("pooler" in name for name in backbone.model.state_dict())
    for text in TEXTS:
        ids = encode(backbone, text)
        assert torch.equal(states(backbone.model, ids), states(reference.base_model, ids))
    assert (backbone.transform is None) == bare


@pytest.mark.parametrize("family", ALL_TYPES)
def test_transform_is_the_masked_language_heads(family: str, tmp_path: Path) -> None:
    """Vocabulary scores = output embeddings applied to transform(states)."""
    reference: Any = tiny_folder(tmp_path, family)
    backbone = load_backbone(str(tmp_path))
    assert backbone.transform is not None
    ids = encode(backbone, "the bank card to Paris!")
    with torch.no_grad():
        expected = reference(input_ids=ids).logits
        transformed = backbone.transform(states(backbone.model, ids))
        scores = reference.get_output_embeddings()(transformed)
    torch.testing.assert_close(scores, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("with_transform", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_configuration_round_trip(family: str, with_transform: bool) -> None:
    backbone = tiny_backbone(family, with_transform=with_transform)
    config = json.loads(json.dumps(backbone_config(backbone)))
    again = backbone_from_config(
        config, backbone.tokenizer.to_str(), has_transform=with_transform, initialise=False
    )
    again.model.load_state_dict(backbone.model.state_dict())
    ids = encode(backbone, "the bank card to Paris!")
    assert torch.equal(encode(again, "the bank card to Paris!"), ids)
    hidden = states(backbone.model, ids)
    assert torch.equal(states(again.model, ids), hidden)
    if backbone.transform is not None and again.transform is not None:
        again.transform.load_state_dict(backbone.transform.state_dict())
        assert torch.equal(again.transform(hidden), backbone.transform(hidden))
    assert (again.transform is None) == (not with_transform)
    assert backbone_config(again) == config
    for field in ("name", "sha256", "source", "cls_id", "sep_id", "mask_id", "pad_id"):
        assert getattr(again, field) == getattr(backbone, field)


def test_random_weights_are_initialised_unless_told_otherwise() -> None:
    backbone = tiny_backbone()
    config, tokenizer = backbone_config(backbone), backbone.tokenizer.to_str()
    fresh = backbone_from_config(config, tokenizer, has_transform=True)
    weights = fresh.model.state_dict()
    assert all(tensor.isfinite().all() for tensor in weights.values())
    assert 0.01 < weights["embeddings.word_embeddings.weight"].std() < 0.03  # BERT's is 0.02


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": None, "encoder": None}, "damaged"),
        ({"special_tokens": {"cls": "[CLS]"}}, "damaged"),
        ({"special_tokens": dict.fromkeys(("cls", "sep", "mask", "pad"), "[NO]")}, "[NO]"),
        ({"encoder": {"model_type": "gpt2"}}, "gpt2"),
    ],
)
def test_damaged_configuration(change: dict[str, Any], said: str) -> None:
    backbone = tiny_backbone()
    config = backbone_config(backbone) | change
    with pytest.raises(BackboneError) as caught:
        backbone_from_config(config, backbone.tokenizer.to_str(), has_transform=False)
    assert said in str(caught.value)


def test_damaged_tokenizer_json() -> None:
    with pytest.raises(BackboneError, match="tokenizer of tiny-bert: not a tokenizer"):
        backbone_from_config(backbone_config(tiny_backbone()), "{", has_transform=False)


def test_what_is_recorded(folder: Path) -> None:
    backbone = load_backbone(str(folder))
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert (backbone.name, backbone.source) == ("tiny", "local folder tiny")
    assert backbone.sha256 == digest
    assert str(folder) not in json.dumps(backbone_config(backbone))


def test_loading_leaves_the_random_numbers_alone(folder: Path) -> None:
    before = torch.random.get_rng_state()
    load_backbone(str(folder))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_loading_is_quiet(
    folder: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    capfd.readouterr()
    load_backbone(str(folder))
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_names_of_the_first_checkpoints(folder: Path) -> None:
    """google-bert/bert-base-uncased still has LayerNorm.gamma and LayerNorm.beta."""
    expected = load_backbone(str(folder)).model.state_dict()
    edit_weights(
        folder,
        lambda weights: {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): tensor
            for name, tensor in weights.items()
        },
    )
    again = load_backbone(str(folder))
    assert again.transform is not None
    for name, tensor in again.model.state_dict().items():
        assert torch.equal(tensor, expected[name])


def test_half_precision_becomes_float32(folder: Path) -> None:
    edit_weights(folder, lambda weights: {name: t.bfloat16() for name, t in weights.items()})
    edit_config(folder, dtype="bfloat16")
    model = load_backbone(str(folder)).model
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_position_buffers_and_poolers_of_old_files_are_left(folder: Path) -> None:
    extra = {
        "bert.embeddings.position_ids": torch.arange(64),
        "bert.pooler.dense.weight": torch.ones(16, 16),
        "cls.seq_relationship.weight": torch.ones(2, 16),
    }
    edit_weights(folder, lambda weights: weights | extra)
    load_backbone(str(folder))


KEY = "encoder.layer.1.output.dense.weight"


def test_missing_encoder_weights_are_named(folder: Path) -> None:
    edit_weights(folder, lambda w: {name: t for name, t in w.items() if not name.endswith(KEY)})
    assert f"encoder weights are missing: {KEY};" in refused(folder)


def test_half_a_transform_is_refused(folder: Path) -> None:
    name = "cls.predictions.transform.dense.bias"
    edit_weights(folder, lambda weights: {k: t for k, t in weights.items() if k != name})
    assert "masked-LM transform weights are missing: dense.bias;" in refused(folder)


def test_more_layers_in_the_file_than_in_the_configuration(folder: Path) -> None:
    edit_config(folder, num_hidden_layers=1)
    message = refused(folder)
    assert "encoder.layer.1.attention.output.LayerNorm.bias" in message
    assert "and 11 more" in message


def test_other_sizes_in_the_file_than_in_the_configuration(folder: Path) -> None:
    edit_config(folder, intermediate_size=20)
    assert "of shape [32], its config.json asks for floats of shape [20]" in refused(folder)


def test_weights_of_whole_numbers(folder: Path) -> None:
    edit_weights(folder, lambda weights: {name: t.to(torch.int8) for name, t in weights.items()})
    assert "torch.int8" in refused(folder)


@pytest.mark.parametrize("size", [0, 7, 1000])
def test_truncated_weights(folder: Path, size: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    assert f"{path}: not readable as safetensors" in refused(folder)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["pytorch_model.bin"], "pickled weights, which can run code when loaded; convert"),
        (["model.safetensors.index.json", "pytorch_model.bin"], "split over several files"),
        ([], "it has no model.safetensors"),
    ],
)
def test_folder_without_weights(folder: Path, files: list[str], said: str) -> None:
    (folder / "model.safetensors").unlink()
    for name in files:
        (folder / name).touch()
    assert said in refused(folder)


@pytest.mark.parametrize("content", [None, "", "{", "[]", '"bert"', "\x00\xff"])
def test_damaged_config_file(folder: Path, content: str | None) -> None:
    path = folder / "config.json"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content.encode("latin-1"))
    assert str(path) in refused(folder)


@pytest.mark.parametrize("model_type", ["gpt2", "t5", "deberta-v2", "albert", "nonsense", 3, []])
def test_unsupported_types_are_named(folder: Path, model_type: object) -> None:
    edit_config(folder, model_type=model_type)
    message = refused(folder)
    assert f"model type {model_type!r} is not supported" in message
    assert "bert, roberta, xlm-roberta, camembert, electra, distilbert, mpnet" in message


def test_no_type(folder: Path) -> None:
    edit_config(folder, model_type=None)
    assert "not the configuration of a Hugging Face checkpoint" in refused(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"is_decoder": True}, "decoder"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"auto_map": {"AutoModel": "evil.Model"}}, "own Python code"),
        ({"quantization_config": {"bits": 4}}, "quantised"),
        ({"hidden_size": "wide"}, "hidden_size"),
        ({"num_attention_heads": 3}, "multiple"),
        ({"hidden_act": "nonsense"}, "nonsense"),
    ],
)
def test_encoders_that_do_not_fit(folder: Path, change: dict[str, object], said: str) -> None:
    edit_config(folder, **change)
    message = refused(folder)
    assert message.startswith(str(folder / "config.json"))
    assert said in message


def test_electra_of_two_widths(tmp_path: Path) -> None:
    model: PreTrainedModel = tiny_folder(tmp_path, "electra")
    assert model.config.embedding_size == 16
    edit_config(tmp_path, embedding_size=8)
    assert "embedding size 8 is not its hidden size 16" in refused(tmp_path)
