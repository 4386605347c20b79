"""Corpus folders small enough to work out by hand, whose words spell their labels.

Tree (eight labels, three levels): animals: cats, dogs (dogs: puppies); plants: trees, herbs
(trees: oaks). Paths end at level 1, 2 or 3; some documents have two paths, some none; nothing in
train is an herb.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from hbgl.corpora import CorpusFolder, open_corpus

TREE = (
    "Root\tanimals\tplants\nanimals\tcats\tdogs\nplants\ttrees\therbs\ndogs\tpuppies\ntrees\toaks\n"
)
GRAPH = "Root\tmoney\tsport\nmoney\tbets\nsport\tbets\tball\n"

Rows = Sequence[tuple[str, Sequence[str]]]

TRAIN: Rows = (
    ("bank money bank", ["cats"]),
    ("bank money account", ["cats"]),
    ("wheat corn wheat", ["puppies"]),
    ("wheat corn grain", ["puppies"]),
    ("rain snow rain", ["trees"]),
    ("rain snow weather", ["trees"]),
    ("sun red sun", ["oaks"]),
    ("sun red green", ["oaks"]),
    ("police court police", ["animals"]),
    ("police court law", ["animals"]),
    ("bank money sun red", ["cats", "oaks"]),
    ("sun red bank money", ["cats", "oaks"]),
    ("film music film", []),
    ("film music game", []),
)
DEV: Rows = (
    ("bank money", ["cats"]),
    ("wheat corn", ["puppies"]),
    ("rain snow", ["trees"]),
    ("sun red", ["oaks"]),
    ("police court", ["animals"]),
    ("bank money sun red", ["cats", "oaks"]),
    ("film music", []),
)


def corpus_folder(
    path: Path, taxonomy: str = TREE, train: Rows = TRAIN, dev: Rows | None = DEV
) -> CorpusFolder:
    path.mkdir()
    (path / "taxonomy.tsv").write_text(taxonomy)
    for split, rows in (("train", train), ("dev", dev)):
        if rows is not None:
            lines = [json.dumps({"text": text, "labels": list(labels)}) for text, labels in rows]
            (path / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return open_corpus(path)


def closed_sets(corpus: CorpusFolder, labels: Iterable[Iterable[str]]) -> list[set[str]]:
    """Each set of labels with its ancestors."""
    taxonomy = corpus.taxonomy
    return [
        {taxonomy.labels[i] for i in taxonomy.closure(taxonomy.ids(one).tolist())} for one in labels
    ]
