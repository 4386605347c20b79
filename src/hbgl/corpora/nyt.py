"""The New York Times Annotated Corpus (LDC2008T19): 166 labels, 8 levels, many paths a document.

Raw: ``nyt_corpus_LDC2008T19.tgz``, its yearly and monthly archives (``1987/01.tgz``), or folders
of the NITF XML files inside; archives are read as streams and never unpacked.

Labels are the taxonomic classifiers of the online producers, paths such as
``Top/News/Sports/Baseball``. As in the scripts that HiAGM and HBGL published, a path of fewer
than three parts is passed over, every other path gives all its prefixes except ``Top``, and a
label is the path up to it. Which labels are kept:

- with ``labels`` (the published ``nyt_label.vocab``): those of the file;
- without: those that at least ``min_documents`` (200) of the chosen documents have. The published
  scripts carry that constant without using it, so the rule is likely theirs but not proven.

Which documents: those of the published id lists (``idnewnyt_train.json`` and so on), otherwise
36,471 documents drawn with the seed from those that have a label, in the published proportions.

The text is every paragraph except the first (a lead or an abstract that the text repeats).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from xml.etree.ElementTree import Element

from hbgl.corpora.counts import PUBLISHED
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import (
    archive_members,
    expand,
    normalize_space,
    parse_xml,
    read_lines,
)
from hbgl.corpora.split_choice import IdLists, plain_id, shares_to_sizes
from hbgl.corpora.writing import CorpusWriter, Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError
from hbgl.taxonomy import Taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ("train_ids", "dev_ids", "test_ids", "labels", "min_documents")
MIN_DOCUMENTS = 200
SHORTEST_PATH = 3  # Top/News alone says nothing


class Article(NamedTuple):
    """One article with all labels of its classifiers, shallow first."""

    identifier: str
    text: str
    labels: tuple[str, ...]


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert LDC2008T19 into a corpus folder.

    The chosen articles (36,471 in the published lists, about 200 MB) are held in memory.

    Raises:
        CorpusError: an archive or article is damaged, or there is none.
    """
    options.refuse_unused("nyt", OPTIONS)
    lists = IdLists.from_options(options)
    wanted = _read_labels(options.labels) if options.labels else None
    with corpus_writer("nyt", destination, progress) as writer:
        articles = _articles(expand(raw), lists, progress)
        if lists:
            chosen = _listed(articles, lists, writer)
            notes = lists.report()
        else:
            chosen = _sampled(articles, wanted, options.seed, writer)
            notes = [
                f"documents drawn and split with seed {options.seed}, not the literature's; the "
                "published id lists (--train-ids, --dev-ids, --test-ids) give theirs"
            ]
        if wanted is None:
            minimum = MIN_DOCUMENTS if options.min_documents is None else options.min_documents
            wanted = _frequent((article for _, article in chosen), minimum)
            notes.append(
                f"labels kept: those of at least {minimum} of the documents; the published list "
                "(--labels nyt_label.vocab) gives the literature's 166"
            )
        for note in notes:
            writer.note(note)
        for split, article in chosen:
            kept = [label for label in article.labels if label in wanted]
            if kept or lists:
                writer.add(split, article.text, kept, article.identifier)
            else:
                writer.leave_out("documents without a kept label")
        writer.finish(_taxonomy(wanted), _description(lists is not None, options.seed))
    return writer.result


def _articles(
    files: Iterable[Path], lists: IdLists | None, progress: Progress
) -> Iterator[tuple[str | None, Article]]:
    """Yield (split or None, article); only listed articles are parsed where there are lists."""
    seen: set[str] = set()
    number = 0
    for file in files:
        for place, content in archive_members(file, ".xml"):
            number += 1
            progress(f"reading {file.name}", number)
            identifier = plain_id(PurePosixPath(place.rpartition("!")[2]).stem)
            split = lists.split(identifier) if lists else None
            if (lists and split is None) or identifier in seen:
                continue
            seen.add(identifier)
            yield split, _article(parse_xml(content, place), identifier, place)
    if not number:
        raise CorpusError("no article (.xml, or archives with .xml members) in the files given")


def _article(root: Element, identifier: str, place: str) -> Article:
    if root.tag != "nitf":
        raise CorpusError(f"{place}: not a NITF article, its root element is <{root.tag}>")
    paragraphs = ["".join(element.itertext()) for element in root.iter("p")]
    text = "\n".join(filter(None, (normalize_space(part) for part in paragraphs[1:])))
    labels: dict[str, None] = {}
    for classifier in root.iter("classifier"):
        if classifier.get("type") == "taxonomic_classifier":
            labels.update(dict.fromkeys(_prefixes(classifier.text or "")))
    return Article(identifier, text, tuple(labels))


def _prefixes(path: str) -> list[str]:
    parts = [normalize_space(part) for part in path.strip().split("/")]
    if len(parts) < SHORTEST_PATH or not all(parts):
        return []
    return ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]


def _listed(
    articles: Iterator[tuple[str | None, Article]], lists: IdLists, writer: CorpusWriter
) -> list[tuple[str, Article]]:
    chosen = []
    for split, article in articles:
        if split is None:
            continue
        if article.text:
            chosen.append((split, article))
        else:
            writer.leave_out("listed documents without text")
    if not chosen:
        some = ", ".join(path.name for path in lists.files.values())
        raise CorpusError(f"none of the articles is in the id lists ({some})")
    return chosen


def _sampled(
    articles: Iterator[tuple[str | None, Article]],
    wanted: set[str] | None,
    seed: int,
    writer: CorpusWriter,
) -> list[tuple[str, Article]]:
    """Draw as many articles as the literature has; each id's hash decides, not its place."""
    published = dict(PUBLISHED["nyt"].documents or {})
    size = sum(published.values())
    drawn: list[tuple[int, Article]] = []
    for _, article in articles:
        if not article.text:
            writer.leave_out("documents without text")
        elif not any(wanted is None or label in wanted for label in article.labels):
            writer.leave_out("documents without a label")
        else:
            digest = blake2b(f"{seed}:{article.identifier}".encode(), digest_size=8).digest()
            item = (-int.from_bytes(digest, "big"), article)
            if len(drawn) < size:
                heapq.heappush(drawn, item)
            else:
                heapq.heappushpop(drawn, item)
                writer.leave_out("documents not drawn")
    drawn.sort(reverse=True)
    sizes = shares_to_sizes(len(drawn), published)
    splits = [split for split in ("test", "dev", "train") for _ in range(sizes[split])]
    return [(split, article) for split, (_, article) in zip(splits, drawn, strict=True)]


def _frequent(articles: Iterable[Article], minimum: int) -> set[str]:
    counts = Counter(label for article in articles for label in article.labels)
    kept = {label for label, number in counts.items() if number >= minimum}
    if not kept:
        raise CorpusError(
            f"no label has {minimum} documents; give more of the corpus or lower --min-documents"
        )
    return kept


def _read_labels(path: Path) -> set[str]:
    labels = [line.strip() for _, line in read_lines(path)]
    kept = {label for label in labels if label and label not in ("Root", "Top")}
    if not kept:
        raise CorpusError(f"{path}: no labels, one path on each line is expected")
    return kept


def _taxonomy(labels: Iterable[str]) -> Taxonomy:
    """Hang each label below its longest kept prefix; its words are the last part of the path."""
    ordered = sorted(labels, key=lambda label: (label.count("/"), label))
    known = set(ordered)
    edges = []
    for label in ordered:
        above = label.rpartition("/")[0]
        while above and above not in known:
            above = above.rpartition("/")[0]
        if above:
            edges.append((above, label))
    names = {label: label.rpartition("/")[2] for label in ordered}
    return Taxonomy.from_edges(edges, labels=ordered, names=names)


def _description(listed: bool, seed: int) -> Description:
    return Description(
        "New York Times Annotated Corpus",
        "Sandhaus 2008, Linguistic Data Consortium, LDC2008T19",
        "LDC user agreement; not to be passed on",
        "the published id lists" if listed else f"drawn with seed {seed}",
    )
