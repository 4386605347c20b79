"""Write ``docs/cli.md`` from the ``--help`` of every command; ``--check`` only compares."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hbgl.cli.main import app

__all__ = ["commands", "reference"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
OPENING = """\
# The command line

Every command's `--help`, written by `make docs`.
"""
WIDTH = 96


def commands() -> Iterator[tuple[typer.Context, Any]]:
    """Every group and command, each with the context that names it, parents first."""
    root = typer.main.get_command(app)
    yield from _walk(typer.Context(root, info_name="hbgl", terminal_width=WIDTH), root)


def _walk(context: typer.Context, command: Any) -> Iterator[tuple[typer.Context, Any]]:
    yield context, command
    for name in getattr(command, "commands", {}):
        _, child, _ = command.resolve_command(context, [name])
        child_context = typer.Context(
            child, info_name=name, parent=context, terminal_width=WIDTH, max_content_width=WIDTH
        )
        yield from _walk(child_context, child)


def reference() -> str:
    """The whole page."""
    sections = [OPENING]
    for context, command in commands():
        command.rich_markup_mode = None
        lines = (line.rstrip() for line in command.get_help(context).splitlines())
        text = "\n".join(lines).strip("\n")
        sections.append(f"## {context.command_path}\n\n```text\n{text}\n```\n")
    return "\n".join(sections)


def main() -> int:
    """Write or compare the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    check = parser.parse_args().check
    new = reference()
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    elif new != old:
        difference = difflib.unified_diff(
            old.splitlines(), new.splitlines(), "docs/cli.md", "--help", lineterm=""
        )
        print("\n".join([*difference, "docs/cli.md is out of date: run `make docs`"]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
