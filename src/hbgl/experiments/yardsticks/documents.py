"""A split of a corpus folder as texts and a label matrix."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.sparse import csr_matrix

from hbgl.corpora import CorpusFolder
from hbgl.errors import CorpusError
from hbgl.evaluation import label_matrix

__all__ = ["Documents", "dev_documents", "read_documents"]


@dataclass(frozen=True, slots=True)
class Documents:
    """Labelled texts, in the order of their file."""

    texts: list[str]
    gold: csr_matrix
    """[documents, L] boolean, closed under ancestors."""

    def __len__(self) -> int:
        return len(self.texts)


def read_documents(corpus: CorpusFolder, split: str) -> Documents:
    """Read a split into memory.

    Raises:
        CorpusError: there is no such split, or it is empty.
    """
    texts, label_ids = [], []
    for record in corpus.records(split):
        texts.append(record.text)
        label_ids.append(corpus.taxonomy.ids(record.labels))
    if not texts:
        raise CorpusError(f"{corpus.path}: {split} has no documents")
    return Documents(texts, label_matrix(label_ids, len(corpus.taxonomy)))


def dev_documents(corpus: CorpusFolder, candidates: int) -> Documents | None:
    """The dev split where there is a choice to make on it, else None.

    Raises:
        CorpusError: there is a choice and no dev split.
    """
    if candidates < 2:
        return None
    if "dev" not in corpus.splits:
        raise CorpusError(
            f"{corpus.path}: no dev split to choose among {candidates} candidates on; "
            "give one value of each option, or split the corpus with: hbgl data split"
        )
    return read_documents(corpus, "dev")
