"""Bulk prediction: a stream in, a stream out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hbgl.decoding import answer, top_of_each_level
from hbgl.prediction import predict_records, text_records
from hbgl.records import Record
from tests.small_corpus import TAXONOMY, random_records
from tests.test_trained_model import classifier

RECORDS = [
    replace(record, id=f"no {number}", line=number)
    for number, record in enumerate(random_records(23, seed=2), start=1)
]


@pytest.mark.parametrize("window", [1, 4, 23, 1000])
def test_answers_come_in_order_with_ids_and_lines(window: int) -> None:
    """Whatever the window: those of all the texts at once."""
    model = classifier()
    found = list(predict_records(model, RECORDS, window=window, everything=True))
    assert [one.id for one in found] == [record.id for record in RECORDS]
    assert [one.line for one in found] == list(range(1, 24))
    expected = model.predict([record.text for record in RECORDS], everything=True)
    for one, other in zip(found, expected, strict=True):
        assert one.labels == other.labels
        assert one.paths == other.paths
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)


def test_a_stream_is_read_a_window_at_a_time() -> None:
    """An endless stream: after the 5th answer of windows of 4, 8 records were read."""
    read = 0

    def endless() -> Iterator[Record]:
        nonlocal read
        while True:
            read += 1
            yield Record("money", line=read)

    answers = predict_records(classifier(), endless(), window=4)
    assert read == 0
    for number in range(1, 6):
        assert next(answers).line == number
        assert read == 4 * -(-number // 4)


def test_options_reach_the_model() -> None:
    nothing = classifier().decision.changed(TAXONOMY, threshold=1.0)
    for found in predict_records(classifier(), RECORDS, decision=nothing, top_k=2):
        assert found.labels == ()
        assert len(found.probabilities) == 6
    assert list(predict_records(classifier(), [])) == []


def test_plain_lines_are_records() -> None:
    """A byte-order mark and line ends are no text; broken UTF-8 is answered, not refused."""
    stream = io.BytesIO(b"\xef\xbb\xbfone\r\n\n \xff\xfe two\nthree")
    assert list(text_records(stream)) == [
        Record("one", line=1),
        Record("", line=2),
        Record(" \ufffd\ufffd two", line=3),
        Record("three", line=4),
    ]


# ---------------------------------------------------------------------- naming of answers


def test_an_answer_names_labels_paths_and_probabilities() -> None:
    """animals, dogs and trees chosen: trees is drawn below plants, which was not chosen."""
    shares = np.array([0.9, 0.4, 0.1, 0.8, 0.95, 0.2, 0.3, 0.05], dtype=np.float32)
    chosen = shares > 0.7
    found = answer(TAXONOMY, shares, chosen)
    assert found.labels == ("animals", "dogs", "trees")
    assert found.paths == (("animals", "dogs"), ("plants", "trees"))
    assert list(found.probabilities) == ["trees", "animals", "dogs"]
    assert found.probabilities["dogs"] == pytest.approx(0.8)


def test_more_probabilities_where_they_are_asked_for() -> None:
    shares = np.array([0.9, 0.4, 0.1, 0.8, 0.95, 0.2, 0.3, 0.05], dtype=np.float32)
    chosen = shares > 0.85
    assert set(answer(TAXONOMY, shares, chosen, top_k=1).probabilities) == {
        *("animals", "trees", "puppies"),
    }
    whole = answer(TAXONOMY, shares, chosen, everything=True)
    assert whole.labels == ("animals", "trees")
    assert len(whole.probabilities) == 8


def test_top_of_each_level() -> None:
    """Ids 0 1 | 2 3 4 5 | 6 7; equal shares go to the smaller id; a level may have fewer than k."""
    shares = np.array([0.1, 0.9, 0.5, 0.2, 0.5, 0.6, 0.3, 0.3])
    assert top_of_each_level(TAXONOMY, shares, 1).tolist() == [1, 5, 6]
    assert top_of_each_level(TAXONOMY, shares, 3).tolist() == [1, 0, 5, 2, 4, 6, 7]
