"""The taxonomy as a tree of text lines.

    science (12)
    |-- biology (4)
    `-- physics (8)

Lines are yielded one by one; walks are loops, so any depth can be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hbgl.taxonomy.structure import Taxonomy

__all__ = ["draw_tree"]

_DEEPEST_INDENT = 40
"""Levels that are indented; deeper ones say their level, or a long chain would fill the disk."""


def draw_tree(
    taxonomy: Taxonomy,
    *,
    counts: Mapping[str, int] | None = None,
    names: bool = False,
    levels: int | None = None,
    ascii_only: bool = False,
) -> Iterator[str]:
    """One line per label; a label with several parents is spelled out below the first of them.

    Args:
        taxonomy: What to draw.
        counts: A number to show behind each label, such as its documents.
        names: Show the words of labels too, where they are not the label.
        levels: How many levels to draw; what is left out is counted.
        ascii_only: Draw with ASCII characters.
    """
    branch, last, bar = ("|-- ", "`-- ", "|   ") if ascii_only else ("├── ", "└── ", "│   ")
    drawn: set[int] = set()
    # (id, depth, indent of its line, indent below it); the next label to draw comes last.
    waiting = [(i, 0, "", "") for i in reversed(range(taxonomy.level_slice(1).stop))]
    while waiting:
        i, depth, indent, below = waiting.pop()
        children = taxonomy.children(i).tolist()
        text = indent + _text(taxonomy, i, counts, names)
        if children and i in drawn:
            yield f"{text} (see above)"
            continue
        drawn.add(i)
        if children and levels is not None and depth + 1 >= levels:
            yield f"{text} ({len(taxonomy.descendants(i)):,} below)"
            continue
        yield text
        deeper = depth + 1
        if deeper > _DEEPEST_INDENT:
            line = f"{below}[{deeper + 1}] "
            waiting.extend((child, deeper, line, below) for child in reversed(children))
            continue
        for child in reversed(children):
            at_end = child == children[-1]
            waiting.append(
                (
                    child,
                    deeper,
                    below + (last if at_end else branch),
                    below + ("    " if at_end else bar),
                )
            )


def _text(taxonomy: Taxonomy, i: int, counts: Mapping[str, int] | None, names: bool) -> str:
    label = taxonomy.labels[i]
    words = taxonomy.names[label]
    text = f"{label}: {words}" if names and words != label else label
    return f"{text} ({counts.get(label, 0):,})" if counts is not None else text
