"""The code of docs/python.md runs, in order, over a tiny random backbone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hbgl.backbones import load_backbone
from hbgl.classifier import estimator
from hbgl.settings import PRESETS, with_overrides
from tests.classifier.estimators import backbone

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(
    r"(?:<!-- test: (?P<note>.*?) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random weights say nothing about paths; that they are printed, and the shapes, is enough."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(estimator, "load_backbone", lambda _: load_backbone(backbone()))
    few = with_overrides(PRESETS["default"], {"global_stage.steps": 2})
    monkeypatch.setitem(PRESETS, "default", few)
    names: dict[str, Any] = {}
    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    assert {block["language"] for block in blocks} == {"python"}
    ran = [block["code"] for block in blocks if not (block["note"] or "").startswith("skip, ")]
    for code in ran:
        exec(compile(code, str(PAGE), "exec"), names)
    assert len(ran) >= 6
    said = capsys.readouterr().out
    assert "(1, 7)" in said
    assert "banking" in said
    assert (tmp_path / "my-model" / "README.md").read_text().count("license: apache-2.0") == 1
    assert "\n2 True\n" in said
