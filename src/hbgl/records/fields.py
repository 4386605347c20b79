"""From the fields of a row to a record, or to what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hbgl.records.faults import BadRecordError, check_encodable
from hbgl.records.labels import LabelReader
from hbgl.records.record import Columns, Record

__all__ = ["OPTIONAL", "FieldReader", "layout_of"]

PLAIN = Columns()
SINGULAR = Columns(labels="label")
# The JSON of earlier code for hierarchical classification, whose texts may be lists of tokens.
OLDER = (Columns(text="token", labels="label"), Columns(text="doc_token", labels="doc_label"))
TOKENISED = ("token", "doc_token")

# Columns that may be absent; any other was named by the user, so its absence is a mistake.
OPTIONAL = frozenset({"labels", "label", "doc_label", "id"})


def layout_of(names: Mapping[str, object]) -> Columns | None:
    """The columns of a file whose columns nobody named, by the text column that is there."""
    if "text" in names:
        return SINGULAR if "label" in names and "labels" not in names else PLAIN
    return next((layout for layout in OLDER if layout.text in names), None)


class FieldReader:
    """Builds records from rows: ``fields`` is a JSON object or a row of a table by column."""

    def __init__(
        self, labels: LabelReader, columns: Columns | None = None, *, require_labels: bool = False
    ) -> None:
        self._columns = columns
        self._labels = labels
        self._require_labels = require_labels

    def record(self, fields: Mapping[str, object], line: int) -> Record:
        """The record of a row; ``BadRecordError`` if it has none."""
        columns = self.layout(fields)
        labels = self.read_labels(fields, columns, self._labels.read, self._labels.read_levels)
        if self._require_labels and not labels:
            raise BadRecordError("no labels", "no labels, and each document needs one here")
        name = None if columns.id is None else fields.get(columns.id)
        return Record(
            text=_text(fields, columns.text),
            labels=labels,
            id=None if name is None else _id(name),
            line=line,
        )

    def layout(self, fields: Mapping[str, object]) -> Columns:
        """The columns that hold for this row."""
        if self._columns is not None:
            return self._columns
        layout = layout_of(fields)
        if layout is None:
            raise BadRecordError("no text", f'no text: there is no field "text"{_found(fields)}')
        return layout

    @staticmethod
    def read_labels(
        fields: Mapping[str, object],
        columns: Columns,
        read: Callable[[object], tuple[str, ...]],
        read_levels: Callable[[list[object]], tuple[str, ...]],
    ) -> tuple[str, ...]:
        """The labels of a row, whether one column holds them or one per level."""
        if isinstance(columns.labels, str):
            if columns.labels not in fields and columns.labels not in OPTIONAL:
                raise BadRecordError(
                    "no labels", f'no labels: there is no field "{columns.labels}"{_found(fields)}'
                )
            return read(fields.get(columns.labels))
        if columns.labels is None:
            return ()
        return read_levels([fields.get(name) for name in columns.labels])


def _text(fields: Mapping[str, object], name: str) -> str:
    text = fields.get(name)
    if isinstance(text, list) and name in TOKENISED:
        if not all(isinstance(token, str) for token in text):
            raise BadRecordError("wrong type", f'wrong type: a token in "{name}" is not a string')
        text = " ".join(text)
    if not isinstance(text, str):
        if name not in fields:
            raise BadRecordError("no text", f'no text: there is no field "{name}"{_found(fields)}')
        if text is None:
            raise BadRecordError("no text", f'no text: "{name}" is null')
        kind = type(text).__name__
        raise BadRecordError("wrong type", f'wrong type: "{name}" must be a string, not {kind}')
    if not text or text.isspace():
        raise BadRecordError("no text", f'no text: "{name}" is empty')
    if not text.isascii():
        check_encodable(text, f'"{name}"')
    return text


def _id(value: object) -> str:
    if isinstance(value, str):
        check_encodable(value, "the id")
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value != value:
        raise BadRecordError("wrong id", "wrong id: the id is NaN; leave it out or give it a value")
    kind = type(value).__name__
    raise BadRecordError("wrong id", f"wrong id: it must be a string or an integer, not {kind}")


def _found(fields: Mapping[str, object]) -> str:
    names = ", ".join(f'"{name}"' for name in list(fields)[:8])
    return f" (found: {names})" if names else ""
