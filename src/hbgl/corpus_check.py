"""What a corpus folder holds: its faults, and the statistics that papers print.

Every records file in the folder is read and checked. The averages count ``train``, ``dev`` and
``test`` together; other files (``oos_test.jsonl.gz``) only appear with their own numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hbgl.errors import CorpusError, Fault, RecordError, TaxonomyError
from hbgl.records import SkippedRecords, read_records
from hbgl.records.text_key import text_key
from hbgl.taxonomy import DESCRIPTIONS_FILE, Taxonomy, read_descriptions, read_taxonomy

__all__ = ["SPLITS", "CorpusReport", "DuplicateTexts", "SplitStatistics", "check_corpus"]

SPLITS = ("train", "dev", "test")
RAREST = 10
EXAMPLES = 5

_RECORDS_FILE = re.compile(r"([^.]+)\.jsonl(\.gz|\.zst)?")


@dataclass
class SplitStatistics:
    """One file of documents."""

    file: str
    documents: int = 0
    skipped: int = 0
    without_labels: int = 0
    words: int = 0
    labels: int = 0

    @property
    def words_per_document(self) -> float:
        """Average number of words, split at white space."""
        return self.words / self.documents if self.documents else 0.0


@dataclass
class DuplicateTexts:
    """Texts that come again, compared without case, space and punctuation.

    ``documents`` repeat a text that came before, ``split`` naming where they are and ``earlier``
    where the text came first; ``other_labels`` of them have different labels there.
    """

    split: str
    earlier: str
    documents: int = 0
    other_labels: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class CorpusReport:
    """All that `check_corpus` finds. Lists by level begin with level 1."""

    folder: str
    faults: list[Fault]
    fault_count: int
    splits: dict[str, SplitStatistics]
    missing_splits: list[str] = field(default_factory=list)
    labels: int = 0
    leaves: int = 0
    depth: int = 0
    is_tree: bool = True
    labels_per_level: list[int] = field(default_factory=list)
    documents: int = 0
    labels_per_document: float = 0.0
    words_per_document: float = 0.0
    multi_path_share: float = 0.0
    documents_by_deepest_level: list[int] = field(default_factory=list)
    documents_without_labels: int = 0
    rarest_labels: list[tuple[str, int]] = field(default_factory=list)
    labels_without_documents: list[str] = field(default_factory=list)
    labels_without_training_documents: list[str] = field(default_factory=list)
    duplicates: list[DuplicateTexts] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        report = asdict(self)
        for name, split in self.splits.items():
            report["splits"][name]["words_per_document"] = split.words_per_document
        report["rarest_labels"] = [
            {"label": label, "training_documents": count} for label, count in self.rarest_labels
        ]
        return report


def check_corpus(
    folder: str | Path,
    *,
    max_faults: int = 1000,
    progress: Callable[[str, int], None] | None = None,
) -> CorpusReport:
    """Read a whole corpus folder; its faults are in the report, not raised.

    Args:
        folder: the corpus folder.
        max_faults: how many faults are listed; all are counted.
        progress: called with what is being done and the number of documents so far.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder")
    faults: list[Fault] = []
    files = _records_files(folder, faults)
    taxonomy = _taxonomy(folder / "taxonomy.tsv", faults)
    _check_descriptions(folder / DESCRIPTIONS_FILE, taxonomy, faults)
    count = _Count(taxonomy, progress or (lambda step, documents: None))
    skipped = SkippedRecords(keep=max_faults)
    for name, file in files.items():
        faults.extend(count.read(name, file, skipped))
    report = CorpusReport(
        folder=str(folder),
        faults=[*faults, *skipped.faults][:max_faults],
        fault_count=len(faults) + skipped.summary.skipped,
        splits=count.splits,
        missing_splits=[split for split in SPLITS if split not in files],
    )
    count.fill(report)
    if not report.documents and not report.fault_count:
        report.faults.append(Fault("no documents in train, dev and test", str(folder)))
        report.fault_count = 1
    return report


def _taxonomy(file: Path, faults: list[Fault]) -> Taxonomy | None:
    """The taxonomy, without the words of its labels where only these are faulty."""
    if not file.exists():
        faults.append(Fault("no such file, and every corpus needs its taxonomy", str(file)))
        return None
    try:
        return read_taxonomy(file)
    except TaxonomyError as error:
        faults.extend(_faults(error, file))
    try:
        return read_taxonomy(file, names=False)
    except TaxonomyError:
        return None


def _check_descriptions(file: Path, taxonomy: Taxonomy | None, faults: list[Fault]) -> None:
    if taxonomy is None or not file.is_file():
        return
    try:
        read_descriptions(file, taxonomy.labels)
    except TaxonomyError as error:
        faults.extend(_faults(error, file))


def _faults(error: TaxonomyError | RecordError, file: Path) -> Sequence[Fault]:
    """The faults of an error; one for the file where it lists none."""
    return error.faults or [Fault(str(error).removeprefix(f"{file}: "), str(file))]


def _records_files(folder: Path, faults: list[Fault]) -> dict[str, Path]:
    """The records files by split, train, dev and test first."""
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        match = _RECORDS_FILE.fullmatch(file.name)
        if match is None or not file.is_file():
            continue
        if match[1] in found:
            other = found[match[1]].name
            faults.append(Fault(f"the split is there twice, also as {other}; keep one", str(file)))
        else:
            found[match[1]] = file
    if not any(split in found for split in SPLITS):
        names = "none of train, dev, test as .jsonl, .jsonl.gz or .jsonl.zst"
        faults.append(Fault(names, str(folder)))
    order = [*(split for split in SPLITS if split in found), *sorted(set(found) - set(SPLITS))]
    return {split: found[split] for split in order}


class _Count:
    """Counts documents as they pass; of each it keeps a few numbers for its text."""

    def __init__(self, taxonomy: Taxonomy | None, progress: Callable[[str, int], None]) -> None:
        self._progress = progress
        self.splits: dict[str, SplitStatistics] = {}
        self._taxonomy = taxonomy
        self._label_sets: dict[str, Counter[tuple[str, ...]]] = {}
        self._set_numbers: dict[tuple[str, ...], int] = {}
        self._files: list[str] = []
        # Key of a text -> where it came first: number of the split, line, number of the label set.
        self._texts: dict[bytes, tuple[int, int, int]] = {}
        self._duplicates: dict[tuple[str, str], DuplicateTexts] = {}

    def read(self, name: str, file: Path, skipped: SkippedRecords) -> Sequence[Fault]:
        """Count one file; its bad records go to ``skipped``, what breaks it off is returned."""
        split = self.splits[name] = SplitStatistics(file.name)
        sets = self._label_sets[name] = Counter()
        self._files.append(name)
        reader = read_records(file, taxonomy=self._taxonomy, on_error="skip", skipped=skipped)
        try:
            for record in reader:
                split.documents += 1
                self._progress(f"checking {file.name}", split.documents)
                split.words += len(record.text.split())
                split.labels += len(record.labels)
                split.without_labels += not record.labels
                sets[record.labels] += 1
                self._compare(name, record.text, record.labels, record.line)
        except RecordError as error:
            return _faults(error, file)
        finally:
            split.skipped = reader.summary.skipped
        return ()

    def _compare(self, name: str, text: str, labels: tuple[str, ...], line: int) -> None:
        number = self._set_numbers.setdefault(labels, len(self._set_numbers))
        here = (len(self._files) - 1, line, number)
        first = self._texts.setdefault(text_key(text), here)
        if first is here:
            return
        earlier = self._files[first[0]]
        found = self._duplicates.setdefault((name, earlier), DuplicateTexts(name, earlier))
        found.documents += 1
        found.other_labels += number != first[2]
        if len(found.examples) < EXAMPLES:
            files = self.splits[name].file, self.splits[earlier].file
            found.examples.append(f"{files[0]}:{line} = {files[1]}:{first[1]}")

    def fill(self, report: CorpusReport) -> None:
        """Put the statistics into a report."""
        report.duplicates = list(self._duplicates.values())
        main = [split for name, split in self.splits.items() if name in SPLITS]
        report.documents = sum(split.documents for split in main)
        report.documents_without_labels = sum(split.without_labels for split in main)
        if report.documents:
            report.labels_per_document = sum(split.labels for split in main) / report.documents
            report.words_per_document = sum(split.words for split in main) / report.documents
        if self._taxonomy is not None:
            self._fill_labels(report, self._taxonomy)

    def _fill_labels(self, report: CorpusReport, taxonomy: Taxonomy) -> None:
        report.labels, report.depth = len(taxonomy), taxonomy.depth
        report.leaves, report.is_tree = len(taxonomy.leaves), taxonomy.is_tree
        report.labels_per_level = np.bincount(taxonomy.levels, minlength=1)[1:].tolist()
        counts = {name: np.zeros(len(taxonomy), np.int64) for name in SPLITS}
        deepest = [0] * taxonomy.depth
        several = 0
        for name in SPLITS:
            for labels, number in self._label_sets.get(name, Counter[tuple[str, ...]]()).items():
                ids = taxonomy.ids(labels)
                counts[name][ids] += number
                if labels:
                    deepest[int(taxonomy.levels[ids].max()) - 1] += number
                    several += number * _has_several_paths(taxonomy, ids)
        report.documents_by_deepest_level = deepest
        if report.documents:
            report.multi_path_share = several / report.documents
        train, every = counts["train"], sum(counts.values(), np.zeros(len(taxonomy), np.int64))
        order = np.argsort(train, kind="stable")
        present = [i for i in order.tolist() if train[i] > 0]
        report.rarest_labels = [(taxonomy.labels[i], int(train[i])) for i in present[:RAREST]]
        report.labels_without_documents = [
            taxonomy.labels[i] for i in np.flatnonzero(every == 0).tolist()
        ]
        report.labels_without_training_documents = [
            taxonomy.labels[i] for i in np.flatnonzero((train == 0) & (every > 0)).tolist()
        ]


def _has_several_paths(taxonomy: Taxonomy, ids: np.ndarray[Any, Any]) -> bool:
    """Whether a closed label set is more than one path from the top.

    It is one path iff it has one label at the top and no label has two parents or two children
    in it.
    """
    known = set(ids.tolist())
    above = [sum(parent in known for parent in taxonomy.parents(i).tolist()) for i in known]
    children: Counter[int] = Counter(
        parent for i in known for parent in taxonomy.parents(i).tolist() if parent in known
    )
    return above.count(0) > 1 or max(above) > 1 or max(children.values(), default=0) > 1
