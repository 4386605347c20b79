"""Rules of the source that no linter knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("src", "tools", "benchmarks", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
LONGEST = 320
FORBIDDEN = {
    r"\bimport pickle|\bpickle\.|allow_pickle=True": "pickled data can run code",
    r"\btorch\.load\(|weights_only=False": "torch.load reads pickles: use safetensors",
    r"\.cuda\(": "the code assumes no device: use .to(device)",
    r"\bTODO\b|\bFIXME\b|\bXXX\b": "unfinished work is not committed",
    r"[\"'](/home/|/root/|/Users/)": "absolute paths are of one machine",
}


def test_modules_are_short() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCES
        if not path.is_relative_to(ROOT / "tests")
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_forbidden_in_the_package(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        if path.is_relative_to(ROOT / "src")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == [], FORBIDDEN[pattern]


def test_no_catch_all_modules() -> None:
    names = {path.stem for path in SOURCES}
    assert names & {"utils", "util", "helpers", "misc", "common"} == set()
