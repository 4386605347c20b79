"""``hbgl backbone get`` and ``show``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hbgl.backbones.cache import Cache, file_sha256
from hbgl.cli.backbone import app
from hbgl.errors import BackboneError
from tests.tiny import tiny_folder


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_show_a_folder(tmp_path: Path) -> None:
    tiny_folder(tmp_path / "tiny", "roberta")
    facts = json.loads(output("show", str(tmp_path / "tiny"), "--json"))
    assert facts == {
        "name": "tiny",
        "folder": str(tmp_path / "tiny"),
        "source": "local folder tiny",
        "sha256": file_sha256(tmp_path / "tiny" / "model.safetensors"),
        "model_type": "roberta",
        "layers": 2,
        "width": 16,
        "vocabulary": facts["vocabulary"],
        "parameters": facts["parameters"],
        "masked_lm_transform": True,
    }
    lines = output("show", str(tmp_path / "tiny")).splitlines()
    assert lines[0].split() == ["name", "tiny"]
    assert len(lines) == len(facts)


def test_get_prints_the_folder_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``get`` may download, ``show`` may not; here both find it in the cache."""
    monkeypatch.delenv("HBGL_BACKBONES", raising=False)
    cache = Cache(tmp_path)
    with cache.partial() as partial:
        tiny_folder(partial)
        cache.store(partial, "someone/tiny@main", "someone/tiny", "elsewhere")
    for command in ("get", "show"):
        facts = json.loads(output(command, "someone/tiny", "--cache", str(tmp_path), "--json"))
        assert facts["folder"] == str(cache.folder("someone/tiny@main"))
        assert (facts["name"], facts["source"]) == ("someone/tiny", "elsewhere")


def test_show_downloads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HBGL_BACKBONES", raising=False)
    with pytest.raises(BackboneError, match="not asked: offline"):
        output("show", "someone/not-here", "--cache", str(tmp_path))
