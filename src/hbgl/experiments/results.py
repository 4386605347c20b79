"""``results.md``, ``.csv``, ``.json`` and ``.html``, each complete or as it was before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hbgl.durable_files import replace_file
from hbgl.experiments.page import results_page
from hbgl.experiments.summary import Summary
from hbgl.experiments.tables import csv_table, markdown

__all__ = ["write_files", "write_results"]


def write_results(summary: Summary, output: Path) -> None:
    """Write all four."""
    write_files(
        output,
        {
            "results.md": markdown(summary).encode("utf-8", "replace"),
            "results.csv": csv_table(summary).encode("utf-8", "replace"),
            "results.json": f"{json.dumps(summary.to_json(), indent=1)}\n".encode(),
            "results.html": results_page(summary).encode(),
        },
    )


def write_files(output: Path, files: Mapping[str, bytes]) -> None:
    """Each file as a whole."""
    output.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        replace_file(output / name, content)
