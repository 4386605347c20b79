"""From paths of names to labels with unique names, and the pruning of rare labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from hbgl.taxonomy import Taxonomy
from hbgl.taxonomy.names import fold_name
from hbgl.taxonomy.paths import qualified_names

__all__ = ["frequent_labels", "taxonomy_from_paths", "unique_labels"]

Path = tuple[str, ...]


def unique_labels(paths: Iterable[Sequence[str]]) -> dict[Path, str]:
    """Name every node on the paths: its last name if no other node has it, else qualified.

    Names that differ only in case count as the same.

    >>> unique_labels([("Medical", "Depression"), ("Psychology", "Depression"), ("CS", "Logic")])[
    ...     ("Medical", "Depression")
    ... ]
    'Depression (Medical)'
    """
    nodes = dict.fromkeys(tuple(path[:end]) for path in paths for end in range(1, len(path) + 1))
    labels: dict[Path, str] = {}
    pending = list(nodes)
    # Short names first; a node whose name is not its own gets one more ancestor each round.
    rounds = 1
    while pending:
        names = {node: _name(node, rounds) for node in pending}
        taken = Counter(fold_name(name) for name in names.values())
        taken.update(fold_name(label) for label in labels.values())
        labels.update({node: name for node, name in names.items() if taken[fold_name(name)] == 1})
        still = [node for node in pending if node not in labels]
        if rounds > max((len(node) for node in still), default=0):
            for number, node in enumerate(still, 1):  # equal but for case along the whole path
                labels[node] = f"{' / '.join(node)} #{number}"
            break
        pending = still
        rounds += 1
    return {node: labels[node] for node in nodes}


def taxonomy_from_paths(
    labels: Mapping[Path, str], words: Mapping[str, str] | None = None
) -> Taxonomy:
    """Build the forest of named nodes; a label's words are given or the last name of its path."""
    edges = [(labels[node[:-1]], label) for node, label in labels.items() if len(node) > 1]
    names = {label: node[-1] for node, label in labels.items() if label != node[-1]}
    names.update({label: words[label] for label in labels.values() if words and label in words})
    return Taxonomy.from_edges(edges, labels=list(labels.values()), names=names)


def frequent_labels(
    taxonomy: Taxonomy, label_sets: Iterable[Collection[str]], minimum: int
) -> set[str]:
    """Return the labels that at least ``minimum`` of the documents have, ancestors counted."""
    counts: Counter[str] = Counter()
    for labels in label_sets:
        closed = taxonomy.closure(int(i) for i in taxonomy.ids(labels))
        counts.update(taxonomy.labels[int(i)] for i in closed)
    return {label for label in taxonomy.labels if counts[label] >= minimum}


def _name(node: Path, ancestors: int) -> str:
    """The name with up to ``ancestors - 1`` names above it, as paths are looked up later."""
    names = list(qualified_names(node))
    return names[min(ancestors, len(names)) - 1]
