"""All the faults of a draft at once, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np

from hbgl.errors import TaxonomyError
from hbgl.taxonomy.draft import NO_PARENT, Draft
from hbgl.taxonomy.names import PATH_SEPARATOR, fold_name, name_fault, quoted
from hbgl.taxonomy.nearest import NearestNames

__all__ = ["check_draft"]

_SHOWN = 8
"""Labels of a long cycle, or roots of a long list, that a message spells out."""

_MOST_SPELLED = 1_000_000
"""Labels on cycles before the rest is summed up: a long chain can close as many long cycles."""


def check_draft(draft: Draft, *, root_promised: bool = False) -> None:
    """Raise a TaxonomyError with every fault of the draft.

    Args:
        draft: What the source says.
        root_promised: The format demands the root by name, as the TSV does.
    """
    _check_names(draft)
    _check_duplicates(draft)
    _check_roots(draft, root_promised)
    _check_cycles(draft)
    if not draft.labels and not draft.faults:
        draft.fault("no labels: the taxonomy is empty")
    raise_faults(draft)


def raise_faults(draft: Draft) -> None:
    """Raise what is wrong so far, in the order of the lines."""
    if draft.faults:
        count = len(draft.faults)
        where = f" in {draft.file}" if draft.file else ""
        raise TaxonomyError(
            f"the taxonomy cannot be used: {count} fault{'s' if count > 1 else ''}{where}",
            sorted(draft.faults, key=lambda fault: fault.line or 0),
        )


def _line(draft: Draft, name: str) -> int:
    line = draft.first_lines[draft.labels[name]]
    return line or (draft.locate(name) if draft.locate else 0)


def _check_names(draft: Draft) -> None:
    seen: dict[str, str] = {}
    for name in draft.labels:
        wrong = name_fault(name)
        if name == draft.root:
            wrong = f"the root {quoted(name)} is no label"
        if wrong:
            draft.fault(wrong, _line(draft, name))
            continue
        other = seen.setdefault(fold_name(name), name)
        if other != name:
            line = _line(draft, other)
            place = f" (line {line})" if line else ""
            draft.fault(
                f"{quoted(name)} differs from {quoted(other)}{place} only in case or Unicode form",
                _line(draft, name),
            )


def _check_duplicates(draft: Draft) -> None:
    parents, children = draft.edge_arrays()
    keys = (parents.astype(np.int64) + 1) * len(draft.labels) + children
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse] != np.arange(len(keys)))
    if not len(repeated):
        return
    names = list(draft.labels)
    for edge in repeated.tolist():
        parent = draft.root if parents[edge] == NO_PARENT else names[parents[edge]]
        earlier = draft.lines[int(first[inverse[edge]])]
        place = f" (already on line {earlier})" if earlier else ""
        name = names[children[edge]]
        line = draft.lines[edge] or _line(draft, name)
        draft.fault(f"duplicate sibling {quoted(name)} below {quoted(parent)}{place}", line)


def _check_roots(draft: Draft, root_promised: bool) -> None:
    """Where the source names its root, every other label without a parent is a second root."""
    placed = set(draft.children)
    loose = [name for name, number in draft.labels.items() if number not in placed]
    if not draft.root_seen:
        if root_promised and draft.labels:
            draft.fault(
                f"no line begins with the root {quoted(draft.root)}{_shown(loose)} "
                "(if the root has another name, say so)",
                _line(draft, (loose or list(draft.labels))[0]),
            )
        return
    if not loose:
        return
    known = NearestNames(
        [draft.root, *(name for name, number in draft.labels.items() if number in placed)]
    )
    for name in loose:
        draft.fault(
            f"unknown parent {quoted(name)}: nothing puts it below {quoted(draft.root)}, so there "
            f"are two roots where one is promised{known.hint(name)}",
            _line(draft, name),
        )


def _shown(loose: list[str]) -> str:
    names = ", ".join(quoted(name) for name in loose[:_SHOWN])
    more = f" and {len(loose) - _SHOWN} more" if len(loose) > _SHOWN else ""
    return f"; without a parent: {names}{more}" if loose else ""


def _check_cycles(draft: Draft) -> None:
    """One fault for each edge that closes a cycle, found among the labels without a level."""
    levels = draft.levels()
    if all(levels):
        return
    below: dict[int, dict[int, int]] = {}  # parent -> child -> line of the edge
    for parent, child, line in zip(draft.parents, draft.children, draft.lines, strict=True):
        # A label below a cycle but not on it has level 0 too; it closes none.
        if parent != NO_PARENT and levels[parent] == 0 and levels[child] == 0:
            below.setdefault(parent, {}).setdefault(child, line)
    names = list(draft.labels)
    spelled = 0
    for cycle in _cycles(below):
        if spelled > _MOST_SPELLED:
            draft.fault("there are more cycles; correct these first")
            break
        spelled += len(cycle)
        line = max(below[parent][child] for parent, child in pairwise([*cycle, cycle[0]]))
        members = [names[member] for member in cycle]
        draft.fault(f"cycle: {_spell(members)}", line or _line(draft, min(members)))


def _cycles(below: Mapping[int, Iterable[int]]) -> Iterator[list[int]]:
    """Walk downward depth first; each edge back onto the path that led to it closes a cycle."""
    done: set[int] = set()
    for start in below:
        if start in done:
            continue
        path, place, waiting = [start], {start: 0}, [iter(below[start])]
        while path:
            child = next(waiting[-1], None)
            if child is None:
                waiting.pop()
                node = path.pop()
                del place[node]
                done.add(node)
            elif child in place:
                yield path[place[child] :]
            elif child not in done:
                place[child] = len(path)
                path.append(child)
                waiting.append(iter(below.get(child, ())))


def _spell(cycle: list[str]) -> str:
    first = min(range(len(cycle)), key=lambda i: cycle[i])
    turned = [*cycle[first:], *cycle[:first], cycle[first]]
    if len(turned) > 2 * _SHOWN:
        turned = [*turned[:_SHOWN], f"... ({len(cycle)} labels)", *turned[-2:]]
    return PATH_SEPARATOR.join(quoted(name)[1:-1] for name in turned)
