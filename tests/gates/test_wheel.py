"""The built wheel in a clean environment: only the wheel and what it declares as dependencies.

The environment's packages are links to those of this one, so nothing is downloaded, and a
dependency that is used but not declared is missed here as it would be on a user's machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hbgl import __version__

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run outside the clone, with nothing on the path but the environment."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        command, cwd=cwd, env=clean, capture_output=True, text=True, timeout=400, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    done = run(sys.executable, *build, "-w", folder, ROOT, cwd=folder)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel and its dependencies, without extras."""
    folder = tmp_path_factory.mktemp("clean") / "env"
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in sorted(needed("hbgl")):
        link_distribution(name, packages)
    commands = folder / "bin"
    install = ("-m", "pip", "--python", commands / "python", "install", "-q", "--no-deps")
    done = run(sys.executable, *install, "--no-index", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    return commands


def needed(root: str, *extras: str) -> set[str]:
    """The names of all distributions that ``root`` needs with these extras, itself left out."""
    found: set[str] = set()
    waiting = [(root, frozenset(extras))]
    seen = set(waiting)
    while waiting:
        name, chosen = waiting.pop()
        for text in metadata.requires(name) or []:
            requirement = Requirement(text)
            marker = requirement.marker
            wanted = [{"extra": extra} for extra in chosen] or [{"extra": ""}]
            if marker is not None and not any(marker.evaluate(one) for one in wanted):
                continue
            step = (canonical(requirement.name), frozenset(requirement.extras))
            if step not in seen:
                seen.add(step)
                waiting.append(step)
                found.add(step[0])
    return found - {root}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def link_distribution(name: str, packages: Path) -> None:
    """Link the top-level files and folders of an installed distribution into ``packages``."""
    distribution = metadata.distribution(name)
    for first in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
        source, target = Path(str(distribution.locate_file(first))), packages / first
        if not target.exists():
            target.symlink_to(source)


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"hbgl", f"hbgl-{__version__}.dist-info"}
    for name in ("hbgl/py.typed", "hbgl/cli/main.py"):
        assert name in names
    assert any(name.startswith("hbgl/corpora/data/clinc150/") for name in names)
    assert f"hbgl-{__version__}.dist-info/licenses/LICENSE" in names


def test_every_version_is_locked() -> None:
    """Of all that ``make`` installs, dependencies of dependencies too."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    locked = {canonical(line.partition("==")[0]) for line in lines if "==" in line}
    assert sorted(needed("hbgl", "dev") - locked) == [], "run `make lock`"


def test_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 4 * 2**20


def test_command_line(clean: Path, tmp_path: Path) -> None:
    help_page = run(clean / "hbgl", "--help", cwd=tmp_path)
    assert (help_page.returncode, help_page.stderr) == (0, "")
    assert "hbgl data check clinc150" in help_page.stdout
    version = run(clean / "python", "-m", "hbgl", "--version", cwd=tmp_path)
    assert version.stdout == f"hbgl {__version__}\n"
    check = run(clean / "hbgl", "data", "check", "clinc150", cwd=tmp_path)
    assert check.returncode == 0, check.stderr  # which tells the progress where it takes long
    assert check.stdout


@pytest.mark.parametrize(
    ("extra", "file", "content", "code"),
    [
        ("skos", "labels.ttl", b"", "read_taxonomy('labels.ttl')"),
        ("zstd", "a.jsonl.zst", b"\x28\xb5\x2f\xfd", "list(read_records('a.jsonl.zst'))"),
    ],
)
def test_a_missing_extra_is_named_with_its_install_command(
    extra: str, file: str, content: bytes, code: str, clean: Path, tmp_path: Path
) -> None:
    (tmp_path / file).write_bytes(content)
    script = (
        f"from hbgl.taxonomy import read_taxonomy\nfrom hbgl.records import read_records\n{code}"
    )
    done = run(clean / "python", "-c", script, cwd=tmp_path)
    last = done.stderr.strip().splitlines()[-1:]
    assert last
    assert last[0].startswith("hbgl.errors.MissingExtraError: ")
    assert last[0].endswith(f"install it with: pip install 'hbgl[{extra}]'")
