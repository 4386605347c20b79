"""Train, dev and test from one file: same label distribution, no text in two of them.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): take the label that the fewest
remaining documents have, give each of these to the split that still lacks most documents of that
label, repeat. A heap holds the labels by their remaining documents, so the whole takes
O(n log n) steps for n label assignments. Near duplicates are one unit that is never divided.
"""

from __future__ import annotations

import heapq
import secrets
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hbgl.errors import CorpusError, RecordError, UsageError
from hbgl.records import Record
from hbgl.records.text_key import text_key
from hbgl.records.writing import record_writer
from hbgl.taxonomy import NAMES_FILE, Taxonomy, write_taxonomy

__all__ = [
    "SplitSummary",
    "assign_splits",
    "check_fractions",
    "corpus_files",
    "stratify",
    "write_splits",
]

_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")


def check_fractions(fractions: Mapping[str, float]) -> dict[str, float]:
    """The fractions without those that are zero; refused if they cannot be a division."""
    parts = ", ".join(f"{name} {fraction:g}" for name, fraction in fractions.items())
    if any(not 0 <= fraction <= 1 for fraction in fractions.values()):
        raise UsageError(f"the fraction of a split is between 0 and 1; here they are {parts}")
    total = sum(fractions.values())
    if abs(total - 1) > 1e-6:
        raise UsageError(f"the fractions of the splits add up to 1, not {total:g} ({parts})")
    return {name: fraction for name, fraction in fractions.items() if fraction > 0}


@dataclass(frozen=True)
class SplitSummary:
    """Documents per split, and how many repeat the text of another or have no labels."""

    documents: dict[str, int]
    near_duplicates: int
    without_labels: int


def write_splits(
    read: Callable[[], Iterable[Record]],
    folder: str | Path,
    *,
    taxonomy: Taxonomy,
    fractions: Mapping[str, float],
    seed: int = 0,
    compress: bool = False,
    overwrite: bool = False,
    keep: Iterable[Path] = (),
) -> SplitSummary:
    """Divide records into the files of a corpus folder: complete, or as it was before.

    Args:
        read: opens the records; called twice, so that no text is kept in memory.
        folder: the corpus folder.
        taxonomy: written beside the splits, with the words of its labels.
        fractions: split -> share of the documents; a split of share 0 is not written.
        seed: of the order in which documents are dealt.
        compress: whether to write ``.jsonl.gz``.
        overwrite: whether files of the corpus that are there may be replaced.
        keep: files that must not be replaced in any case: those that ``read`` reads.
    """
    folder = Path(folder)
    replaced = _files_to_replace(folder, fractions, keep, overwrite=overwrite)
    without_labels = 0

    def counted() -> Iterator[Record]:
        nonlocal without_labels
        for record in read():
            without_labels += not record.labels
            yield record

    chosen, repeated = assign_splits(counted(), fractions, seed=seed)
    if without_labels == len(chosen):
        raise RecordError(_nothing_to_divide(len(chosen)))
    beside = folder.absolute().parent / f".{folder.absolute().name}.{secrets.token_hex(4)}"
    try:
        beside.mkdir(parents=True)
        suffix = ".jsonl.gz" if compress else ".jsonl"
        files = {name: beside / f"{name}{suffix}" for name in check_fractions(fractions)}
        _write_files(read(), chosen, files)
        write_taxonomy(taxonomy, beside / "taxonomy.tsv")
        folder.mkdir(exist_ok=True)
        for file in sorted(beside.iterdir()):
            file.replace(folder / file.name)
            replaced = [old for old in replaced if old.name != file.name]
        for file in replaced:
            file.unlink()
    except OSError as error:
        raise CorpusError(f"{folder}: cannot be written: {error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    counts = Counter(chosen)
    return SplitSummary({name: counts[name] for name in files}, repeated, without_labels)


def _nothing_to_divide(documents: int) -> str:
    if not documents:
        return "there are no documents to divide"
    return (
        f"none of the {documents:,} documents has labels, so there is nothing to learn from them; "
        "name the column that holds the labels"
    )


def corpus_files(folder: Path, splits: Iterable[str]) -> list[Path]:
    """The files that a corpus folder may have, whether they are there or not."""
    names = [f"{split}{suffix}" for split in splits for suffix in _SUFFIXES]
    return [folder / name for name in (*names, "taxonomy.tsv", NAMES_FILE)]


def _files_to_replace(
    folder: Path, fractions: Mapping[str, float], keep: Iterable[Path], *, overwrite: bool
) -> list[Path]:
    """The files of a corpus that are in the folder, if they may be replaced."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file; name the folder to make")
    files = corpus_files(folder, fractions)
    present = [file for file in files if file.exists()]
    for file in (file for file in keep if file.exists()):
        if any(other.samefile(file) for other in present):
            raise UsageError(
                f"{file}: would be replaced by what is made from it; name a new folder"
            )
    if present and not overwrite:
        found = ", ".join(file.name for file in present)
        raise UsageError(f"{folder}: has {found} already; name a new folder, or use --force")
    return present


def _write_files(
    records: Iterable[Record], chosen: Sequence[str], files: Mapping[str, Path]
) -> None:
    with ExitStack() as stack:
        write = {
            name: stack.enter_context(record_writer(file, format="jsonl"))
            for name, file in files.items()
        }
        number = 0
        for number, record in enumerate(records, start=1):
            if number > len(chosen):
                break
            write[chosen[number - 1]]([record])
        if number != len(chosen):
            raise RecordError("the records changed while they were divided; start again")


def assign_splits(
    records: Iterable[Record], fractions: Mapping[str, float], *, seed: int = 0
) -> tuple[list[str], int]:
    """The split of each record in their order, and how many records repeat an earlier text.

    Of each record only its labels and eight bytes for its text are kept in memory.
    """
    fractions = check_fractions(fractions)
    label_ids: dict[str, int] = {}
    groups: dict[bytes, int] = {}
    group_of: list[int] = []
    label_sets: list[tuple[int, ...]] = []
    seen: dict[tuple[str, ...], tuple[int, ...]] = {}
    for record in records:
        group_of.append(groups.setdefault(text_key(record.text), len(groups)))
        labels = seen.get(record.labels)
        if labels is None:
            labels = tuple(label_ids.setdefault(name, len(label_ids)) for name in record.labels)
            seen[record.labels] = labels
        label_sets.append(labels)
    del groups
    units: list[list[tuple[int, ...]]] = [[] for _ in range(max(group_of, default=-1) + 1)]
    for group, labels in zip(group_of, label_sets, strict=True):
        units[group].append(labels)
    names = list(fractions)
    chosen = stratify(units, list(fractions.values()), seed=seed)
    return [names[chosen[group]] for group in group_of], len(group_of) - len(units)


def stratify(
    units: Sequence[Sequence[Sequence[int]]], fractions: Sequence[float], *, seed: int = 0
) -> list[int]:
    """The split of each unit; a unit is the label sets of documents that stay together.

    Units without labels come last and fill up the sizes.

    >>> stratify([[(0,)], [(0,)], [(1,)], [(1,)]], [0.5, 0.5], seed=1)
    [0, 1, 0, 1]
    """
    random = np.random.default_rng(seed)
    order: list[int] = random.permutation(len(units)).tolist()
    counts = [Counter(label for labels in unit for label in labels) for unit in units]
    wanted = _Wanted(counts, [len(unit) for unit in units], fractions, random)
    chosen = [-1] * len(units)
    for unit, label in _rarest_first(counts, order):
        chosen[unit] = wanted.give(unit, label)
    for unit in order:
        if chosen[unit] < 0:
            chosen[unit] = wanted.give(unit, None)
    return chosen


def _rarest_first(
    counts: Sequence[Counter[int]], order: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Each unit that has labels, once, with the label on whose account it is its turn.

    Of labels with equally many documents left, the rarer in all comes first: a label so precedes
    its ancestors, which have its documents too but would deal them out without regard to it.
    """
    holders: dict[int, list[int]] = defaultdict(list)
    remaining: Counter[int] = Counter()
    for unit in order:
        for label, count in counts[unit].items():
            holders[label].append(unit)
            remaining[label] += count
    totals = remaining.copy()
    heap = [(count, totals[label], label) for label, count in remaining.items()]
    heapq.heapify(heap)
    done = bytearray(len(counts))
    while heap:
        count, _, label = heapq.heappop(heap)
        if count != remaining[label]:
            continue  # an entry from before other labels took some of its documents
        touched: set[int] = set()
        for unit in holders.pop(label):
            if not done[unit]:
                done[unit] = True
                for other, number in counts[unit].items():
                    remaining[other] -= number
                    touched.add(other)
                yield unit, label
        for other in touched:
            if remaining[other] > 0:
                heapq.heappush(heap, (remaining[other], totals[other], other))


class _Wanted:
    """How many documents each split still lacks, in all and of each label."""

    def __init__(
        self,
        counts: Sequence[Counter[int]],
        sizes: Sequence[int],
        fractions: Sequence[float],
        random: np.random.Generator,
    ) -> None:
        totals: Counter[int] = Counter()
        for unit in counts:
            totals.update(unit)
        self._counts = counts
        self._sizes = sizes
        self._splits = range(len(fractions))
        self._documents = [fraction * sum(sizes) for fraction in fractions]
        self._labels = {
            label: [fraction * total for fraction in fractions] for label, total in totals.items()
        }
        self._random = random

    def give(self, unit: int, label: int | None) -> int:
        """The split that lacks most of the label, then most documents, then by lot."""
        lacks = self._documents if label is None else self._labels[label]
        best = [split for split in self._splits if lacks[split] >= max(lacks) - 1e-9]
        if len(best) > 1:
            most = max(self._documents[split] for split in best)
            best = [split for split in best if self._documents[split] >= most - 1e-9]
        split = best[0] if len(best) == 1 else best[int(self._random.integers(len(best)))]
        self._documents[split] -= self._sizes[unit]
        for other, count in self._counts[unit].items():
            self._labels[other][split] -= count
        return split
