"""Scores to probabilities that mean something: one monotone map per level.

With the score z of a label (before the sigmoid), a level's map is one of

    none         p = sigmoid(z)
    temperature  p = sigmoid(z / T)
    platt        p = sigmoid(a z + b), a > 0
    isotonic     p = a non-decreasing curve through fitted points (z_k, p_k), straight in between

Every map keeps the order of the scores inside its level; only what they mean changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch

from hbgl.errors import UsageError

__all__ = ["Calibration", "LevelMap", "MapKind"]

MapKind = Literal["none", "temperature", "platt", "isotonic"]


@dataclass(frozen=True, slots=True)
class LevelMap:
    """The map of one level."""

    kind: MapKind = "none"
    slope: float = 1.0
    """a, or 1 / T"""
    offset: float = 0.0
    """b"""
    knots: tuple[tuple[float, float], ...] = ()
    """(z_k, p_k) of an isotonic map, z rising"""

    def __post_init__(self) -> None:
        if self.kind not in get_args(MapKind):
            raise UsageError(f"there is no calibration {self.kind!r}")
        if not self.slope > 0:
            raise UsageError(f"a calibration's slope must be positive, not {self.slope}")
        if (self.kind == "isotonic") != (len(self.knots) >= 2):
            raise UsageError("an isotonic calibration, and only that, has two points or more")
        rising = all(
            z < next_z and p <= next_p
            for (z, p), (next_z, next_p) in zip(self.knots, self.knots[1:], strict=False)
        )
        if not rising or not all(0 <= p <= 1 for _, p in self.knots):
            raise UsageError("the points of an isotonic calibration must rise from 0..1")

    def __call__(self, scores: torch.Tensor) -> torch.Tensor:
        """Probabilities of scores of any shape, in float32.

        >>> LevelMap("temperature", slope=0.5)(torch.tensor([0.0, 4.0]))
        tensor([0.5000, 0.8808])
        >>> LevelMap("isotonic", knots=((-1.0, 0.1), (1.0, 0.5)))(torch.tensor([-2.0, 0.0, 3.0]))
        tensor([0.1000, 0.3000, 0.5000])
        """
        if self.kind == "isotonic":
            return self._interpolated(scores)
        if self.kind == "none":
            return torch.sigmoid(scores)
        return torch.sigmoid(scores * self.slope + self.offset)

    def _interpolated(self, scores: torch.Tensor) -> torch.Tensor:
        points = torch.tensor(self.knots, dtype=scores.dtype, device=scores.device)
        places, values = points[:, 0].contiguous(), points[:, 1].contiguous()
        inside = scores.clamp(places[0], places[-1])
        right = torch.searchsorted(places, inside.contiguous()).clamp(1, len(places) - 1)
        low, high = places[right - 1], places[right]
        share = (inside - low) / (high - low)
        return torch.lerp(values[right - 1], values[right], share).clamp(0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """JSON values that :meth:`from_json` reads back."""
        if self.kind == "none":
            return {"kind": "none"}
        if self.kind == "isotonic":
            return {"kind": "isotonic", "knots": [list(knot) for knot in self.knots]}
        return {"kind": self.kind, "slope": self.slope, "offset": self.offset}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LevelMap:
        """The inverse of :meth:`to_json`."""
        knots = tuple((float(z), float(p)) for z, p in data.get("knots", ()))
        return cls(data["kind"], data.get("slope", 1.0), data.get("offset", 0.0), knots)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The maps of all levels, roots first."""

    levels: tuple[LevelMap, ...] = ()
    """empty: no level has one"""

    def __call__(self, level: int, scores: torch.Tensor) -> torch.Tensor:
        """Probabilities of the scores of a level, 1..D."""
        return self.of(level)(scores)

    def of(self, level: int) -> LevelMap:
        """The map of a level, 1..D."""
        return self.levels[level - 1] if self.levels else LevelMap()

    def to_json(self) -> list[dict[str, Any]]:
        """JSON values that :meth:`from_json` reads back."""
        return [one.to_json() for one in self.levels]

    @classmethod
    def from_json(cls, data: list[dict[str, Any]]) -> Calibration:
        """The inverse of :meth:`to_json`."""
        return cls(tuple(LevelMap.from_json(one) for one in data))
