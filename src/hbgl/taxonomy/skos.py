"""SKOS vocabularies (Turtle, RDF/XML) by rdflib: concepts are labels, ``broader`` makes parents.

A label is its concept's preferred label in the wanted language, else one without a language, else
any; without one, the last part of its address. Concepts are told apart by address, so equal
preferred labels never join: they get the parent's name, or else the address, in brackets.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from xml.parsers import expat

from hbgl.errors import Fault, MissingExtraError, TaxonomyError
from hbgl.taxonomy.draft import Draft
from hbgl.taxonomy.label_studio import parse_xml
from hbgl.taxonomy.names import fold_name
from hbgl.taxonomy.source import decode_text

__all__ = ["read_skos"]

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_BASE = "http://vocabulary.invalid/"
"""What relative addresses hang from; only the last part of an address is ever shown."""


def read_skos(content: bytes, draft: Draft, *, language: str = "en") -> None:
    """Read the concepts of one vocabulary."""
    try:
        import rdflib
    except ImportError as error:
        raise MissingExtraError("reading SKOS", "rdflib", "skos") from error
    graph = _parse(rdflib, content, draft.file)

    def term(address: str) -> Any:
        return rdflib.URIRef(address)

    pairs = dict.fromkeys(
        (parent, child) for child, parent in graph.subject_objects(term(_SKOS + "broader"))
    )
    pairs.update(dict.fromkeys(graph.subject_objects(term(_SKOS + "narrower"))))
    concepts = dict.fromkeys(graph.subjects(term(_RDF_TYPE), term(_SKOS + "Concept")))
    concepts.update(dict.fromkeys(concept for pair in pairs for concept in pair))
    if not concepts:
        draft.fault("there is no skos:Concept")
        return
    plain: dict[Any, str] = {}
    for concept in concepts:
        preferred = list(graph.objects(concept, term(_SKOS + "prefLabel")))
        others = list(graph.objects(concept, term(_RDFS_LABEL)))
        plain[concept] = _best(preferred or others, language) or _last_part(concept)
    first_parent: dict[Any, Any] = {}
    for parent, child in pairs:
        first_parent.setdefault(child, parent)
    labels = _told_apart(plain, first_parent)
    draft.locate = _locator(content, {labels[concept]: plain[concept] for concept in concepts})
    for concept in concepts:
        draft.label(labels[concept])
    for parent, child in pairs:
        draft.edge(labels[parent], labels[child])


def _parse(rdflib: Any, content: bytes, file: str | None) -> Any:
    start = content[:4096].lstrip()
    is_xml = start.startswith(b"<?xml") or (start.startswith(b"<") and b":RDF" in start)
    if is_xml:
        parse_xml(expat.ParserCreate(), content, file)
    else:
        decode_text(content, file)
    kind = "xml" if is_xml else "turtle"
    try:
        return rdflib.Graph().parse(data=content, format=kind, publicID=_BASE)
    except RecursionError as error:
        raise TaxonomyError(f"{file}: the {kind} is nested too deep to be read") from error
    except Exception as error:  # rdflib and its parsers share no error class
        line = getattr(error, "lines", None)  # what its Turtle reader counts, from 0
        reason = getattr(error, "_why", None) or str(error) or type(error).__name__
        fault = Fault(
            f"broken RDF: {str(reason).splitlines()[0]}",
            file,
            line + 1 if isinstance(line, int) else None,
        )
        raise TaxonomyError("the taxonomy cannot be read", [fault]) from error


def _best(literals: list[Any], language: str) -> str | None:
    """The text of the best literal, the same in whatever order the graph has them."""

    def rank(literal: Any) -> tuple[int, str, str]:
        tag = (getattr(literal, "language", None) or "").lower()
        if tag == language.lower():
            nearness = 0
        elif tag.startswith(f"{language.lower()}-"):
            nearness = 1
        else:
            nearness = 3 if tag else 2
        return nearness, tag, str(literal)

    return str(min(literals, key=rank)) if literals else None


def _last_part(concept: object) -> str:
    """``http://example.org/topics#c_12`` -> ``c_12``."""
    return re.split(r"[/#:]", str(concept).rstrip("/#:"))[-1]


def _told_apart(plain: dict[Any, str], first_parent: dict[Any, Any]) -> dict[Any, str]:
    """A label for each concept; names that would be confused get something in brackets."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for concept, name in plain.items():
        groups[fold_name(name)].append(concept)
    labels = {group[0]: plain[group[0]] for group in groups.values() if len(group) == 1}
    taken = {fold for fold, group in groups.items() if len(group) == 1}
    for group in groups.values():
        if len(group) == 1:
            continue
        by_parent = [
            f"{plain[one]} ({plain[first_parent[one]]})" if one in first_parent else plain[one]
            for one in group
        ]
        folds = {fold_name(name) for name in by_parent}
        if len(folds) < len(group) or not folds.isdisjoint(taken):
            by_parent = [f"{plain[one]} ({_last_part(one)})" for one in group]
        labels.update(zip(group, by_parent, strict=True))
        taken.update(fold_name(name) for name in by_parent)
    return labels


def _locator(content: bytes, names: dict[str, str]) -> Callable[[str], int]:
    """Finds the line where a label's plain name stands: rdflib does not keep lines."""

    def locate(label: str) -> int:
        plain = names[label].encode("utf-8", "replace")
        for shape in (b'"%s"', b">%s<", b"%s"):
            place = content.find(shape % plain)
            if place >= 0:
                return content.count(b"\n", 0, place) + 1
        return 0

    return locate
