"""RCV1-V2 / LYRL2004 (Lewis et al. 2004): Reuters news, 103 topics, 4 levels, many paths.

Raw, all found by name in the files and folders given:

- the news items of the NIST distribution: one zip per day with an XML file per item
  (``19960820.zip``: ``2286newsML.xml``), or a tar archive or folder of these XML files;
- ``rcv1.topics.hier.orig`` (LYRL2004 online appendix 2): the topic hierarchy;
- ``rcv1-v2.topics.qrels`` (appendix 8): the corrected topics of 804,414 items. Without it the
  topics in the XML files are taken, uncorrected, and items without topic are left out;
- ``lyrl2004_tokens_train.dat`` (appendix 12), optional: the training ids. Without it the
  training items are those with ids 2286 to 26150, which is the same set.

A tenth of the training items (2,316 of 23,149) is dev. The appendix files may be gzipped.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from hbgl.corpora.counts import PUBLISHED
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import (
    archive_members,
    expand,
    normalize_space,
    parse_xml,
    read_id_list,
    read_lines,
)
from hbgl.corpora.split_choice import shares_to_sizes, shuffled_splits
from hbgl.corpora.writing import CorpusWriter, Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError, Fault
from hbgl.taxonomy import Taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ("train_ids", "dev_ids")
LAST_TRAINING_ID = 26150
ITEMS = 804414
TOPIC_CLASS = "bip:topics:1.0"
_EDGE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)\s+child-description:\s*(.*)")


@dataclass
class Topics:
    """The topics of each item by id, in compressed rows: some megabytes for 2.6 million pairs."""

    names: list[str] = field(default_factory=list)
    items: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    starts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    topics: np.ndarray = field(default_factory=lambda: np.empty(0, np.int16))

    @classmethod
    def read(cls, path: Path) -> Topics:
        """Read lines ``C152 2286 1``: topic, item, 1."""
        index: dict[str, int] = {}
        items, topics = array("q"), array("h")
        for number, line in read_lines(path):
            cells = line.split()
            if not cells:
                continue
            if len(cells) != 3 or not cells[1].isdigit():
                fault = Fault(f"expected TOPIC ITEM 1, found {line[:60]!r}", str(path), number)
                raise CorpusError("bad topics file", [fault])
            topics.append(index.setdefault(cells[0], len(index)))
            items.append(int(cells[1]))
        all_items = np.frombuffer(items, dtype=np.int64)
        order = np.argsort(all_items, kind="stable")
        unique, starts = np.unique(all_items[order], return_index=True)
        return cls(
            names=list(index),
            items=unique,
            starts=np.append(starts, len(order)),
            topics=np.frombuffer(topics, dtype=np.int16)[order],
        )

    def of(self, item: int) -> tuple[str, ...] | None:
        """Return the topics of an item, None where the file does not have it."""
        place = int(np.searchsorted(self.items, item))
        if place == len(self.items) or self.items[place] != item:
            return None
        row = self.topics[self.starts[place] : self.starts[place + 1]]
        return tuple(self.names[topic] for topic in row)


@dataclass(frozen=True, slots=True)
class _Sources:
    news: list[Path]
    hierarchy: Path
    topics: Path | None
    training: Path | None


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert the NIST distribution of RCV1 into a corpus folder.

    Streams; in memory are the training items (some 40 MB) and the topics of all items.

    Raises:
        CorpusError: a raw file is missing, damaged or malformed.
    """
    options.refuse_unused("rcv1", OPTIONS)
    sources = _find(expand(raw), options.train_ids)
    taxonomy = _read_hierarchy(sources.hierarchy)
    topics = Topics.read(sources.topics) if sources.topics else None
    listed = {int(i) for i in _numeric(sources.training)} if sources.training else None
    with corpus_writer("rcv1", destination, progress) as writer:
        training: list[tuple[int, str, tuple[str, ...]]] = []
        for item, text, labels in _items(sources.news, taxonomy, topics, writer):
            if item in listed if listed is not None else item <= LAST_TRAINING_ID:
                training.append((item, text, labels))
            else:
                writer.add("test", text, labels, str(item))
        _write_training(writer, training, options)
        if topics is None:
            writer.note(
                "topics are those of the XML files; rcv1-v2.topics.qrels has the corrected "
                f"ones of RCV1-V2 and names its {ITEMS:,} items"
            )
        elif len(topics.items) != ITEMS:
            writer.note(f"the topics file names {len(topics.items):,} items, RCV1-V2 has {ITEMS:,}")
        writer.finish(
            taxonomy,
            Description(
                "RCV1-V2 (LYRL2004)",
                "Reuters Corpus Volume 1 from NIST; Lewis, Yang, Rose and Li, JMLR 5, 2004",
                "Reuters agreement; not to be passed on",
                "LYRL2004: training ids up to 26150, a tenth of them dev, the rest test",
            ),
        )
    return writer.result


def _write_training(
    writer: CorpusWriter,
    training: list[tuple[int, str, tuple[str, ...]]],
    options: PrepareOptions,
) -> None:
    training.sort()
    if options.dev_ids:
        dev = {int(i) for i in _numeric(options.dev_ids)}
        splits: Sequence[str] = ["dev" if item in dev else "train" for item, _, _ in training]
        writer.note(f"dev documents as listed in {options.dev_ids.name}")
        missing = len(dev) - splits.count("dev")
        if missing:
            writer.note(f"{missing:,} ids of {options.dev_ids.name} are no training items here")
    else:
        sizes = PUBLISHED["rcv1"].documents or {}
        shares = shares_to_sizes(
            len(training), {"train": sizes["train"], "dev": sizes["dev"], "test": 0}
        )
        splits = shuffled_splits(len(training), shares, options.seed)
        writer.note(
            f"dev drawn from the training items with seed {options.seed}: the literature's size, "
            "not its documents; --dev-ids takes a list"
        )
    for split, (item, text, labels) in zip(splits, training, strict=True):
        writer.add(split, text, labels, str(item))


def _items(
    news: Sequence[Path], taxonomy: Taxonomy, topics: Topics | None, writer: CorpusWriter
) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield (id, text, topics) of each item that belongs to the collection."""
    seen: set[int] = set()
    for file in news:
        writer.step = f"reading {file.name}"
        for place, content in archive_members(file, ".xml"):
            root = parse_xml(content, place)
            item = _item_id(root, place)
            if item in seen:
                writer.leave_out("items that came twice")
                continue
            seen.add(item)
            found = topics.of(item) if topics else _topics_inside(root, taxonomy)
            if not found:
                writer.leave_out("items that have no topics in RCV1-V2")
                continue
            text = _text(root)
            if text:
                yield item, text, found
            else:
                writer.leave_out("items without text")
    if not seen:
        raise CorpusError("no news item (zip archives or folders of newsML.xml) in the files given")
    if topics is not None:
        missing = int(np.count_nonzero(~np.isin(topics.items, np.fromiter(seen, np.int64))))
        if missing:
            writer.leave_out("items of the topics file that are not among the news items", missing)


def _item_id(root: Element, place: str) -> int:
    item = root.get("itemid", "")
    if root.tag != "newsitem" or not item.isdigit():
        raise CorpusError(f"{place}: not a news item: <{root.tag} itemid={item!r}>")
    return int(item)


def _text(root: Element) -> str:
    """Return the paragraphs; for the few items without any, the headline or the title."""
    body = root.find("text")
    paragraphs = [] if body is None else ["".join(p.itertext()) for p in body.iter("p")]
    text = "\n".join(filter(None, (normalize_space(p) for p in paragraphs)))
    return text or normalize_space(root.findtext("headline") or root.findtext("title") or "")


def _topics_inside(root: Element, taxonomy: Taxonomy) -> tuple[str, ...]:
    found = []
    for codes in root.iter("codes"):
        if (codes.get("class") or "").startswith(TOPIC_CLASS):
            found += [code.get("code", "") for code in codes.iter("code")]
    return tuple(code for code in found if code in taxonomy)


def _read_hierarchy(path: Path) -> Taxonomy:
    edges, names, roots = [], {}, []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        match = _EDGE.search(line)
        if match is None:
            fault = Fault(
                f"no 'parent: P child: C child-description: D' in {line[:60]!r}", str(path), number
            )
            raise CorpusError("bad topic hierarchy", [fault])
        parent, child, description = match.groups()
        if child == "Root":
            continue
        if description.strip():
            names[child] = normalize_space(description).lower()
        if parent in ("Root", "None"):
            roots.append(child)
        else:
            edges.append((parent, child))
    return Taxonomy.from_edges(edges, labels=roots, names=names)


def _numeric(path: Path) -> list[str]:
    ids = read_id_list(path)
    wrong = next((identifier for identifier in ids if not identifier.isdigit()), None)
    if wrong is not None:
        raise CorpusError(f"{path}: item ids are numbers, found {wrong!r}")
    return ids


def _find(files: Sequence[Path], train_ids: Path | None) -> _Sources:
    def named(start: str) -> list[Path]:
        return [file for file in files if file.name.startswith(start)]

    hierarchies = named("rcv1.topics.hier.orig") or named("rcv1.topics.hier")
    if not hierarchies:
        raise CorpusError(
            "rcv1.topics.hier.orig (the topic hierarchy, LYRL2004 online appendix 2) is needed "
            "beside the news items"
        )
    topics = named("rcv1-v2.topics.qrels")
    training = [train_ids] if train_ids else named("lyrl2004_tokens_train")
    news = [file for file in files if file.name.lower().endswith(_NEWS)]
    return _Sources(
        news,
        hierarchies[0],
        topics[0] if topics else None,
        training[0] if training else None,
    )


_NEWS = (".xml", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2")
