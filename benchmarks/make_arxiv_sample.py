"""Draw the bundled sample of the arXiv corpus: a stratified part of each split, 2 MB at most.

    python benchmarks/make_arxiv_sample.py ../shared/data/arxiv src/hbgl/corpora/data/arxiv

The sample of each split keeps its label distribution. Labels without a training document in the
sample are pruned from taxonomy, names and documents; their documents stay with the parent. The
same input and seed give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from hbgl.corpora import CorpusFolder, open_corpus
from hbgl.records import Record
from hbgl.splitting import assign_splits
from hbgl.taxonomy import NAMES_FILE, Taxonomy, names_text, write_taxonomy

SEED = 20220531
SIZES = {"train": 3100, "dev": 400, "test": 650}
LIMIT = 2_000_000  # bytes of the whole folder


def main() -> None:
    """Read the arguments and write the sample."""
    parser = argparse.ArgumentParser(description="Draw the bundled sample of the arXiv corpus.")
    parser.add_argument("source", type=Path, help="the whole corpus, a corpus folder")
    parser.add_argument("destination", type=Path, help="the sample's folder; files are replaced")
    arguments = parser.parse_args()
    corpus = open_corpus(arguments.source)
    sample = {split: draw(corpus, split, size) for split, size in SIZES.items()}
    kept = {label for record in sample["train"] for label in record.labels}
    taxonomy = prune(corpus.taxonomy, kept)
    arguments.destination.mkdir(parents=True, exist_ok=True)
    for split, records in sample.items():
        write(records, kept, arguments.destination / f"{split}.jsonl.gz")
    write_taxonomy(taxonomy, arguments.destination / "taxonomy.tsv")
    names = arguments.destination / NAMES_FILE
    names.write_text(names_text(taxonomy), encoding="utf-8")
    readme = arguments.destination / "README.md"
    readme.write_text(describe(corpus, taxonomy, sample, kept), encoding="utf-8")
    size = sum(file.stat().st_size for file in arguments.destination.iterdir())
    print(f"{len(taxonomy)} labels, {sum(map(len, sample.values()))} documents, {size:,} bytes")
    if size > LIMIT:
        raise SystemExit(f"larger than {LIMIT:,} bytes: draw fewer documents")


def draw(corpus: CorpusFolder, split: str, size: int) -> list[Record]:
    """Return about ``size`` documents of a split with the label distribution of all."""
    records = list(corpus.records(split))
    share = size / len(records)
    parts, _ = assign_splits(records, {"sample": share, "rest": 1 - share}, seed=SEED)
    return [record for record, part in zip(records, parts, strict=True) if part == "sample"]


def prune(taxonomy: Taxonomy, kept: set[str]) -> Taxonomy:
    """Return the taxonomy of the kept labels, which are closed under ancestors."""
    edges = [(taxonomy.labels[int(p)], taxonomy.labels[int(c)]) for p, c in taxonomy.edges]
    return Taxonomy.from_edges(
        [edge for edge in edges if edge[1] in kept],
        labels=[label for label in taxonomy.labels if label in kept],
        names={label: taxonomy.names[label] for label in kept},
    )


def write(records: list[Record], kept: set[str], path: Path) -> None:
    """Write one split; the smallest gzip, without a time stamp."""
    lines = []
    for record in records:
        labels = [label for label in record.labels if label in kept]
        document = {"text": record.text, "labels": labels}
        lines.append(json.dumps(document, ensure_ascii=False) + "\n")
    path.write_bytes(gzip.compress("".join(lines).encode("utf-8"), compresslevel=9, mtime=0))


def describe(
    corpus: CorpusFolder, taxonomy: Taxonomy, sample: dict[str, list[Record]], kept: set[str]
) -> str:
    """Return the README of the sample."""
    gone = [label for label in corpus.taxonomy.labels if label not in kept]
    everything = [record for records in sample.values() for record in records]
    labels = sum(sum(label in kept for label in record.labels) for record in everything)
    words = sum(len(record.text.split()) for record in everything)
    levels = " + ".join(
        str(len(range(*taxonomy.level_slice(level).indices(len(taxonomy)))))
        for level in range(1, taxonomy.depth + 1)
    )
    sizes = " / ".join(str(len(sample[split])) for split in SIZES)
    rarest = min(sum(label in record.labels for record in sample["train"]) for label in kept)
    pruned = ", ".join(f"`{label}`" for label in gone) or "none"
    return f"""# arXiv abstracts, a sample (three levels, multi-path)

Titles and abstracts of arXiv papers with their categories; cross-lists give several paths. A small
part of a larger corpus, for trying things out and for tests: scores on it are no benchmark.

- **Source:** arXiv metadata, as kept in public GitHub repositories of daily arXiv listings; only
  title, abstract and category names are kept, nothing written by the repositories' owners.
- **Licence:** CC0 1.0. arXiv dedicates its metadata, abstracts included, to the public domain.
  Licence text: <https://creativecommons.org/publicdomain/zero/1.0/legalcode>.
- **Sample:** a stratified part of each split of a corpus of 26,000 papers, drawn with seed {SEED}
  by `benchmarks/make_arxiv_sample.py`. In the larger corpus rare categories are drawn more often
  than they occur, and the papers come from personal reading lists: computer science leans to
  machine learning, mathematics to partial differential equations.
- **Taxonomy:** group > category, and for physics group > archive > category. Labels are arXiv's
  own identifiers; groups are `cs`, `econ`, `eess`, `math`, `phys`, `q-bio`, `q-fin`, `stat`
  (`phys` is the group, `physics` the archive in it). Official aliases are joined
  (math.MP = math-ph, math.IT = cs.IT, cs.NA = math.NA, cs.SY = eess.SY, stat.TH = math.ST,
  q-fin.EC = econ.GN).
- **Pruned labels** (no training document in the sample): {pruned}.
- **Names:** arXiv's category names in lower case, made unambiguous by hand.

| statistic | value |
| --- | --- |
| labels L | {len(taxonomy)} ({levels} by level; {len(taxonomy.leaves)} leaves) |
| maximum depth D | {taxonomy.depth} |
| average labels per document | {labels / len(everything):.3f} |
| documents train / dev / test | {sizes} |
| average words per document (whitespace split) | {words / len(everything):.1f} |
| training documents of the rarest label | {rarest} |
"""


if __name__ == "__main__":
    main()
