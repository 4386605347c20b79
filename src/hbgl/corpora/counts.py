"""What the literature says a corpus holds, what a prepared folder holds, and the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hbgl.taxonomy import Taxonomy

__all__ = ["PUBLISHED", "PublishedCounts", "Statistics", "differences", "measure"]


@dataclass(frozen=True, slots=True)
class PublishedCounts:
    """Published figures; None where a publication gives none."""

    source: str
    labels: int | None = None
    depth: int | None = None
    documents: Mapping[str, int] | None = None
    labels_per_document: float | None = None


PUBLISHED: dict[str, PublishedCounts] = {
    "wos": PublishedCounts(
        "Jiang et al. 2022, Table 1", 141, 2, {"train": 30070, "dev": 7518, "test": 9397}, 2.0
    ),
    "nyt": PublishedCounts(
        "Jiang et al. 2022, Table 1", 166, 8, {"train": 23345, "dev": 5834, "test": 7292}, 7.6
    ),
    "rcv1": PublishedCounts(
        "Jiang et al. 2022, Table 1", 103, 4, {"train": 20833, "dev": 2316, "test": 781265}, 3.24
    ),
    "bgc": PublishedCounts(
        "README of BlurbGenreCollection-EN",
        depth=4,
        documents={"train": 58715, "dev": 14785, "test": 18394},
    ),
    "reuters21578": PublishedCounts(
        "ModApte, documents with a topic (README of Reuters-21578, Distribution 1.0); "
        "a tenth of train is dev",
        documents={"train": 6998, "dev": 777, "test": 3019},
    ),
    "clinc150": PublishedCounts(
        "Larson et al. 2019", 160, 2, {"train": 15000, "dev": 3000, "test": 4500}, 2.0
    ),
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a prepared corpus folder; labels counted with their ancestors."""

    labels: int
    depth: int
    documents: dict[str, int]
    labels_per_document: float
    labels_without_documents: int
    documents_without_labels: int


def measure(taxonomy: Taxonomy, label_sets: Mapping[str, Counter[tuple[str, ...]]]) -> Statistics:
    """Count a corpus from the label sets of its splits (set -> number of documents)."""
    documents = {split: sum(counts.values()) for split, counts in label_sets.items()}
    total: Counter[tuple[str, ...]] = Counter()
    for counts in label_sets.values():
        total.update(counts)
    used: set[int] = set()
    assigned = 0
    for labels, number in total.items():
        closed = taxonomy.closure(int(i) for i in taxonomy.ids(labels))
        used.update(int(i) for i in closed)
        assigned += len(closed) * number
    all_documents = sum(documents.values())
    return Statistics(
        labels=len(taxonomy),
        depth=taxonomy.depth,
        documents=documents,
        labels_per_document=round(assigned / all_documents, 4) if all_documents else 0.0,
        labels_without_documents=len(taxonomy) - len(used),
        documents_without_labels=total[()],
    )


def differences(corpus: str, found: Statistics) -> list[str]:
    """Say where a prepared corpus differs from the published figures, one line for each."""
    published = PUBLISHED.get(corpus)
    if published is None:
        return []
    lines = []
    for what, here, there in (
        ("labels", found.labels, published.labels),
        ("depth", found.depth, published.depth),
        *(
            (f"{split} documents", found.documents.get(split, 0), number)
            for split, number in (published.documents or {}).items()
        ),
    ):
        if there is not None and here != there:
            lines.append(f"{what}: {here:,} here, {there:,} published ({here - there:+,})")
    average = published.labels_per_document
    # Published with one or two decimals: half of the last digit is rounding.
    if average is not None and abs(found.labels_per_document - average) > _rounding(average):
        lines.append(f"labels per document: {found.labels_per_document} here, {average} published")
    return lines


def _rounding(average: float) -> float:
    decimals = len(str(average).partition(".")[2])
    return float(0.5 * 10**-decimals + 1e-9)
