"""Good files of records and taxonomies, and how `benchmarks.fuzz_readers` damages them."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from hbgl.records import Record, write_records
from hbgl.taxonomy.formats import Format

__all__ = ["TAXONOMIES", "mutated", "record_samples"]

RECORDS = [
    Record("Light bends in glass.", ("science", "physics", "optics"), "1"),
    Record('A "quoted", text;\nof two lines', ("sport",), None),
    Record("Ünïcode 漢字 🙂", (), "x\ty"),
]
JSON_LINES = [
    {"text": "a", "labels": ["optics", "sport"], "id": 1},
    {"text": "b", "labels": ["science > physics > optics"]},
    {"text": "c", "labels": [["science", "biology"]], "other": {"deep": [1, 2.5, None, True]}},
    {"token": ["d", "e"], "label": ["d"]},
    {"doc_token": "f", "doc_label": "a; b", "doc_topic": []},
    {"text": "g \u00e9 \U0001f642", "level1": "science", "level2": "physics"},
]
TAXONOMIES: dict[str, tuple[Format, str, str]] = {
    "tsv": ("tsv", ".tsv", "Root\tscience\tsport\nscience\tphysics\tbiology\nphysics\toptics\n"),
    "edges": ("edges", ".csv", 'parent,child\nRoot,science\nscience,"physics, all"\n,sport\n'),
    "paths": ("paths", ".txt", "science > physics > optics\nscience > biology\nsport\n"),
    "json": (
        "json",
        ".json",
        '{"science": {"physics": ["optics"], "biology": {}}, "sport": null}',
    ),
    "json nodes": (
        "json",
        ".json",
        '[{"name": "science", "children": [{"name": "physics"}]}, {"name": "sport"}]',
    ),
    "yaml": ("yaml", ".yaml", "science:\n  physics: [optics]\n  biology:\nsport:\n"),
    "label-studio": (
        "label-studio",
        ".xml",
        '<View><Taxonomy name="t" toName="x"><Choice value="science"><Choice value="physics"/>'
        '</Choice><Choice value="sport"/></Taxonomy></View>',
    ),
    "skos turtle": (
        "skos",
        ".ttl",
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://e.org/> .\n"
        ':s a skos:Concept ; skos:prefLabel "science"@en .\n'
        ':p a skos:Concept ; skos:prefLabel "physics"@en ; skos:broader :s .\n',
    ),
    "skos xml": (
        "skos",
        ".rdf",
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:skos="http://www.w3.org/2004/02/skos/core#"><skos:Concept rdf:about="http://e.org/s">'
        '<skos:prefLabel xml:lang="en">science</skos:prefLabel></skos:Concept></rdf:RDF>',
    ),
    "names": ("tsv", ".tsv", '{"science": "the sciences", "sport": "all of sport"}'),
}
TOKENS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b'"', b"'", b"{", b"}",
    b"[", b"]", b",", b";", b":", b"\t", b"\r", b"\n", b"\r\n", b" > ", b">", b"<", b"&", b"&#0;",
    b"NaN", b"Infinity", b"-1e999", b"null", b"true", b"1" * 5000, b"[" * 3000, b'{"a":' * 3000,
    b"Root", b"Root\t", b'"text":', b'"labels":', b'"id":', b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;", b"- ", b"  ", b"*a", b"&a ", b"!!python/object:os.system", b"<<: ", b"@prefix",
    b"\x1f\x8b", b"PAR1", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0c", b"science", b"x" * 3000,
]  # fmt: skip


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The content with one to six changes."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        place = rng.randint(0, len(data))
        end = min(len(data), place + rng.choice((1, 1, 2, 4, 16, 64)))
        kind = rng.randrange(7)
        if kind == 0:
            data[place:end] = rng.randbytes(end - place)
        elif kind == 1:
            data[place:place] = rng.choice(TOKENS)
        elif kind == 2:
            data[place:end] = rng.choice(TOKENS)
        elif kind == 3:
            del data[place:end]
        elif kind == 4:
            data[place:place] = data[place:end] * rng.choice((1, 2, 50))
        elif kind == 5:
            other = rng.randint(0, len(data))
            data[place:end] = data[other : other + (end - place)]
        elif rng.random() < 0.3:
            del data[place:]
    return bytes(data)


def record_samples() -> dict[str, bytes]:
    """A good file for each record format."""
    samples = {"jsonl": "\n".join(json.dumps(line) for line in JSON_LINES).encode()}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("csv", "tsv", "parquet"):
            write_records(RECORDS, path := Path(folder) / f"a.{suffix}")
            samples[suffix] = path.read_bytes()
    return samples
