"""The options by which a command decides otherwise than the model does by itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from hbgl.errors import UsageError
from hbgl.settings import Rule

if TYPE_CHECKING:
    from hbgl.decisions import Decision
    from hbgl.trained_model import TrainedModel

__all__ = ["DecisionChoice", "MostPaths", "RawScores", "RuleName", "ThresholdText"]

RuleName: TypeAlias = Annotated[
    Rule | None,
    typer.Option(
        "--rule",
        help="paper: each level on its own; closed: and their ancestors; coherent: only under a "
        "chosen parent; backoff: stop at the last ancestor that is sure by the whole path; leaf: "
        "go on to a leaf. Default: the model's.",
    ),
]
ThresholdText: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="NUMBER",
        help="One for all labels; one per level, as 0.4,0.5; or a JSON file, label to number. "
        "Default: the model's.",
    ),
]
RawScores: TypeAlias = Annotated[
    bool, typer.Option("--raw", help="Probabilities without calibration.")
]
MostPaths: TypeAlias = Annotated[
    int | None,
    typer.Option("--most-paths", min=0, help="At most N paths per text; 0: as many as there are."),
]

_Thresholds: TypeAlias = "float | list[float] | dict[str, float]"


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """What was given on the command line; checked before a model is loaded."""

    rule: Rule | None = None
    threshold: float | list[float] | dict[str, float] | None = None
    raw: bool = False
    most_paths: int | None = None

    @classmethod
    def of(
        cls, rule: Rule | None, threshold: str | None, most_paths: int | None, *, raw: bool
    ) -> DecisionChoice:
        """Read the threshold's text.

        :raises UsageError: when it is no number, list of numbers or file with numbers.
        """
        return cls(rule, None if threshold is None else _thresholds(threshold), raw, most_paths)

    def apply(self, model: TrainedModel) -> Decision:
        """The model's decision with what was given instead.

        :raises HBGLError: for thresholds of unknown labels or levels.
        """
        return model.decision.changed(
            model.taxonomy,
            rule=self.rule,
            threshold=self.threshold,
            calibrated=not self.raw,
            most_paths=self.most_paths,
        )

    def to_json(self) -> dict[str, Any]:
        """What a resumed run must have in common."""
        return asdict(self)


def _thresholds(text: str) -> _Thresholds:
    if Path(text).is_file():
        return _from_file(Path(text))
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--threshold {text!r} is no number, no list of numbers such as 0.4,0.5, and no file"
        ) from None
    for number in numbers:
        _check(number, "--threshold")
    return numbers[0] if len(numbers) == 1 else numbers


def _from_file(path: Path) -> dict[str, float]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as fault:
        raise UsageError(f"--threshold: {path} cannot be read as JSON: {fault}") from None
    if not isinstance(found, dict):
        raise UsageError(f"--threshold: {path} is not a JSON object of label: number")
    for label, number in found.items():
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise UsageError(f"--threshold: {path}: {label!r} has {number!r}, not a number")
        _check(number, f"--threshold: {path}: {label!r}")
    return found


def _check(number: float, what: str) -> None:
    if not 0 <= number <= 1:
        raise UsageError(f"{what} must lie in 0..1, not {number}")
