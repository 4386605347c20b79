"""``trainer-flat``: Hugging Face's sequence classifier, trained by its Trainer with its defaults.

Those are a learning rate of 5e-5 that falls linearly to 0, batches of 8 in random order, 3 epochs,
float32, the model after the last step. Labels above 0.5 are chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
import transformers
from scipy.sparse import csr_matrix
from transformers import AutoModelForSequenceClassification
from transformers.utils import logging as hf_logging

from hbgl.backbones import Backbone, Located, locate_backbone, read_backbone
from hbgl.batching import TokenizedTexts, collate, forward_tokens, prediction_batches, tokenize
from hbgl.corpora import CorpusFolder
from hbgl.evaluation import LabelledTexts
from hbgl.experiments.yardsticks.documents import dev_documents, read_documents
from hbgl.experiments.yardsticks.fitted import FittedYardstick
from hbgl.experiments.yardsticks.options import (
    YardstickOptions,
    length,
    name,
    number,
    numbers,
    option,
    optional,
    read_options,
    whole,
)
from hbgl.experiments.yardsticks.search import choose_on_dev, in_words
from hbgl.families import encoder_parts
from hbgl.hf_trainer import fast_tokenizer, train_by_trainer
from hbgl.taxonomy import Taxonomy
from hbgl.trained_model import default_device

__all__ = ["TrainerFlatOptions", "fit_trainer_flat"]

_THRESHOLD = 0.5
_GRID = ("epochs", "learning_rate", "head_learning_rate")


def _grid(value: Any) -> dict[str, tuple[float, ...]]:
    """Lists of values by the option that they are tried for."""
    if not isinstance(value, Mapping) or not set(value) <= set(_GRID):
        raise ValueError(f"must give lists of values for {', '.join(_GRID)} and nothing else")
    found = {}
    for key in _GRID:
        if key in value:
            try:
                found[key] = numbers()(value[key])
            except ValueError as error:
                raise ValueError(f"of {key} {error}") from error
    return found


@dataclass(frozen=True)
class TrainerFlatOptions(YardstickOptions):
    """The options of ``trainer-flat``; the defaults are those of ``TrainingArguments``."""

    backbone: str = option("minilm", name)
    """It must be on this machine already."""
    epochs: float = option(3.0, number)
    """Passes over the training documents."""
    learning_rate: float = option(5e-5, number)
    """At the start; falls linearly to 0."""
    head_learning_rate: float | None = option(None, optional(number))
    """Of the layers above the encoder; None: the same."""
    batch_size: int = option(8, whole)
    """Documents in a step."""
    max_length: int | None = option(None, optional(length))
    """Longest text in tokens; None: as long as the backbone can read."""
    grid: dict[str, tuple[float, ...]] | None = option(  # noqa: RUF009 - a field
        None, optional(_grid)
    )
    """Values of epochs, learning_rate and head_learning_rate, all combinations tried on dev."""

    def candidates(self) -> list[dict[str, Any]]:
        """The values of each training run."""
        grid = self.grid or {}
        values = [grid.get(key, (getattr(self, key),)) for key in _GRID]
        return [dict(zip(_GRID, one, strict=True)) for one in product(*values)]


@dataclass(slots=True)
class _Flat:
    """A trained sequence classifier with its tokenizer."""

    model: Any
    backbone: Backbone
    max_length: int
    steps: int

    def tokens(self, texts: Sequence[str]) -> TokenizedTexts:
        return tokenize(texts, self.backbone.tokenizer, self.max_length)

    @torch.inference_mode()
    def probabilities(self, tokens: TokenizedTexts) -> np.ndarray:
        """[texts, L] float32."""
        device = default_device()
        self.model.to(device).eval()
        found = np.zeros((len(tokens), self.model.config.num_labels), dtype=np.float32)
        for indices in prediction_batches(tokens.lengths, forward_tokens(device)):
            batch = collate(tokens, indices, self.backbone.pad_id).to(device)
            seen = torch.arange(batch.ids.shape[1], device=device) < batch.lengths[:, None]
            logits = self.model(input_ids=batch.ids, attention_mask=seen.long()).logits
            found[indices] = torch.sigmoid(logits).cpu()
        return found

    def chosen(self, tokens: TokenizedTexts) -> csr_matrix:
        """[texts, L] boolean."""
        return csr_matrix(self.probabilities(tokens) > _THRESHOLD)


class _TrainerFlat(FittedYardstick):
    def __init__(self, taxonomy: Taxonomy, report: dict[str, Any], flat: _Flat) -> None:
        super().__init__(taxonomy, report)
        self._flat = flat

    def _chosen(self, texts: Sequence[str]) -> csr_matrix:
        return self._flat.chosen(self._flat.tokens(texts))

    def _probabilities(self, texts: Sequence[str]) -> np.ndarray:
        return self._flat.probabilities(self._flat.tokens(texts))


def fit_trainer_flat(
    corpus: CorpusFolder,
    *,
    seed: int,
    options: Mapping[str, Any],
    said: Callable[[str], None],
) -> FittedYardstick:
    """Train; where ``grid`` gives several values, all of them, and the best on dev is kept.

    Raises:
        UsageError: options that cannot be.
        CorpusError: a split is missing or empty.
        BackboneError: the backbone is not on this machine.
    """
    start = time.monotonic()
    given = read_options("trainer-flat", TrainerFlatOptions, options)
    candidates = given.candidates()
    dev = dev_documents(corpus, len(candidates))
    train = read_documents(corpus, "train")
    located = locate_backbone(given.backbone, offline=True)
    backbone = read_backbone(located)
    room = encoder_parts(backbone.model).max_positions
    max_length = min(given.max_length or room, room)
    documents = LabelledTexts(tokenize(train.texts, backbone.tokenizer, max_length), train.gold)
    dev_tokens = tokenize(dev.texts if dev else [], backbone.tokenizer, max_length)

    def trained(values: Mapping[str, Any]) -> _Flat:
        said(f"training on {len(documents)} documents, {in_words(values)}")
        model = _new_model(located, len(corpus.taxonomy), seed)
        steps = train_by_trainer(
            model,
            fast_tokenizer(backbone, max_length),
            documents,
            seed=seed,
            head_learning_rate=values["head_learning_rate"],
            num_train_epochs=values["epochs"],
            learning_rate=values["learning_rate"],
            per_device_train_batch_size=given.batch_size,
        )
        return _Flat(model, backbone, max_length, steps)

    found = choose_on_dev(
        candidates,
        trained,
        lambda flat: flat.chosen(dev_tokens),
        dev=dev,
        taxonomy=corpus.taxonomy,
        metric=given.metric,
        said=said,
    )
    report = {
        "yardstick": "trainer-flat",
        "options": asdict(given),
        "seed": seed,
        **found.report,
        "steps": found.model.steps,
        "threshold": _THRESHOLD,
        "max_length": max_length,
        "transformers": transformers.__version__,
        "backbone_sha256": backbone.sha256,
        "seconds": round(time.monotonic() - start, 3),
    }
    return _TrainerFlat(corpus.taxonomy, report, found.model)


def _new_model(located: Located, labels: int, seed: int) -> Any:
    """The checkpoint as its users load it, with a head that starts at random."""
    transformers.set_seed(seed)
    automatic: Any = AutoModelForSequenceClassification
    with _silence():
        return automatic.from_pretrained(
            located.folder,
            num_labels=labels,
            problem_type="multi_label_classification",
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
        )


@contextmanager
def _silence() -> Iterator[None]:
    """Without the progress bar of loading and the warning that a head is new."""
    untyped: Any = hf_logging
    verbosity, bars = untyped.get_verbosity(), untyped.is_progress_bar_enabled()
    untyped.set_verbosity_error()
    untyped.disable_progress_bar()
    try:
        yield
    finally:
        untyped.set_verbosity(verbosity)
        if bars:
            untyped.enable_progress_bar()
