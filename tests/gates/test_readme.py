"""Every code block of the README and of docs/data.md runs; the file tree is that of the package.

A block in a comment's shadow is treated differently: ``<!-- test: slow -->`` needs real weights or
minutes, ``<!-- test: skip, REASON -->`` cannot run inside the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, ROOT / "docs" / "data.md")
BLOCK = re.compile(
    r"(?:<!-- test: (?P<note>.*?) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
SHOWN_ONLY = {"text", "bibtex", "json", "mermaid"}


def blocks(page: Path) -> Iterator[object]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        language, note = match["language"], match["note"] or ""
        if language in SHOWN_ONLY:
            continue
        marks = [pytest.mark.slow] if note == "slow" else []
        if note.startswith("skip, "):
            marks = [pytest.mark.skip(reason=note.removeprefix("skip, "))]
        line = text.count("\n", 0, match.start("code"))
        yield pytest.param(
            page.stem, language, match["code"], id=f"{page.stem}-line-{line}", marks=marks
        )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The blocks of a page run one after the other in its folder, as a reader would run them."""
    return {page.stem: tmp_path_factory.mktemp(page.stem) for page in PAGES}


@pytest.mark.parametrize(
    ("page", "language", "code"), [block for page in PAGES for block in blocks(page)]
)
def test_block(page: str, language: str, code: str, folders: dict[str, Path]) -> None:
    is_python = language == "python"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"] if is_python else ["bash", "-euo", "pipefail"],
        input=code if is_python else commands(code),
        cwd=folders[page],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if not is_python:
        expected = [line for line in code.splitlines() if not line.startswith("$ ")]
        assert [line for line in expected if line and line not in done.stdout] == []


def commands(code: str) -> str:
    """What stands behind the prompts of a console block: ``$ echo a`` and its output ``a``."""
    lines = (line for line in code.splitlines() if line.startswith("$ "))
    return "\n".join(line.removeprefix("$ ") for line in lines)


def test_every_block_has_a_known_language() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    languages = {match["language"] for text in texts for match in BLOCK.finditer(text)}
    assert languages - SHOWN_ONLY <= {"python", "console"}


def test_make_targets_named_in_the_readme_exist() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", README.read_text(encoding="utf-8")))
    assert {"demo", "test"} <= named
    assert [
        name for name in sorted(named) if not re.search(rf"^{name}:", rules, re.MULTILINE)
    ] == []


def test_file_tree_lists_every_module() -> None:
    text = README.read_text(encoding="utf-8")
    listed = set(re.findall(r"^  ([a-z_]+(?:\.py|/)) ", text, re.MULTILINE))
    package = ROOT / "src" / "hbgl"
    present = {path.name for path in package.glob("*.py") if not path.name.startswith("_")}
    present |= {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert listed == present
