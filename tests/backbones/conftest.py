"""A world without network, and a ``minilm`` that is tiny."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub
import pytest

from hbgl.backbones import KNOWN
from hbgl.backbones.cache import file_sha256
from hbgl.backbones.sources import Pin
from tests.backbones.network import COMMIT, WHEEL, World
from tests.tiny import tiny_folder


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    world = World()
    monkeypatch.setenv("HBGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HBGL_BACKBONES", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", world.snapshot_download)
    monkeypatch.setattr(
        huggingface_hub.HfApi,
        "model_info",
        lambda api, *arguments, **options: world.model_info(api, *arguments, **options),
    )
    monkeypatch.setattr("hbgl.backbones.downloads.subprocess.run", world.run)
    return world


@pytest.fixture
def good(tmp_path: Path) -> Path:
    tiny_folder(tmp_path / "good")
    return tmp_path / "good"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    tiny_folder(tmp_path / "bad", seed=1)
    return tmp_path / "bad"


@pytest.fixture
def pin(monkeypatch: pytest.MonkeyPatch, good: Path) -> Pin:
    """``minilm``, but tiny."""
    digest = file_sha256(good / "model.safetensors")
    pin = Pin("minilm", KNOWN["minilm"].hub_id, COMMIT, digest, WHEEL)
    monkeypatch.setitem(KNOWN, "minilm", pin)
    return pin
