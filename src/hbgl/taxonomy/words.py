"""``names.json``: label -> words, read with line numbers and checked against the labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from hbgl.errors import Fault, TaxonomyError
from hbgl.taxonomy.located import Pairs, Scalar, parse_json
from hbgl.taxonomy.names import PATH_SEPARATOR, ROOT, name_fault, quoted
from hbgl.taxonomy.nearest import NearestNames
from hbgl.taxonomy.source import read_source

__all__ = ["check_names", "read_names"]

_REFUSED = "the names of the labels cannot be used"


def check_names(
    names: Mapping[str, object],
    labels: Collection[str],
    *,
    file: str | None = None,
    lines: Mapping[str, int] | None = None,
) -> None:
    """Refuse names of unknown labels and words that are empty, padded or no text.

    Args:
        names: Label -> words; an entry for the root is allowed and has no effect.
        labels: The known labels.
        file: Where the names come from, for messages.
        lines: The line of each entry in that file.
    """
    faults = []
    nearest = NearestNames(list(labels))
    for label, words in names.items():
        if label not in labels and label != ROOT:
            message = f"words for the unknown label {quoted(label)}{nearest.hint(label)}"
        elif not isinstance(words, str):
            message = f"the words for {quoted(label)} are no text"
        else:
            # Words are never part of a path, so the separator may stand in them.
            wrong = name_fault(words.replace(PATH_SEPARATOR, ""))
            if wrong is None:
                continue
            message = f"the words for {quoted(label)}: {wrong}"
        faults.append(Fault(message, file, (lines or {}).get(label)))
    if faults:
        raise TaxonomyError(_REFUSED, faults)


def read_names(path: Path, labels: Collection[str]) -> dict[str, str]:
    """Read and check a ``names.json``: one JSON object, label -> words."""
    file = str(path)
    top = parse_json(read_source(path), file)
    if not isinstance(top, Pairs):
        raise TaxonomyError(f"{file}: names must be one JSON object, label -> words")
    names: dict[str, str | None] = {}
    lines: dict[str, int] = {}
    faults = []
    for key, value in top.values:
        label = key.text or ""
        if label in names:
            message = f"{quoted(label)} has words already (line {lines[label]})"
            faults.append(Fault(message, file, key.line))
        names[label] = value.text if isinstance(value, Scalar) else None
        lines[label] = key.line
    if faults:
        raise TaxonomyError(_REFUSED, faults)
    check_names(names, labels, file=file, lines=lines)
    return {label: words for label, words in names.items() if words is not None}
