"""CLINC150 (Larson et al. 2019): requests to a voice assistant, 10 domains, 150 intents.

Raw: ``data_full.json`` with lists of ``[text, intent]`` under train, val, test (100, 20 and 30 an
intent) and oos_train, oos_val, oos_test; and ``domains.json``, ``{"banking": ["transfer", ...]}``.
The out-of-scope test requests become ``oos_test.jsonl.gz`` without labels; the others are left
out. ``drop_duplicates`` gives the bundled corpus but for two things: that one keeps texts which
differ in a space or an apostrophe ("pay check", "paycheck"), and its names were edited by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hbgl.corpora.duplicates import Document, without_duplicates
from hbgl.corpora.options import PrepareOptions, Progress, no_progress
from hbgl.corpora.raw_files import expand, normalize_space
from hbgl.corpora.writing import Description, PreparedCorpus, corpus_writer
from hbgl.errors import CorpusError
from hbgl.records import Record, write_records
from hbgl.taxonomy import Taxonomy

__all__ = ["OPTIONS", "prepare"]

OPTIONS = ("drop_duplicates",)
SPLIT_NAMES = {"train": "train", "val": "dev", "test": "test"}


def prepare(
    raw: Sequence[Path],
    destination: Path,
    options: PrepareOptions,
    progress: Progress = no_progress,
) -> PreparedCorpus:
    """Convert CLINC150 into a corpus folder.

    Raises:
        CorpusError: a raw file is missing or malformed.
    """
    options.refuse_unused("clinc150", OPTIONS)
    files = expand(raw)
    data_file, domains_file = _one(files, "data_full.json"), _one(files, "domains.json")
    domain_of = _read_domains(domains_file)
    data = _read_json(data_file)
    documents = [
        Document(split, text, _labels(intent, domain_of, f"{data_file}: {name}[{place}]"))
        for name, split in SPLIT_NAMES.items()
        for place, text, intent in _requests(data, name, data_file)
    ]
    with corpus_writer("clinc150", destination, progress) as writer:
        if options.drop_duplicates:
            documents, lost = without_duplicates(documents)
            for split, number in lost.items():
                writer.leave_out(f"equal texts in {split}", number)
        for document in documents:
            writer.add(document.split, document.text, document.labels)
        outside = [Record(text) for _, text, _ in _requests(data, "oos_test", data_file)]
        write_records(outside, writer.folder / "oos_test.jsonl.gz")
        writer.note(f"{len(outside):,} out-of-scope test requests are in oos_test.jsonl.gz")
        edges = [(domain, intent) for intent, domain in domain_of.items()]
        writer.finish(
            Taxonomy.from_edges(edges),
            Description(
                "CLINC150",
                "Larson et al., EMNLP-IJCNLP 2019; github.com/clinc/oos-eval, data_full.json",
                "CC BY 3.0",
                "the source's own; val is dev",
            ),
        )
    return writer.result


def _one(files: Sequence[Path], name: str) -> Path:
    found = [file for file in files if file.name == name]
    if len(found) != 1:
        shown = ", ".join(str(file) for file in found) or "none"
        raise CorpusError(f"one {name} is needed, found {shown}")
    return found[0]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise CorpusError(f"{path}: a JSON object is expected")
    return content


def _read_domains(path: Path) -> dict[str, str]:
    domain_of: dict[str, str] = {}
    for domain, intents in _read_json(path).items():
        if not isinstance(intents, list) or not all(isinstance(name, str) for name in intents):
            raise CorpusError(f"{path}: {domain}: a list of intents is expected")
        for intent in intents:
            if intent in domain_of:
                raise CorpusError(f"{path}: {intent} is in {domain_of[intent]} and in {domain}")
            domain_of[intent] = domain
    return domain_of


def _requests(data: dict[str, Any], name: str, path: Path) -> list[tuple[int, str, str]]:
    pairs = data.get(name)
    if not isinstance(pairs, list):
        raise CorpusError(f"{path}: no list {name!r} of [text, intent] pairs")
    requests = []
    for place, pair in enumerate(pairs):
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(part, str) for part in pair)
            or not pair[0].strip()
        ):
            raise CorpusError(f"{path}: {name}[{place}] is no [text, intent] pair")
        requests.append((place, normalize_space(pair[0]), pair[1]))
    return requests


def _labels(intent: str, domain_of: dict[str, str], place: str) -> tuple[str, str]:
    if intent not in domain_of:
        raise CorpusError(f"{place}: the intent {intent!r} is in no domain")
    return domain_of[intent], intent
