"""What ``fit`` is given -> settings, taxonomy and records; or every fault of it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hbgl.classifier.labels import closed_labels, column_ids, given_taxonomy, taxonomy_of_paths
from hbgl.classifier.parameters import check_choices, check_threshold, plain, settings_of
from hbgl.classifier.targets import Targets, read_targets
from hbgl.classifier.texts import raise_faults, read_texts
from hbgl.errors import InputError
from hbgl.records import Record
from hbgl.settings import Settings
from hbgl.splitting import assign_splits
from hbgl.taxonomy import Taxonomy

__all__ = ["TrainingData", "read_training_data", "split_dev"]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """All that a training run needs."""

    settings: Settings
    taxonomy: Taxonomy
    splits: dict[str, list[Record]]
    """``train`` and, where there are any, ``dev``"""
    columns: tuple[str, ...] | None
    """the names of the columns, where y was a matrix"""


def read_training_data(
    parameters: Mapping[str, Any], X: Any, y: Any, X_dev: Any, y_dev: Any
) -> TrainingData:
    """Check everything, and only then divide it.

    :raises InputError: with all faults of parameters, texts and labels.
    """
    faults: list[str] = []
    settings = settings_of(parameters, faults)
    check_choices(parameters, faults)
    taxonomy = given_taxonomy(parameters["taxonomy"], faults)
    names = None if taxonomy is None else taxonomy.labels
    texts = {"train": read_texts(X, "X", faults, for_training=True)}
    targets = {"train": read_targets(y, "y", faults, names)}
    if X_dev is not None or y_dev is not None:
        if X_dev is None or y_dev is None:
            faults.append("X_dev and y_dev belong together; give both or none")
        else:
            texts["dev"] = read_texts(X_dev, "X_dev", faults)
            own = targets["train"].columns or names
            targets["dev"] = read_targets(y_dev, "y_dev", faults, own)
    if not faults and not texts["train"]:
        faults.append("X has no texts; give at least one")
    if taxonomy is None and parameters["taxonomy"] is None:
        taxonomy = taxonomy_of_paths(targets.values(), faults)
    records = {} if taxonomy is None else _records(texts, targets, taxonomy, parameters, faults)
    raise_faults(faults)
    assert taxonomy is not None  # noqa: S101 - otherwise there was a fault
    if "dev" not in records:
        train, dev = split_dev(
            records["train"], plain(parameters["dev_size"]), settings.training.seed
        )
        records = {"train": train, **({"dev": dev} if dev else {})}
    return TrainingData(settings, taxonomy, records, targets["train"].columns)


def _records(
    texts: Mapping[str, list[str]],
    targets: Mapping[str, Targets],
    taxonomy: Taxonomy,
    parameters: Mapping[str, Any],
    faults: list[str],
) -> dict[str, list[Record]]:
    """Texts with closed label sets."""
    check_threshold(parameters["threshold"], taxonomy, faults)
    column_ids(targets["train"].columns or (), taxonomy, faults)
    labels = {
        split: closed_labels(rows, taxonomy, "y" if split == "train" else "y_dev", faults)
        for split, rows in targets.items()
    }
    if faults:
        return {}
    for split, rows in labels.items():
        if len(texts[split]) != len(rows):
            faults.append(
                f"{split}: {len(texts[split]):,} texts, but labels for {len(rows):,}; "
                "each text needs its labels"
            )
            return {}
    return {
        split: [Record(text, names) for text, names in zip(texts[split], rows, strict=True)]
        for split, rows in labels.items()
    }


def split_dev(records: list[Record], size: float, seed: int) -> tuple[list[Record], list[Record]]:
    """Train and dev with the same share of every label; no text is in both.

    :param size: a share below 1, or a number of texts (int).
    :raises InputError: if nothing would be left to train on.
    """
    if isinstance(size, int) and size >= len(records):
        raise InputError(
            f"dev_size is {size:,}, but there are {len(records):,} texts in all; keep some to "
            "train on"
        )
    share = size / len(records) if isinstance(size, int) else size
    splits, _ = assign_splits(records, {"train": 1 - share, "dev": share}, seed=seed)
    train, dev = (
        [record for record, split in zip(records, splits, strict=True) if split == wanted]
        for wanted in ("train", "dev")
    )
    return train, dev
