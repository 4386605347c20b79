"""``descriptions.json``: label -> a sentence, read with line numbers and checked."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hbgl.errors import Fault, TaxonomyError
from hbgl.taxonomy.located import Pairs, Scalar, parse_json
from hbgl.taxonomy.names import ROOT, quoted
from hbgl.taxonomy.nearest import NearestNames
from hbgl.taxonomy.source import read_source

__all__ = ["DESCRIPTIONS_FILE", "read_descriptions"]

DESCRIPTIONS_FILE = "descriptions.json"
"""Label -> a sentence, for some or all labels; beside a taxonomy."""


def read_descriptions(path: Path, labels: Collection[str]) -> dict[str, str]:
    """Read a ``descriptions.json``: one JSON object, label -> text of any length.

    :raises TaxonomyError: with all its faults: unknown labels, labels that come again, no text.
    """
    file = str(path)
    top = parse_json(read_source(path), file)
    if not isinstance(top, Pairs):
        raise TaxonomyError(f"{file}: descriptions must be one JSON object, label -> sentence")
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    faults = []
    nearest = NearestNames(list(labels))
    for key, value in top.values:
        label = key.text or ""
        text = value.text if isinstance(value, Scalar) else None
        if label in lines:
            message = f"{quoted(label)} is described already (line {lines[label]})"
        elif label not in labels and label != ROOT:
            message = f"a description of the unknown label {quoted(label)}{nearest.hint(label)}"
        elif text is None or not text.strip():
            message = f"the description of {quoted(label)} is no text"
        elif not _is_unicode(text):
            message = f"the description of {quoted(label)} has half a character (a surrogate)"
        else:
            found[label] = text
            lines[label] = key.line
            continue
        lines.setdefault(label, key.line)
        faults.append(Fault(message, file, key.line))
    if faults:
        raise TaxonomyError("the descriptions of the labels cannot be used", faults)
    return found


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
