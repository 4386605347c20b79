"""Streaming a converted corpus into a new folder, and the report of what was written.

A converter opens ``CorpusWriter``, adds documents in any order, names the documents it leaves
out and why, and finishes with the taxonomy. The folder appears only when it is complete::

    train.jsonl.gz dev.jsonl.gz test.jsonl.gz taxonomy.tsv names.json statistics.json README.md
"""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

from hbgl.corpora.counts import PUBLISHED, Statistics, differences, measure
from hbgl.corpora.folder import SPLITS, new_corpus_folder
from hbgl.corpora.options import Progress, no_progress
from hbgl.errors import CorpusError
from hbgl.taxonomy import NAMES_FILE, Taxonomy, names_text, write_taxonomy

__all__ = ["CorpusWriter", "Description", "PreparedCorpus", "corpus_writer"]


@dataclass(frozen=True, slots=True)
class Description:
    """What the folder's README says about a corpus."""

    title: str
    source: str
    licence: str
    split: str


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """The outcome of a conversion."""

    name: str
    path: Path
    statistics: Statistics
    left_out: Mapping[str, int]
    """Documents left out, by reason."""
    notes: tuple[str, ...]
    """What else to know: where the split comes from, what was assumed."""
    differences: tuple[str, ...]
    """Where the figures differ from the published ones."""
    published: str | None
    """Where the published figures come from."""

    def to_json(self) -> dict[str, object]:
        """Return the content of ``statistics.json``."""
        return {
            "corpus": self.name,
            **asdict(self.statistics),
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
            "published": self.published,
            "differences": list(self.differences),
        }


@dataclass
class CorpusWriter:
    """Writes documents into a folder that is not yet in its final place."""

    name: str
    destination: Path
    folder: Path
    files: dict[str, TextIO]
    progress: Progress = no_progress
    step: str = "writing"
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    label_sets: dict[str, Counter[tuple[str, ...]]] = field(
        default_factory=lambda: {split: Counter() for split in SPLITS}
    )
    documents: int = 0
    prepared: PreparedCorpus | None = None

    @property
    def result(self) -> PreparedCorpus:
        """The report; there once ``finish`` was called."""
        if self.prepared is None:
            raise CorpusError(f"{self.name}: the conversion has not ended")
        return self.prepared

    def add(self, split: str, text: str, labels: Iterable[str], id: str | None = None) -> None:  # noqa: A002
        """Write one document; its labels are label names, ancestors may be left out."""
        kept = tuple(dict.fromkeys(labels))
        document: dict[str, object] = {"text": text, "labels": list(kept)}
        if id is not None:
            document["id"] = id
        self.files[split].write(json.dumps(document, ensure_ascii=False) + "\n")
        self.label_sets[split][kept] += 1
        self.documents += 1
        self.progress(self.step, self.documents)

    def leave_out(self, reason: str, number: int = 1) -> None:
        """Count a document that is not written, by reason."""
        self.left_out[reason] += number

    def note(self, text: str) -> None:
        """Keep a remark for the report and the README."""
        self.notes.append(text)

    def finish(self, taxonomy: Taxonomy, description: Description) -> None:
        """Write taxonomy, names, statistics and README; must be the last call.

        Raises:
            CorpusError: nothing was written, or a document has a label outside the taxonomy.
        """
        if not self.documents:
            reasons = "; ".join(f"{number} {reason}" for reason, number in self.left_out.items())
            raise CorpusError(f"{self.name}: no document was found" + (reasons and f" ({reasons})"))
        self._refuse_unknown_labels(taxonomy)
        statistics = measure(taxonomy, self.label_sets)
        published = PUBLISHED.get(self.name)
        self.prepared = PreparedCorpus(
            name=self.name,
            path=self.destination,
            statistics=statistics,
            left_out=dict(self.left_out),
            notes=tuple(self.notes),
            differences=tuple(differences(self.name, statistics)),
            published=published.source if published else None,
        )
        write_taxonomy(taxonomy, self.folder / "taxonomy.tsv")
        (self.folder / NAMES_FILE).write_text(names_text(taxonomy), encoding="utf-8")
        _write_json(self.folder / "statistics.json", self.prepared.to_json())
        (self.folder / "README.md").write_text(
            _readme(description, self.prepared), encoding="utf-8"
        )

    def _refuse_unknown_labels(self, taxonomy: Taxonomy) -> None:
        seen = {
            label for counts in self.label_sets.values() for labels in counts for label in labels
        }
        unknown = sorted(label for label in seen if label not in taxonomy)
        if unknown:
            shown = ", ".join(repr(label) for label in unknown[:10])
            more = f" and {len(unknown) - 10} more" if len(unknown) > 10 else ""
            raise CorpusError(
                f"{self.name}: the documents have labels that the taxonomy lacks: {shown}{more}"
            )


@contextmanager
def corpus_writer(
    name: str, destination: Path, progress: Progress = no_progress
) -> Iterator[CorpusWriter]:
    """Open a writer; the destination appears when the block ends without an error."""
    with new_corpus_folder(destination) as folder:
        with ExitStack() as stack:
            files = {
                split: stack.enter_context(_open_gzip(folder / f"{split}.jsonl.gz"))
                for split in SPLITS
            }
            writer = CorpusWriter(name, destination, folder, files, progress)
            yield writer
        for split in SPLITS:
            if not writer.label_sets[split]:
                (folder / f"{split}.jsonl.gz").unlink()


@contextmanager
def _open_gzip(path: Path) -> Iterator[TextIO]:
    # No time stamp and no file name inside: the same input gives the same bytes.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text,
    ):
        yield text


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _readme(description: Description, prepared: PreparedCorpus) -> str:
    statistics = prepared.statistics
    documents = " / ".join(f"{statistics.documents[split]:,}" for split in SPLITS)
    lines = [
        f"# {description.title}",
        "",
        f"- **Source:** {description.source}",
        f"- **Licence:** {description.licence}",
        f"- **Split:** {description.split}",
        *(f"- {note}" for note in prepared.notes),
        *(f"- Left out: {number:,} {reason}" for reason, number in prepared.left_out.items()),
        "",
        "| statistic | value |",
        "| --- | --- |",
        f"| labels L | {statistics.labels:,} |",
        f"| maximum depth D | {statistics.depth} |",
        f"| average labels per document | {statistics.labels_per_document} |",
        f"| documents train / dev / test | {documents} |",
        f"| labels without documents | {statistics.labels_without_documents:,} |",
        f"| documents without labels | {statistics.documents_without_labels:,} |",
        "",
    ]
    if prepared.published:
        lines.append(f"Published figures: {prepared.published}.")
        lines += [f"- {line}" for line in prepared.differences] or ["- all equal"]
        lines.append("")
    return "\n".join(lines)
