"""Bars and small curves in a terminal, from block characters, or ASCII where those are unknown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

__all__ = ["bar", "curve", "speaks_unicode"]

_UPWARDS = " ▁▂▃▄▅▆▇█"
_RIGHTWARDS = " ▏▎▍▌▋▊▉█"
_WIDEST_COLUMN = 8  # characters that stand for one point

Point = tuple[float, float]


def speaks_unicode() -> bool:
    """Whether standard output can show block characters."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """A bar of up to ``width`` characters.

    >>> bar(0.5, 5), bar(0.5, 4, ascii_only=True)
    ('██▌', '##')
    """
    if ascii_only:
        return "#" * round(share * width)
    full, rest = divmod(round(share * width * 8), 8)
    return "█" * full + (_RIGHTWARDS[rest] if rest else "")


def curve(
    points: Sequence[Point], *, width: int = 60, height: int = 4, ascii_only: bool = False
) -> Iterator[str]:
    """A curve of (x, y) points, x rising, as filled columns between the lowest and the highest y.

    Points that share a column are averaged; a column without a point repeats the one before.

    >>> for line in curve([(0, 1.0), (1, 2.0), (2, 3.0)], width=3, height=2):
    ...     print(line)
    3 | ▁█
    1 |▁██
       0 2
    """
    columns = _columns(points, min(width, len(points) * _WIDEST_COLUMN))
    low, high = min(columns), max(columns)
    # In eighths of a character, from one eighth up, so that the lowest column is there, too.
    most = height * 8 - 1
    scale = most / (high - low) if high > low else 0.0
    levels = [1 + round((y - low) * scale) for y in columns]
    names = {height - 1: f"{high:.4g}"} if high > low else {}
    names[0] = f"{low:.4g}"
    margin = max(map(len, names.values()))
    for row in reversed(range(height)):
        drawn = "".join(_block(level - row * 8, ascii_only) for level in levels)
        yield f"{names.get(row, ''):>{margin}} |{drawn}".rstrip()
    first, last = f"{points[0][0]:.6g}", f"{points[-1][0]:.6g}"
    gap = max(len(columns) - len(first) - len(last), 1)
    yield f"{'':>{margin}}  {first}{' ' * gap}{last}"


def _columns(points: Sequence[Point], width: int) -> list[float]:
    """The mean y of each of ``width`` equal stretches of x; the last point has one, too."""
    start, end = points[0][0], points[-1][0]
    scale = width * (len(points) - 1) / len(points) / (end - start) if end > start else 0.0
    found: list[list[float]] = [[] for _ in range(width)]
    for x, y in points:
        found[min(int((x - start) * scale), width - 1)].append(y)
    columns: list[float] = []
    for group in found:
        columns.append(sum(group) / len(group) if group else columns[-1])
    return columns


def _block(eighths: int, ascii_only: bool) -> str:
    block = _UPWARDS[min(max(eighths, 0), 8)]
    return ("#" if eighths >= 4 else " ") if ascii_only else block
