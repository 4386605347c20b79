"""Cached backbones: complete and verified, or absent."""

from __future__ import annotations

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hbgl.backbones import locate_backbone
from hbgl.backbones.cache import Cache, default_cache, file_sha256
from hbgl.backbones.sources import Pin
from tests.backbones.network import World, in_cache, refused


def test_cache_argument(world: World, pin: Pin, good: Path, tmp_path: Path) -> None:
    world.hub = good
    located = locate_backbone("minilm", cache=tmp_path / "other")
    assert located.folder.parent == tmp_path / "other" / "backbones"
    assert in_cache() == []


def test_damaged_cache_is_named_passed_over_and_replaced(
    world: World, pin: Pin, good: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world.hub = good
    weights = locate_backbone("minilm").folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    message = refused("minilm", offline=True)
    assert f"{weights}: SHA-256 is {file_sha256(weights)}, expected {pin.sha256}" in message
    assert str(weights) in caplog.text
    assert locate_backbone("minilm").sha256 == pin.sha256
    assert file_sha256(weights) == pin.sha256
    assert len(in_cache()) == 1


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "ORIGIN.json"])
@pytest.mark.parametrize("content", [None, "{}"])
def test_every_cached_file_is_verified(
    world: World, pin: Pin, good: Path, name: str, content: str | None
) -> None:
    world.hub = good
    path = locate_backbone("minilm").folder / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert str(path) in refused("minilm", offline=True)
    locate_backbone("minilm")
    locate_backbone("minilm", offline=True)


def test_whole_entry_of_other_weights_is_replaced(
    world: World, pin: Pin, good: Path, bad: Path
) -> None:
    """The entry agrees with its own record, and still is not what the name stands for."""
    cache = Cache(default_cache())
    with cache.partial() as partial:
        shutil.copytree(bad, partial, dirs_exist_ok=True)
        cache.store(partial, pin.key, "minilm", "elsewhere")
    assert "expected" in refused("minilm", offline=True)
    world.hub = good
    assert locate_backbone("minilm").sha256 == pin.sha256
    assert locate_backbone("minilm", offline=True).sha256 == pin.sha256


def test_copied_entry_is_verified_as_a_folder(
    world: World, pin: Pin, good: Path, tmp_path: Path
) -> None:
    world.hub = good
    copy = tmp_path / "stick" / "anything"
    shutil.copytree(locate_backbone("minilm").folder, copy)
    located = locate_backbone(str(copy), offline=True)
    assert (located.name, located.sha256) == ("minilm", pin.sha256)
    (copy / "tokenizer.json").write_text("{}")
    assert f"{copy / 'tokenizer.json'}: SHA-256 is" in refused(str(copy))


def test_many_fetch_at_once(world: World, pin: Pin, good: Path) -> None:
    """All get a whole entry, one stays, nothing half-written is left."""
    world.hub = good
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: locate_backbone("minilm"), range(16)))
    assert {(located.folder, located.sha256) for located in found} == {
        (Cache(default_cache()).folder(pin.key), pin.sha256)
    }
    assert in_cache() == [found[0].folder.name]


def test_broken_download_leaves_nothing(world: World, pin: Pin, good: Path) -> None:
    world.hub, world.breaks = good, True
    assert "download broken off: ConnectionError: connection reset" in refused("minilm")
    assert in_cache() == []


def test_cache_that_cannot_be_written(world: World, pin: Pin, good: Path, tmp_path: Path) -> None:
    world.hub = good
    (tmp_path / "file").touch()
    assert "set HBGL_CACHE" in refused("minilm", cache=tmp_path / "file")


def test_record_is_readable(world: World, pin: Pin, good: Path) -> None:
    world.hub = good
    record = json.loads((locate_backbone("minilm").folder / "ORIGIN.json").read_text())
    assert record["name"] == "minilm"
    assert record["sha256"]["model.safetensors"] == pin.sha256


def test_leftovers_of_killed_processes_are_swept(world: World, pin: Pin, good: Path) -> None:
    """Those of two days ago; those of a minute ago may still be in use."""
    world.hub = good
    root = default_cache() / "backbones"
    for name, age in (("old", 2 * 86_400.0), ("new", 60.0)):
        (root / f".partial-{name}").mkdir(parents=True)
        os.utime(root / f".partial-{name}", times=(time.time() - age,) * 2)
    located = locate_backbone("minilm")
    assert in_cache() == [".partial-new", located.folder.name]
