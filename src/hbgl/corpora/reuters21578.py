"""Reuters-21578, Distribution 1.0 (Lewis): news of 1987, 135 topics, ModApte split.

Raw: ``reut2-000.sgm`` to ``reut2-021.sgm``, Latin-1 SGML without a schema::

    <REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
    <TOPICS><D>cocoa</D></TOPICS>
    ... <TEXT>&#2;
    <TITLE>A HEADLINE</TITLE><DATELINE> ... </DATELINE><BODY>The text.
    Reuter
    &#3;</BODY></TEXT>
    </REUTERS>

Documents: TOPICS="YES" with at least one topic, LEWISSPLIT TRAIN or TEST (ModApte: 7,775 and
3,019); a tenth of train, drawn with the seed, is dev. The text is title and body without
dateline, without the closing "Reuter" and the filler "blah blah blah".

The collection has no taxonomy: ``reuters_topics`` has one, or the user names a file. Topics that
the file lacks are left out. ``min_documents`` prunes labels that are rare in train.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hbgl.corpora.duplicates import Document, without_duplicates
from hbgl.corpora.label_names import frequent_labels
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand, normalize_space
from hbgl.corpora.reuters_topics import topic_taxonomy
from hbgl.corpora.split_choice import shuffled_splits
from hbgl.corpora.writing import CorpusWriter, Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError, Fault
from hbgl.taxonomy import Taxonomy, read_taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ("taxonomy", "min_documents", "drop_duplicates")
FILES = 22
FILE_LIMIT = 32 << 20  # bytes; the files have 1.5 MB
_DOCUMENT = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TEXT = re.compile(r"<TEXT\b[^>]*>(.*?)</TEXT>", re.DOTALL)
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_AROUND = re.compile(r"<(AUTHOR|DATELINE)>.*?</\1>", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CLOSING = re.compile(r"\s+reuter[s]?\s*$", re.IGNORECASE)
_FILLER = re.compile(r"\bblah(?:\s+blah)+\b\.?", re.IGNORECASE)


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert Reuters-21578 into a corpus folder; the collection fits in memory (20 MB).

    Raises:
        CorpusError: a raw file is missing or malformed.
        TaxonomyError: the taxonomy file named has faults.
    """
    options.refuse_unused("reuters21578", OPTIONS)
    files = [file for file in expand(raw) if file.suffix.lower() == ".sgm"]
    if not files:
        raise CorpusError("no .sgm files; reut2-000.sgm to reut2-021.sgm are needed")
    taxonomy = read_taxonomy(options.taxonomy) if options.taxonomy else topic_taxonomy()
    with corpus_writer("reuters21578", destination, progress) as writer:
        if len(files) != FILES:
            writer.note(f"{len(files)} .sgm files, the collection has {FILES}")
        documents: list[Document] = []
        for file in files:
            documents += _stories(file, taxonomy, writer)
            progress(f"reading {file.name}", len(documents))
        documents = _with_dev(documents, options.seed)
        if options.drop_duplicates:
            documents, lost = without_duplicates(documents)
            for split, number in lost.items():
                writer.leave_out(f"equal texts in {split}", number)
        if options.min_documents:
            taxonomy, documents = _prune(taxonomy, documents, options.min_documents, writer)
        for document in documents:
            writer.add(document.split, document.text, document.labels, document.identifier)
        writer.finish(
            taxonomy,
            Description(
                "Reuters-21578, Distribution 1.0",
                "David D. Lewis; stories of Reuters, 1987",
                "free for research purposes only (README of the collection)",
                f"ModApte; dev is a tenth of train, drawn with seed {options.seed}",
            ),
        )
    return writer.result


def _stories(path: Path, taxonomy: Taxonomy, writer: CorpusWriter) -> Iterator[Document]:
    content = path.read_bytes()
    if len(content) > FILE_LIMIT:
        raise CorpusError(
            f"{path}: larger than {FILE_LIMIT >> 20} MiB, not a file of Reuters-21578"
        )
    text = content.decode("latin-1")
    found = list(_DOCUMENT.finditer(text))
    if text.count("<REUTERS") != len(found):
        line = text.count("\n", 0, found[-1].end() if found else 0) + 1
        raise CorpusError("a document is not closed", [Fault("after here", str(path), line)])
    for match in found:
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        split = {"TRAIN": "train", "TEST": "test"}.get(attributes.get("LEWISSPLIT", ""))
        topics = _topics(match[2])
        if attributes.get("TOPICS") != "YES" or split is None:
            writer.leave_out("documents outside ModApte")
        elif not topics:
            writer.leave_out("ModApte documents without a topic")
        else:
            known = tuple(topic for topic in topics if topic in taxonomy)
            body = _text(match[2])
            if not known or not body:
                writer.leave_out("documents without " + ("text" if known else "a topic we know"))
            else:
                yield Document(split, body, known, attributes.get("NEWID"))


def _topics(content: str) -> list[str]:
    block = _TOPICS.search(content)
    return [html.unescape(topic).strip() for topic in _TOPIC.findall(block[1])] if block else []


def _text(content: str) -> str:
    block = _TEXT.search(content)
    inside = block[1] if block else ""
    title, body = _TITLE.search(inside), _BODY.search(inside)
    if title is None and body is None:  # TYPE="UNPROC": no structure inside
        return _clean(_AROUND.sub(" ", inside))
    parts = (_clean(part[1]) for part in (title, body) if part)
    return "\n".join(part for part in parts if part)


def _clean(text: str) -> str:
    # Character references such as &#2; are control characters of the wire.
    plain = normalize_space(_CONTROL.sub(" ", html.unescape(text)))
    return normalize_space(_FILLER.sub(" ", _CLOSING.sub("", " " + plain)))


def _with_dev(documents: list[Document], seed: int) -> list[Document]:
    train = [place for place, document in enumerate(documents) if document.split == "train"]
    dev = len(train) // 10
    splits = shuffled_splits(len(train), {"train": len(train) - dev, "dev": dev, "test": 0}, seed)
    changed = list(documents)
    for place, split in zip(train, splits, strict=True):
        changed[place] = documents[place]._replace(split=split)
    return changed


def _prune(
    taxonomy: Taxonomy, documents: list[Document], minimum: int, writer: CorpusWriter
) -> tuple[Taxonomy, list[Document]]:
    """Take away labels rare in train; a document keeps the ancestors of what it loses."""
    training = [document.labels for document in documents if document.split == "train"]
    kept = frequent_labels(taxonomy, training, minimum)
    if len(kept) == len(taxonomy):
        return taxonomy, documents
    if not kept:
        raise CorpusError(f"no label has {minimum} training documents; lower --min-documents")
    gone = [label for label in taxonomy.labels if label not in kept]
    writer.note(f"labels with fewer than {minimum} training documents: {', '.join(gone)}")
    pruned = []
    for document in documents:
        closed = taxonomy.closure(int(i) for i in taxonomy.ids(document.labels))
        labels = tuple(name for i in closed if (name := taxonomy.labels[int(i)]) in kept)
        if labels:
            pruned.append(document._replace(labels=labels))
        else:
            writer.leave_out("documents without a kept label")
    edges = [(taxonomy.labels[int(p)], taxonomy.labels[int(c)]) for p, c in taxonomy.edges]
    smaller = Taxonomy.from_edges(
        [edge for edge in edges if edge[1] in kept],
        labels=[label for label in taxonomy.labels if label in kept],
        names={label: taxonomy.names[label] for label in kept},
    )
    return smaller, pruned
