"""All yardsticks by name. What a method needs is imported when it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbgl.corpora import CorpusFolder
from hbgl.errors import UsageError
from hbgl.experiments.yardsticks.fitted import FittedYardstick

__all__ = ["YARDSTICKS", "fit_yardstick"]

YARDSTICKS: dict[str, str] = {
    "tfidf-svm": "scikit-learn: TF-IDF of words and word pairs, a linear SVM per label",
    "trainer-flat": "Hugging Face: a flat classifier through the Trainer with its defaults",
    "hiclass-lcpn": "HiClass: a local classifier per parent node on sentence embeddings",
}


def fit_yardstick(
    name: str,
    corpus: CorpusFolder,
    *,
    seed: int,
    options: Mapping[str, Any],
    said: Callable[[str], None],
) -> FittedYardstick:
    """Fit a yardstick on ``train``; what there is to choose is chosen on ``dev``.

    Args:
        name: One of ``YARDSTICKS``.
        corpus: An opened corpus folder; its test split is not read.
        seed: Of every random choice.
        options: JSON values; those of ``docs/yardsticks.md``.
        said: Hears a line for each step.

    Raises:
        UsageError: an unknown name, unknown options or values that cannot be.
        CorpusError: a split is missing or empty.
        BackboneError: the backbone is not on this machine.
        MissingExtraError: ``hiclass-lcpn`` without HiClass.
    """
    return _fitter(name)(corpus, seed=seed, options=options, said=said)


def _fitter(name: str) -> Callable[..., FittedYardstick]:
    if name == "tfidf-svm":
        from hbgl.experiments.yardsticks.tfidf_svm import fit_tfidf_svm

        return fit_tfidf_svm
    if name == "trainer-flat":
        from hbgl.experiments.yardsticks.trainer_flat import fit_trainer_flat

        return fit_trainer_flat
    if name == "hiclass-lcpn":
        from hbgl.experiments.yardsticks.hiclass_lcpn import fit_hiclass_lcpn

        return fit_hiclass_lcpn
    raise UsageError(f"no yardstick {name!r}; there are {', '.join(YARDSTICKS)}")
