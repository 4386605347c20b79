"""``names.json``: label -> words, read with line numbers and checked against the labels."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from hbgl.errors import Fault, TaxonomyError
from hbgl.taxonomy.names import ROOT, name_fault, quoted
from hbgl.taxonomy.nearest import NearestNames
from hbgl.taxonomy.source import decode_text, read_source

__all__ = ["check_names", "read_names"]


def check_names(
    names: Mapping[str, object],
    labels: Collection[str],
    *,
    file: str | None = None,
    text: str | None = None,
) -> None:
    """Refuse names of unknown labels and words that are empty, padded or no text.

    Args:
        names: Label -> words; an entry for the root is allowed and has no effect.
        labels: The known labels.
        file: Where the names come from, for messages.
        text: The content of that file, for line numbers.
    """
    faults = []
    nearest = NearestNames(list(labels))
    for label, words in names.items():
        if label not in labels and label != ROOT:
            message = f"words for the unknown label {quoted(label)}{nearest.hint(label)}"
        elif not isinstance(words, str):
            message = f"the words for {quoted(label)} are no text"
        else:
            wrong = name_fault(words)
            if wrong is None or wrong.startswith('separator " > "'):
                continue
            message = f"the words for {quoted(label)}: {wrong}"
        faults.append(Fault(message, file, _line_of_key(label, text) if text else None))
    if faults:
        raise TaxonomyError("the names of the labels cannot be used", faults)


def read_names(path: Path, labels: Collection[str]) -> dict[str, str]:
    """Read and check a ``names.json``: one JSON object, label -> words."""
    text = decode_text(read_source(path), str(path))
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in found if keys.count(key) > 1)
        return found

    try:
        names = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        fault = Fault(f"broken JSON: {error.msg}", str(path), error.lineno)
        raise TaxonomyError("the names of the labels cannot be read", [fault]) from error
    except (RecursionError, ValueError) as error:
        raise TaxonomyError(f"{path}: broken JSON: nested too deep or a number too long") from error
    if not isinstance(names, dict):
        raise TaxonomyError(f"{path}: names must be one JSON object, label -> words")
    if repeated:
        faults = [
            Fault(f"several words for {quoted(key)}", str(path), _line_of_key(key, text))
            for key in repeated
        ]
        raise TaxonomyError("the names of the labels cannot be used", faults)
    check_names(names, labels, file=str(path), text=text)
    return names


def _line_of_key(key: str, text: str) -> int | None:
    """The line of the last entry for a key."""
    spelled = "|".join(
        re.escape(json.dumps(key, ensure_ascii=escaped)) for escaped in (False, True)
    )
    starts = [found.start() for found in re.finditer(f"(?:{spelled})\\s*:", text)]
    return text.count("\n", 0, starts[-1]) + 1 if starts else None
