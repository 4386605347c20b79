"""Web of Science, WOS-46985 (Kowsari et al. 2017): 7 domains, 134 areas, one path a document.

Two raw forms are read:

- the metadata table, ``Data.xlsx`` or the same as tab-separated text (one header line; columns
  Y1, Y2, Y, Domain, area, keywords, Abstract). The text is no CSV: a row never spans lines, but an
  abstract may stand in double quotes with inner quotes doubled;
- ``X.txt``, ``YL1.txt``, ``YL2.txt``: a text, a domain number and an area number on each line.

A label is a pair of numbers (Y1, Y2), as in the field's taxonomy. The table has several names
under nine of the 134 numbers; the number's most frequent name becomes the label.

The split is that of the scripts published with HiAGM and HBGL: shuffle the row numbers with seed
7, then hold out a fifth and a fifth of the rest with seed 0. It depends on the row order only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hbgl.corpora.label_names import taxonomy_from_paths, unique_labels
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand
from hbgl.corpora.split_choice import IdLists, shuffled_splits, twice_a_fifth
from hbgl.corpora.wos_files import Row, find_sources, read_rows
from hbgl.corpora.writing import CorpusWriter, Description, PreparedCorpus, corpus_writer
from hbgl.taxonomy import Taxonomy

__all__ = ["OPTIONS", "literature_split", "prepare"]

OPTIONS = ("train_ids", "dev_ids", "test_ids")
DOMAIN_WORDS = {
    "CS": "computer science",
    "ECE": "electrical and computer engineering",
    "MAE": "mechanical and aerospace engineering",
    "Civil": "civil engineering",
    "Medical": "medical science",
    "biochemistry": "biochemistry",
    "Psychology": "psychology",
}
ROWS = 46985
LITERATURE_SHUFFLE = 7
LITERATURE_HOLD_OUT = 0


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert WOS-46985 into a corpus folder.

    Raises:
        CorpusError: a raw file is missing, damaged or malformed.
        MissingExtraError: a spreadsheet without openpyxl.
    """
    options.refuse_unused("wos", OPTIONS)
    lists = IdLists.from_options(options)
    sources = find_sources(expand(raw))
    rows = []
    for row in read_rows(sources):
        rows.append(row)
        progress("reading", len(rows))
    labels, taxonomy = _label(rows)
    with corpus_writer("wos", destination, progress) as writer:
        split_note = _write(writer, rows, labels, lists, options.seed)
        if len(rows) != ROWS:
            writer.note(f"the raw files have {len(rows):,} rows, WOS-46985 has {ROWS:,}")
        if sources.table and sources.numbered:
            writer.note(f"texts and names are those of {sources.table.name}; X.txt was not needed")
        writer.finish(
            taxonomy,
            Description(
                "Web of Science (WOS-46985)",
                "Kowsari et al., HDLTex, 2017; Mendeley Data, doi 10.17632/9rw3vkcfy4",
                "CC BY 4.0 for the data set; the abstracts belong to their publishers",
                split_note,
            ),
        )
    return writer.result


def _write(
    writer: CorpusWriter,
    rows: Sequence[Row],
    labels: dict[tuple[int, int], tuple[str, str]],
    lists: IdLists | None,
    seed: int,
) -> str:
    splits: Sequence[str | None]
    if lists:
        splits = [lists.split(str(number)) for number in range(len(rows))]
        notes = [*lists.report(), "ids are row numbers of the raw file, the first row is 0"]
    elif seed == 0:
        splits = literature_split(len(rows))
        notes = [
            "split by the shuffle of the scripts that HiAGM and HBGL published (seeds 7 and 0); "
            "it yields their documents if the rows stand in the order of the distributed table, "
            "and other documents otherwise (X.txt has its own order); give --train-ids, "
            "--dev-ids and --test-ids to be sure"
        ]
    else:
        splits = shuffled_splits(len(rows), twice_a_fifth(len(rows)), seed)
        notes = [f"random split with seed {seed}: the sizes are the literature's, not the ids"]
    for note in notes:
        writer.note(note)
    for number, (row, split) in enumerate(zip(rows, splits, strict=True)):
        if split is None:
            writer.leave_out("documents that no id list names")
        elif not row.text:
            writer.leave_out("documents without text")
        else:
            writer.add(split, row.text, labels[row.domain, row.area], str(number))
    return "by id lists" if lists else f"a fifth test, a fifth of the rest dev, seed {seed}"


def literature_split(documents: int) -> list[str]:
    """Return the split of each row as the published scripts compute it."""
    order = np.arange(documents)
    np.random.RandomState(LITERATURE_SHUFFLE).shuffle(order)
    sizes = twice_a_fifth(documents)
    held_out = np.random.RandomState(LITERATURE_HOLD_OUT).permutation(documents)
    test, rest = np.split(order[held_out], [sizes["test"]])
    held_out = np.random.RandomState(LITERATURE_HOLD_OUT).permutation(len(rest))
    splits = np.full(documents, "train", dtype=object)
    splits[test] = "test"
    splits[rest[held_out][: sizes["dev"]]] = "dev"
    return list[str](splits)


def _label(rows: Sequence[Row]) -> tuple[dict[tuple[int, int], tuple[str, str]], Taxonomy]:
    """Name each domain and each (domain, area) pair, and build the taxonomy."""
    domain_names: dict[int, Counter[str]] = {}
    area_names: dict[tuple[int, int], Counter[str]] = {}
    for row in rows:
        domain_name = row.domain_name or str(row.domain)
        area_name = row.area_name or f"{row.domain}-{row.area}"
        domain_names.setdefault(row.domain, Counter())[domain_name] += 1
        area_names.setdefault((row.domain, row.area), Counter())[area_name] += 1
    paths: dict[tuple[int, int], tuple[str, str]] = {}
    for domain, area in sorted(area_names):
        # most_common is stable: among equals the name that the file has first.
        domain_name = domain_names[domain].most_common(1)[0][0]
        area_name = area_names[domain, area].most_common(1)[0][0]
        path = (domain_name, area_name)
        if path in paths.values():  # two numbers of a domain under one name
            path = (domain_name, f"{area_name} {area}")
        paths[domain, area] = path
    labels = unique_labels(paths.values())
    taxonomy = taxonomy_from_paths(labels, DOMAIN_WORDS)
    return {key: (labels[path[:1]], labels[path]) for key, path in paths.items()}, taxonomy
