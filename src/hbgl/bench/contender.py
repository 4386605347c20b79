"""What is compared: a way to predict or to train, with its name and how it computes."""

from __future__ import annotations

from typing import Protocol, TypeVar

__all__ = ["Contender"]

Documents = TypeVar("Documents", contravariant=True)


class Contender(Protocol[Documents]):
    """One way to do a job. ``Documents``: texts to predict, tokenised labelled texts to train."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""

    @property
    def what(self) -> str:
        """How it computes, in a line."""

    @property
    def precision(self) -> str:
        """``float32`` or ``bfloat16``: the matrix products that its speed is held against."""

    @property
    def method(self) -> str:
        """``hbgl`` or ``flat``: the work that its answers need."""

    def prepare(self) -> None:
        """Build models and whatever else is made once."""

    def run(self, documents: Documents) -> None:
        """Do the job on all documents; this is what is timed."""
