"""Published scores to stand beside ours, where the corpus is the same one.

``paper``: Jiang et al. 2022, Tables 2 to 4. ``rerun``: an independent rerun of the authors' code
over five seeds, with its deviation. All in percent, with ``bert-base-uncased``.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED_ROWS", "PublishedScore", "published_scores"]


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """Scores of one method on one corpus, in percent."""

    source: str
    micro_f1: float
    macro_f1: float
    micro_deviation: float | None = None
    macro_deviation: float | None = None


_PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "HBGL": {"wos": (87.36, 82.00), "nyt": (80.47, 70.19), "rcv1": (87.23, 71.07)},
    "BERT": {"wos": (85.63, 79.07), "nyt": (78.24, 65.62), "rcv1": (85.65, 67.02)},
    "HGCLR": {"wos": (87.11, 81.20), "nyt": (78.86, 67.96), "rcv1": (86.49, 68.31)},
    "random": {"nyt": (79.18, 67.92), "rcv1": (86.98, 70.15)},
    "label name": {"nyt": (80.26, 69.64), "rcv1": (87.20, 70.24)},
    "GAT": {"nyt": (80.15, 69.59), "rcv1": (86.69, 70.23)},
    "multi-label": {"nyt": (78.16, 67.05), "rcv1": (85.96, 68.03)},
    "seq2seq": {"nyt": (79.22, 67.82), "rcv1": (86.22, 67.97)},
}
_RERUN: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "HBGL": {
        "wos": (87.27, 81.87, 0.15, 0.29),
        "nyt": (80.33, 69.73, 0.14, 0.07),
        "rcv1": (87.00, 70.48, 0.05, 0.29),
    },
}
_SAME = {"rcv1-v2": "rcv1", "rcv1v2": "rcv1"}
PUBLISHED_ROWS = tuple(_PAPER)
"""The rows that a method may stand beside."""


def published_scores(row: str | None, corpus: str) -> list[PublishedScore]:
    """What is published for a row on a corpus of this name; nothing for other corpora.

    >>> [one.macro_f1 for one in published_scores("HBGL", "wos")]
    [82.0, 81.87]
    """
    name = _SAME.get(corpus.lower(), corpus.lower())
    found = []
    if row in _PAPER and name in _PAPER[row]:
        found.append(PublishedScore("paper", *_PAPER[row][name]))
    if row in _RERUN and name in _RERUN[row]:
        found.append(PublishedScore("rerun", *_RERUN[row][name]))
    return found
