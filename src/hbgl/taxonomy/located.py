"""JSON and YAML as trees of values that know their line; read with loops, not recursion.

The parsers of the standard library and of PyYAML check the text. Only events are taken from
YAML, so no object is ever constructed, and aliases, which can blow up, are refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from hbgl.errors import Fault, MissingExtraError, TaxonomyError
from hbgl.taxonomy.source import decode_text

__all__ = ["Items", "Pairs", "Scalar", "Value", "parse_json", "parse_yaml"]


@dataclass(slots=True)
class Scalar:
    """A text, or None for what is not text: a number, true, null."""

    text: str | None
    line: int


@dataclass(slots=True)
class Items:
    """A list."""

    line: int
    values: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class Pairs:
    """A mapping; pairs as they stand in the file, so that a repeated key is seen."""

    line: int
    values: list[tuple[Scalar, Value]] = field(default_factory=list)

    def get(self, *keys: str) -> Value | None:
        """The value of the first of the keys that is there."""
        for wanted in keys:
            for key, value in self.values:
                if key.text == wanted:
                    return value
        return None


_DEEPEST = 1000
"""The parsers' own limits differ, and the time of libyaml grows with the square of the depth."""

Value = Scalar | Items | Pairs
_Event = tuple[Literal["scalar", "items", "pairs", "end"], str | None, int]
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s\[\]{},:"]+|\n', re.DOTALL)


def parse_json(content: bytes, file: str) -> Value:
    """The tree of a JSON text."""
    text = decode_text(content, file)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise _broken("JSON", file, error.msg, error.lineno) from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except ValueError as error:  # a number of thousands of digits
        raise _broken("JSON", file, str(error), None) from error
    return _build(_json_events(text), file)


def parse_yaml(content: bytes, file: str) -> Value:
    """The tree of a YAML text; scalars such as ``no`` and ``1`` are texts, ``null`` is not."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError("reading YAML", "pyyaml", "yaml") from error
    text = decode_text(content, file)
    try:
        return _build(_yaml_events(yaml, text, file), file)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        place = text.count("\n", 0, getattr(error, "position", 0)) + 1
        line = mark.line + 1 if mark else place
        raise _broken("YAML", file, problem.splitlines()[0], line) from error


def _json_events(content: str) -> Iterator[_Event]:
    line = 1
    for found in _JSON_TOKEN.finditer(content):
        piece = found[0]
        if piece == "\n":
            line += 1
        elif piece[0] == '"':
            text = json.loads(piece) if "\\" in piece else piece[1:-1]
            yield "scalar", sys.intern(text), line  # keys come again and again
        elif piece in "[{":
            yield "items" if piece == "[" else "pairs", None, line
        elif piece in "]}":
            yield "end", None, line
        else:
            yield "scalar", None, line


def _yaml_events(yaml: Any, text: str, file: str) -> Iterator[_Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = 0
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            null = event.implicit[0] and event.value in ("", "~", "null", "Null", "NULL")
            yield "scalar", None if null else event.value, line
        elif isinstance(event, yaml.SequenceStartEvent):
            yield "items", None, line
        elif isinstance(event, yaml.MappingStartEvent):
            yield "pairs", None, line
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            yield "end", None, line
        elif isinstance(event, yaml.AliasEvent):
            raise _broken("YAML", file, "aliases (*name) are not read; write the names out", line)
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _broken("YAML", file, "a second document; one taxonomy per file", line)


def _build(events: Iterator[_Event], file: str) -> Value:
    """Put events together; a mapping's values are its keys and values in turn."""
    top = Items(0)
    open_values: list[Items | Pairs] = [top]
    keys: list[Scalar | None] = [None]

    def put(value: Value) -> None:
        holder = open_values[-1]
        if isinstance(holder, Items):
            holder.values.append(value)
        elif keys[-1] is None:
            if not isinstance(value, Scalar):
                raise _broken("YAML", file, "a key must be text", value.line)
            keys[-1] = value
        else:
            holder.values.append((keys[-1], value))
            keys[-1] = None

    for kind, text, line in events:
        if kind == "scalar":
            put(Scalar(text, line))
        elif kind == "end":
            open_values.pop()
            keys.pop()
        else:
            if len(open_values) > _DEEPEST:
                raise _too_deep(file)
            value = Items(line) if kind == "items" else Pairs(line)
            put(value)
            open_values.append(value)
            keys.append(None)
    return top.values[0] if top.values else Scalar(None, 1)


def _broken(kind: str, file: str, problem: str, line: int | None) -> TaxonomyError:
    fault = Fault(f"broken {kind}: {problem}", file, line)
    return TaxonomyError("the file cannot be read", [fault])


def _too_deep(file: str) -> TaxonomyError:
    return TaxonomyError(
        f"{file}: nested deeper than {_DEEPEST} lists and mappings; write deep taxonomies as TSV "
        "or as edges (parent,child)"
    )
