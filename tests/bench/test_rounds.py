"""Interleaving, budgets, medians and ratios, by hand."""

from __future__ import annotations

import pytest

from hbgl.bench import rounds
from hbgl.bench.rounds import fitting_documents, interleave, ratio, spread


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_SETTLE", 0.0)


def test_medians_of_ratios_not_ratios_of_medians() -> None:
    """Seconds 1, 2, 4 against 8, 8, 8: 8, 4 and 2 times in the rounds, median 4.

    Medians against each other would give 8 / 2 = 4 too; with 1, 2, 4 against 10, 8, 4 they give
    8 / 2 = 4 again, and the rounds give 10, 4, 1: median 4, from 1 to 10.
    """
    assert ratio([1, 2, 4], [8, 8, 8]).to_json() == {"median": 4.0, "low": 2.0, "high": 8.0}
    assert ratio([1, 2, 4], [10, 8, 4]).to_json() == {"median": 4.0, "low": 1.0, "high": 10.0}
    assert ratio([1, 1, 4], [3, 9, 8]).median == 3.0  # the medians would give 8


def test_even_numbers_of_rounds_and_four_digits() -> None:
    assert spread([3.0, 1.0, 2.0, 10.0]).to_json() == {"median": 2.5, "low": 1.0, "high": 10.0}
    assert spread([1 / 3]).to_json()["median"] == 0.3333
    assert spread([123456.0]).to_json()["median"] == 123500.0


def test_fewer_documents_where_three_rounds_do_not_fit() -> None:
    """2 s a document in all: three rounds of 10 documents are 60 s."""
    assert fitting_documents([0.5, 1.5], 10, 5, budget=60) == 10
    assert fitting_documents([0.5, 1.5], 100, 5, budget=60) == 10
    assert fitting_documents([0.5, 1.5], 100, 2, budget=60) == 15
    assert fitting_documents([0.5, 1.5], 100, 5, budget=1) == rounds.FEWEST_DOCUMENTS
    assert fitting_documents([0.5, 1.5], 3, 5, budget=1) == 3


def test_contenders_take_turns() -> None:
    order: list[str] = []

    def run(name: str) -> rounds.Run:
        def once() -> dict[str, object]:
            order.append(name)
            return {"seconds": 1.0, "number": len(order)}

        return once

    heard: list[tuple[str, int]] = []
    found = interleave(
        {"a": run("a"), "b": run("b")}, 2, 100, lambda name, number: heard.append((name, number))
    )
    assert order == ["a", "b", "a", "b"]
    assert [one["number"] for one in found["b"]] == [2, 4]
    assert heard == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_no_round_begins_that_would_end_too_late() -> None:
    """Rounds of 10 s in 25 s: the third would end at 30 s."""
    now = [0.0]

    def run() -> dict[str, object]:
        now[0] += 10
        return {"seconds": 10.0}

    found = interleave({"a": run}, 5, 25, clock=lambda: now[0])
    assert len(found["a"]) == 2
    now[0] = 0.0
    assert len(interleave({"a": run}, 5, 1, clock=lambda: now[0])["a"]) == 1
