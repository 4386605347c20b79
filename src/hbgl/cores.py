"""Pieces of work side by side on a CPU: a thread for each core, and in it one thread of torch's.

Torch spreads a single product over all cores and waits for the last of them, thousands of times in
a batch; a core that works through a batch of its own waits for nobody. Torch releases Python's lock
while it computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import TypeVar

import torch

__all__ = ["over_cores", "workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST = 8
"""Threads at the most, since each holds a batch in memory; cores beyond share their work."""


def workers(device: torch.device) -> int:
    """How many pieces of work should go on at a time."""
    return min(torch.get_num_threads(), _MOST) if device.type == "cpu" else 1


def over_cores(
    work: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Iterator[Result]:
    """``work`` of each item, in the order of the items, ``count`` at a time.

    A piece of work sees a fresh thread: autocast, inference mode and the like it enters itself.
    """
    if count < 2:
        yield from map(work, items)
        return
    with _threads(count) as pool:
        under_way: deque[Future[Result]] = deque()
        for item in items:
            under_way.append(pool.submit(work, item))
            if len(under_way) > count + 1:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    own = torch.get_num_threads()
    all_there = Barrier(count + 1)

    def begin() -> None:
        torch.get_num_threads()  # a thread that never asked takes over the common number later on
        torch.set_num_threads(max(1, own // count))
        all_there.wait()

    pool = ThreadPoolExecutor(count, "hbgl-core")
    try:
        for _ in range(count):
            pool.submit(begin)
        all_there.wait()
        # The number is each thread's own, but also that of every thread yet to come.
        torch.set_num_threads(own)
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
