"""The package as others import it: its version, its public names, its place in the wheel."""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path

import pytest

import hbgl

SOURCE = Path(hbgl.__file__).parent
MODULES = sorted(
    ".".join(("hbgl", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("*.py")
    if not path.name.startswith("_")
)


def test_version_is_that_of_the_installed_package() -> None:
    assert hbgl.__version__ == metadata.version("hbgl")


def test_types_are_declared() -> None:
    assert (SOURCE / "py.typed").is_file()


@pytest.mark.parametrize("name", MODULES)
def test_public_names(name: str) -> None:
    """``__all__`` is there, without repetition, and true."""
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    names = list(module.__all__)
    assert len(names) == len(set(names))
    assert [one for one in names if not hasattr(module, one)] == []
