"""Bulk prediction: a stream of records in, a stream of answers in the same order out.

Records are taken in windows; inside a window they are predicted in batches by length. Memory is
that of one window, however long the stream.
"""

from __future__ import annotations

import dataclasses
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

from hbgl.decisions import Decision
from hbgl.decoding import Prediction
from hbgl.records import Record
from hbgl.trained_model import TrainedModel

__all__ = ["predict_records", "text_records"]

_WINDOW = 2048


def predict_records(
    classifier: TrainedModel,
    records: Iterable[Record],
    *,
    decision: Decision | None = None,
    top_k: int | None = None,
    everything: bool = False,
    window: int = _WINDOW,
) -> Iterator[Prediction]:
    """Answers in the order of the records, each with its record's id and line."""
    stream = iter(records)
    while chunk := list(islice(stream, window)):
        answers = classifier.predict(
            [record.text for record in chunk],
            decision=decision,
            top_k=top_k,
            everything=everything,
        )
        for record, found in zip(chunk, answers, strict=True):
            yield dataclasses.replace(found, id=record.id, line=record.line)


def text_records(stream: BinaryIO) -> Iterator[Record]:
    """Plain text, one document per line; broken UTF-8 becomes replacement characters."""
    for number, line in enumerate(stream, start=1):
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        yield Record(line.decode("utf-8", "replace").rstrip("\r\n"), line=number)
