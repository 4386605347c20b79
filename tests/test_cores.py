"""Work side by side: the same results in the same order, and torch's thread numbers left alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator

import pytest
import torch

from hbgl.cores import over_cores, workers


@pytest.mark.parametrize("count", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (5 - number % 5))  # later items are done earlier
        return number * number

    assert list(over_cores(work, range(20), count)) == [number * number for number in range(20)]
    assert list(over_cores(work, [], count)) == []


def test_each_thread_takes_its_share_of_torchs_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        seen = set(
            over_cores(lambda _: (threading.get_ident(), torch.get_num_threads()), "ab" * 9, 2)
        )
        assert {threads for _, threads in seen} == {2}
        assert threading.get_ident() not in {thread for thread, _ in seen}
        assert torch.get_num_threads() == 4
        later: list[int] = []
        thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert later == [4]
    finally:
        torch.set_num_threads(before)


def test_no_more_is_taken_on_than_can_be_worked_on() -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    results = over_cores(lambda number: number, endless(), 2)
    assert [next(results) for _ in range(3)] == [1, 2, 3]
    assert taken <= 8
    assert isinstance(results, Generator)
    results.close()


def test_a_fault_reaches_the_caller() -> None:
    def work(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    results = over_cores(work, range(100), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


def test_one_worker_where_the_device_is_no_cpu() -> None:
    assert workers(torch.device("meta")) == 1
    assert 1 <= workers(torch.device("cpu")) <= 8
