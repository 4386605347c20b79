"""What the contenders work on: documents, their taxonomy, and the model that answers.

A workload is opened anew, from the same few numbers, in the process of each contender: all of them
see the same documents and start from the same weights.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from hbgl.backbones import Backbone, load_backbone
from hbgl.bench.spec import SYNTHETIC, WorkloadSpec
from hbgl.bench.synthetic import balanced_taxonomy, random_records
from hbgl.bench.untrained import choose_few, untrained_model
from hbgl.corpora import CorpusFolder, open_corpus
from hbgl.encoder import TwoStreamEncoder
from hbgl.errors import CorpusError, UsageError
from hbgl.evaluation import LabelledTexts
from hbgl.model import HBGL
from hbgl.records import Record
from hbgl.settings import with_overrides
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import TrainedModel, prepare_records

__all__ = ["Workload", "open_workload"]

_SAMPLE = 32  # texts


@dataclass(slots=True)
class Workload:
    """Documents and what is needed to answer them."""

    spec: WorkloadSpec
    name: str
    records: list[Record]
    taxonomy: Taxonomy
    backbone: Backbone
    max_length: int
    """Longest text in tokens, the same for every contender."""
    loaded: TrainedModel | None

    @property
    def texts(self) -> list[str]:
        """The documents' texts."""
        return [record.text for record in self.records]

    def labelled(self) -> LabelledTexts:
        """The documents tokenised, with their label matrix."""
        return prepare_records(self.records, self.taxonomy, self.backbone, self.max_length)

    def model(self, method: str = "hbgl") -> TrainedModel:
        """The trained model, or an untrained one of that method."""
        if self.loaded is not None and self.loaded.settings.model.method == method:
            return self.loaded
        made = untrained_model(
            self.taxonomy,
            self.backbone,
            method=method,
            max_length=self.max_length,
            precision=self.spec.precision,
            seed=self.spec.seed,
        )
        if not self.spec.training:
            choose_few(made, self.texts[:_SAMPLE])
        return made


def open_workload(spec: WorkloadSpec) -> Workload:
    """Read documents and load the backbone, or the trained model with its own.

    :raises UsageError: for a model that is not HBGL or of another taxonomy than the corpus.
    """
    torch.manual_seed(spec.seed)
    loaded = None if spec.model is None else _load(spec.model, spec)
    backbone = load_backbone(spec.backbone) if loaded is None else loaded.backbone
    if spec.corpus == SYNTHETIC:
        taxonomy = loaded.taxonomy if loaded else balanced_taxonomy(spec.labels, spec.levels)
        records = random_records(
            taxonomy, backbone.tokenizer, spec.documents, spec.words, spec.seed
        )
        name = SYNTHETIC
    else:
        corpus = open_corpus(spec.corpus)
        taxonomy, name = corpus.taxonomy, corpus.path.resolve().name
        if loaded is not None and loaded.taxonomy.labels != taxonomy.labels:
            raise UsageError(f"{spec.model} has other labels than {corpus.path}; give its corpus")
        records = _sample(corpus, spec)
    longest = _longest(backbone, max(taxonomy.depth, spec.room), loaded)
    return Workload(
        spec,
        name,
        records,
        taxonomy,
        backbone,
        min(spec.max_length or longest, longest),
        loaded,
    )


def _load(folder: str, spec: WorkloadSpec) -> TrainedModel:
    loaded = TrainedModel.load(folder)
    if not isinstance(loaded.method, HBGL):
        raise UsageError(f"{folder} is no model of method hbgl in torch; give one that is")
    if spec.max_length is not None:
        raise UsageError(f"{folder} has its own longest text; leave the max length out")
    if spec.precision != "auto":
        changed = {"training.precision": spec.precision}
        loaded.settings = with_overrides(loaded.settings, changed)
    return loaded


def _longest(backbone: Backbone, levels: int, loaded: TrainedModel | None) -> int:
    if loaded is not None:
        return loaded.method.max_length
    room = TwoStreamEncoder(backbone.model).parts.max_positions - levels
    if room < 3:
        raise UsageError(
            f"{levels} levels leave no room for text in the positions of {backbone.name}"
        )
    return room


def _sample(corpus: CorpusFolder, spec: WorkloadSpec) -> list[Record]:
    """A random part of a split, in random order; all of it where it has no more."""
    wanted = ("train",) if spec.training else ("test", "dev", "train")
    split = next((one for one in wanted if one in corpus.splits), None)
    if split is None:
        raise CorpusError(f"{corpus.path} has no train split; give a corpus with train.jsonl")
    found = _reservoir(corpus.records(split), spec.documents, spec.seed)
    if not found:
        raise CorpusError(f"{corpus.splits[split]}: no documents")
    return found


def _reservoir(records: Iterable[Record], count: int, seed: int) -> list[Record]:
    """``count`` of a stream, each with the same chance."""
    draw = random.Random(seed)
    kept: list[Record] = []
    for number, record in enumerate(records):
        if len(kept) < count:
            kept.append(record)
        elif (place := draw.randrange(number + 1)) < count:
            kept[place] = record
    draw.shuffle(kept)
    return kept
