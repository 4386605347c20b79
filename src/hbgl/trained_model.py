"""A trained model with all it needs to answer: taxonomy, tokenizer, weights, thresholds, history.

Its folder is complete or absent, holds no code and names any file that was damaged:
``model.safetensors``, ``config.json``, ``taxonomy.tsv``, ``names.json``, ``tokenizer.json``,
``thresholds.json``, ``metrics.json``, ``README.md`` (the model card), ``MANIFEST.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hbgl.backbones import Backbone, backbone_config, backbone_from_config
from hbgl.batching import tokenize
from hbgl.checkpoint import json_bytes, load_tensors, save_tensors, verify_folder, write_folder
from hbgl.decoding import Prediction, answer
from hbgl.errors import HBGLError, ModelFolderError, UsageError
from hbgl.evaluation import LabelledTexts, count_labels, label_matrix, predict_batches
from hbgl.methods import build_method
from hbgl.methods.multilabel import Multilabel
from hbgl.metrics import Scores
from hbgl.model import HBGL
from hbgl.model_card import model_card
from hbgl.records import Record
from hbgl.settings import Settings, settings_from_json
from hbgl.taxonomy import Taxonomy, read_taxonomy, write_taxonomy

__all__ = ["TrainedModel", "default_device", "prepare_records"]

_FORMAT = 1
_TOKEN_BUDGET = 16384


@dataclass(slots=True)
class TrainedModel:
    """A trained hierarchical text classifier.

    >>> model = TrainedModel.load("my-model")                              # doctest: +SKIP
    >>> model.predict(["how do i freeze my account"])[0].paths               # doctest: +SKIP
    (('banking', 'freeze_account'),)
    """

    taxonomy: Taxonomy
    settings: Settings
    backbone: Backbone
    method: HBGL | Multilabel
    thresholds: np.ndarray
    """[L] a label is chosen when its probability is above its threshold."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """Scores, curves and provenance of the training run."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    # ------------------------------------------------------------------ answers

    def predict(
        self,
        texts: Sequence[str],
        *,
        threshold: float | None = None,
        top_k: int | None = None,
        everything: bool = False,
    ) -> list[Prediction]:
        """The labels of each text, as whole paths with probabilities.

        :param threshold: one threshold for all labels instead of the model's own.
        :param top_k: also keep the probabilities of the k likeliest labels of each level.
        :param everything: keep the probabilities of all labels.
        """
        found: list[Prediction | None] = [None] * len(texts)
        for indices, probabilities, chosen in self._batches(texts, threshold):
            for index, scores, picked in zip(indices, probabilities, chosen, strict=True):
                found[index] = answer(
                    self.taxonomy, scores, picked, top_k=top_k, everything=everything
                )
        return [one for one in found if one is not None]

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """A probability for every label of the taxonomy, [texts, L] float32."""
        everything = np.zeros((len(texts), len(self.taxonomy)), dtype=np.float32)
        for indices, probabilities, _ in self._batches(texts, None):
            everything[indices] = probabilities
        return everything

    def evaluate(self, records: Iterable[Record]) -> Scores:
        """F1 scores over labelled records, overall, by level and by label."""
        corpus = self.prepare(records)
        counts = count_labels(
            self.method,
            corpus,
            torch.from_numpy(self.thresholds),
            device=self.device,
            precision=self.settings.training.precision,
            token_budget=_TOKEN_BUDGET,
        )
        return counts.scores(self.taxonomy.levels)

    def prepare(self, records: Iterable[Record]) -> LabelledTexts:
        """Records -> token ids and a label matrix."""
        return prepare_records(records, self.taxonomy, self.backbone, self.method.max_length)

    def _batches(
        self, texts: Sequence[str], threshold: float | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        if isinstance(texts, str):
            raise UsageError("one text was given where a list of texts belongs; write [text]")
        thresholds = (
            self.thresholds if threshold is None else np.full_like(self.thresholds, threshold)
        )
        tokens = tokenize(texts, self.backbone.tokenizer, self.method.max_length)
        self.method.eval()
        yield from predict_batches(
            self.method,
            tokens,
            torch.from_numpy(thresholds),
            device=self.device,
            precision=self.settings.training.precision,
            token_budget=_TOKEN_BUDGET,
        )

    # ------------------------------------------------------------------ the folder

    def save(self, path: str | Path) -> None:
        """Write the model folder: complete or not at all."""
        config = {
            "format": _FORMAT,
            "settings": self.settings.to_json(),
            "backbone": backbone_config(self.backbone),
            "has_transform": self.backbone.transform is not None,
            "labels": len(self.taxonomy),
            "depth": self.taxonomy.depth,
        }
        thresholds = dict(zip(self.taxonomy.labels, map(float, self.thresholds), strict=True))
        names = {label: self.taxonomy.names[label] for label in self.taxonomy.labels}
        write_folder(
            Path(path),
            {
                "model.safetensors": lambda file: save_tensors(file, self.method.state_dict()),
                "config.json": json_bytes(config),
                "taxonomy.tsv": lambda file: write_taxonomy(self.taxonomy, file),
                "names.json": json_bytes(names),
                "tokenizer.json": self.backbone.tokenizer.to_str().encode(),
                "thresholds.json": json_bytes(thresholds),
                "metrics.json": json_bytes(self.metrics),
                "README.md": model_card(self.taxonomy, self.settings, self.metrics).encode(),
            },
        )

    @classmethod
    def load(cls, path: str | Path, *, device: str | torch.device | None = None) -> TrainedModel:
        """Read a model folder after checking every file against its SHA-256.

        :param device: default: a GPU where there is one, else the CPU.
        :raises ModelFolderError: naming the file that is damaged, missing or foreign.
        """
        folder = Path(path)
        verify_folder(folder)
        config, thresholds, metrics = (
            _read_object(folder / f"{name}.json") for name in ("config", "thresholds", "metrics")
        )
        if config.get("format") != _FORMAT:
            raise ModelFolderError(
                f"{folder}: model format {config.get('format')}, but this version reads {_FORMAT}; "
                "install the version of hbgl that wrote it"
            )
        try:
            taxonomy = read_taxonomy(folder / "taxonomy.tsv")
            settings = settings_from_json(config["settings"])
            backbone = backbone_from_config(
                config["backbone"],
                (folder / "tokenizer.json").read_text("utf-8"),
                has_transform=config["has_transform"],
                initialise=False,
            )
            method = build_method(backbone, taxonomy, settings.model, None)
            method.load_state_dict(load_tensors(folder / "model.safetensors"))
            levels = _in_order(thresholds, taxonomy)
        except (HBGLError, OSError, KeyError, ValueError, RuntimeError, TypeError) as fault:
            raise ModelFolderError(
                f"{folder} is not a model folder that this version can read ({fault}); "
                "copy it again from its source, or train it again"
            ) from fault
        place = torch.device(device) if device is not None else default_device()
        method.to(place).eval()
        return cls(taxonomy, settings, backbone, method, levels, metrics, place)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as fault:
        raise ModelFolderError(
            f"{path} cannot be read ({fault}); it does not belong to a model folder"
        ) from fault
    if not isinstance(value, dict):
        raise ModelFolderError(f"{path} is not a JSON object; copy the model from its source")
    return value


def _in_order(thresholds: dict[str, Any], taxonomy: Taxonomy) -> np.ndarray:
    """The thresholds by label as an array [L]."""
    if thresholds.keys() != set(taxonomy.labels):
        odd = min(thresholds.keys() ^ set(taxonomy.labels))
        raise ValueError(f"thresholds.json and taxonomy.tsv differ in the label {odd!r}")
    return np.array([thresholds[label] for label in taxonomy.labels], dtype=np.float32)


def prepare_records(
    records: Iterable[Record], taxonomy: Taxonomy, backbone: Backbone, max_length: int
) -> LabelledTexts:
    """Records -> token ids of at most ``max_length`` and a label matrix [documents, L]."""
    texts: list[str] = []
    label_ids: list[np.ndarray] = []
    for record in records:
        texts.append(record.text)
        label_ids.append(taxonomy.ids(record.labels))
    tokens = tokenize(texts, backbone.tokenizer, max_length)
    return LabelledTexts(tokens, label_matrix(label_ids, len(taxonomy)))


def default_device() -> torch.device:
    """A GPU where torch finds one, else the CPU."""
    if torch.accelerator.is_available():
        return torch.device(str(torch.accelerator.current_accelerator()))
    return torch.device("cpu")
