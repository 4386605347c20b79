"""From label paths to a taxonomy and to label sets that are closed under ancestors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import numpy.typing as npt

from hbgl.classifier.targets import Path, Targets
from hbgl.classifier.texts import read_each
from hbgl.errors import HBGLError
from hbgl.records.faults import BadRecordError
from hbgl.records.labels import LabelReader
from hbgl.taxonomy import Taxonomy, read_taxonomy

__all__ = ["closed_labels", "column_ids", "given_taxonomy", "taxonomy_of_paths"]


def given_taxonomy(taxonomy: Any, faults: list[str]) -> Taxonomy | None:
    """The ``taxonomy`` parameter: a Taxonomy, a file of one, or (parent, child) edges."""
    if taxonomy is None or isinstance(taxonomy, Taxonomy):
        return taxonomy
    try:
        if isinstance(taxonomy, (str, FilePath)):
            return read_taxonomy(taxonomy)
        edges = [tuple(edge) for edge in taxonomy]
        if not all(len(edge) == 2 and all(isinstance(end, str) for end in edge) for edge in edges):
            faults.append("taxonomy: edges are pairs of labels, (parent, child)")
            return None
        return Taxonomy.from_edges([(parent, child) for parent, child in edges])
    except TypeError:
        kind = type(taxonomy).__name__
        faults.append(f"taxonomy must be a Taxonomy, a file or a list of edges, not {kind}")
    except (HBGLError, OSError) as fault:
        faults.append(f"taxonomy: {fault}")
    return None


def taxonomy_of_paths(targets: Iterable[Targets], faults: list[str]) -> Taxonomy | None:
    """The taxonomy that the paths in y form; a label that is in no path is a root."""
    paths: dict[Path, None] = {}
    for target in targets:
        paths.update(dict.fromkeys(target.paths))
        for row in target.rows:
            paths.update(dict.fromkeys(row))
    if not paths:
        if not faults:  # else they are the reason
            faults.append("y has no labels at all, and no taxonomy is given")
        return None
    try:
        return Taxonomy.from_paths(paths)
    except HBGLError as fault:
        faults.append(f"the paths in y form no taxonomy: {fault}")
        return None


def closed_labels(
    targets: Targets, taxonomy: Taxonomy, name: str, faults: list[str]
) -> list[tuple[str, ...]]:
    """Of each row its labels with their ancestors, in taxonomy order."""
    reader = LabelReader(taxonomy)

    def read(row: list[Path]) -> tuple[str, ...]:
        try:
            return reader.read(row)
        except BadRecordError as fault:
            if fault.reason != "wrong path":
                raise
            hint = "a tuple is one path, a list has several labels"
            raise BadRecordError(fault.reason, f"{fault} ({hint})") from fault

    return read_each(targets.rows, read, (), name, faults)


def column_ids(
    columns: Sequence[str], taxonomy: Taxonomy, faults: list[str]
) -> npt.NDArray[np.int64]:
    """The label of each column that is named by a label or a path."""
    reader = LabelReader(taxonomy)

    def read(column: str) -> int:
        (path,) = reader.paths([column])
        reader.read([path])
        # The plain name of a label may be that of several; its path is not.
        known = path[-1] in taxonomy
        return taxonomy.id(path[-1]) if known else int(taxonomy.path_ids(path)[-1])

    before = len(faults)
    found = read_each(columns, read, -1, "columns of y", faults)
    if len(faults) == before and len(set(found)) < len(found):
        faults.append("two columns of y are the same label")
    return np.array(found, dtype=np.int64)
