"""One model, many threads: each gets the answers that it would get alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hbgl.decisions import RULES
from tests.classifier.estimators import TEXTS, fitted
from tests.classifier.test_estimator import estimator_with

THREADS = 8


def batches(thread: int) -> list[list[str]]:
    """Different texts in each thread, batches of one to five."""
    random = np.random.default_rng(thread)
    return [
        [TEXTS[i] for i in random.choice(len(TEXTS), size=random.integers(1, 6))] for _ in range(12)
    ]


def answers_of(thread: int) -> list[np.ndarray]:
    """Every other batch by another rule, so that threads replace each other's prepared decision."""
    model, found = fitted().model_, []
    rules = list(RULES)
    other = model.decision.changed(model.taxonomy, rule=rules[thread % len(rules)], threshold=0.45)
    for number, texts in enumerate(batches(thread)):
        decision = other if number % 2 else None
        found.append(model.predict_proba(texts, decision=decision))
        found.append(model.choose(texts, decision=decision).toarray())
    return found


def test_eight_threads_with_one_model() -> None:
    expected = [answers_of(thread) for thread in range(THREADS)]
    start = threading.Barrier(THREADS)

    def run(thread: int) -> list[np.ndarray]:
        start.wait()
        return answers_of(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(run, range(THREADS)))
    for here, there in zip(found, expected, strict=True):
        for one, other in zip(here, there, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("rule", ["leaf", "paper"])
def test_estimators_that_share_a_model(rule: str) -> None:
    """Each thread with parameters of its own."""
    mine, other = estimator_with(rule=rule), estimator_with(threshold=0.3)
    expected = mine.predict(TEXTS), other.predict(TEXTS)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one.predict, TEXTS) for _ in range(8) for one in (mine, other)]
    for number, job in enumerate(jobs):
        assert np.array_equal(job.result(), expected[number % 2])
