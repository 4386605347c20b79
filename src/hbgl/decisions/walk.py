"""The rules, applied level by level as a model's scores come in.

A model hands over the scores of one level after the other and reads which labels were chosen, for
they are its input for the next level. Shapes: B documents, L labels, C labels of the level.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hbgl.decisions.decision import COHERENT_RULES, Decision
from hbgl.decisions.hierarchy import LevelEdges, level_edges
from hbgl.decisions.path_limit import keep_best_paths
from hbgl.taxonomy import Taxonomy

__all__ = ["Decider", "Decoded", "Walk"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Answers for B documents."""

    probabilities: torch.Tensor
    """[B, L] float32, of every label of the taxonomy."""
    chosen: torch.Tensor
    """[B, L] boolean, the labels predicted."""
    scores: torch.Tensor
    """[B, L] float32, before calibration and sigmoid."""

    def cpu(self) -> Decoded:
        """The same in main memory, for numpy."""
        return Decoded(self.probabilities.cpu(), self.chosen.cpu(), self.scores.cpu())


class Decider:
    """A decision made ready for a taxonomy on a device."""

    def __init__(
        self,
        taxonomy: Taxonomy,
        decision: Decision,
        device: torch.device,
        edges: list[LevelEdges] | None = None,
    ) -> None:
        """``edges``: those of another decider of the same taxonomy and device."""
        if len(decision.thresholds) != len(taxonomy):
            raise ValueError(f"{len(decision.thresholds)} thresholds for {len(taxonomy)} labels")
        self.taxonomy, self.decision, self.device = taxonomy, decision, device
        self.thresholds = torch.from_numpy(decision.thresholds).to(device)
        self.edges = edges or level_edges(taxonomy, device)
        self.coherent = decision.rule in COHERENT_RULES

    def begin(self, documents: int) -> Walk:
        """A walk down the taxonomy for a batch of documents."""
        return Walk(self, documents)


class Walk:
    """One batch on its way down: what is known after each level."""

    scores: torch.Tensor
    """[B, L]"""
    probabilities: torch.Tensor
    """[B, L]"""
    chosen: torch.Tensor
    """[B, L] boolean"""

    def __init__(self, decider: Decider, documents: int) -> None:
        self.decider = decider
        shape = (documents, len(decider.taxonomy))
        self.scores = torch.zeros(shape, device=decider.device)
        self.probabilities = torch.zeros(shape, device=decider.device)
        self.chosen = torch.zeros(shape, dtype=torch.bool, device=decider.device)

    def judge(self, level: int, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Probabilities of a level, and what its thresholds are compared with, [B, C] each.

        They differ in coherent rules, where a label without a chosen parent is judged 0.
        """
        decider = self.decider
        probabilities = decider.decision.calibration(level, scores)
        if not decider.coherent or level == 1:
            return probabilities, probabilities
        edges = decider.edges[level - 1]
        lowered = torch.minimum(probabilities, edges.best_parent(self.probabilities))
        judged = lowered if decider.decision.rule == "backoff" else probabilities
        return lowered, judged * edges.best_parent(self.chosen.to(torch.int8))

    def take(self, level: int, scores: torch.Tensor, allowed: torch.Tensor | None = None) -> None:
        """Decide one level, 1..D, after those above it.

        :param scores: [B, C] before the sigmoid.
        :param allowed: [B, 1] boolean, the documents that may have labels here; None: all.
        """
        edges = self.decider.edges[level - 1]
        probabilities, judged = self.judge(level, scores)
        sure = judged > self.decider.thresholds[edges.columns]
        if allowed is not None:
            sure &= allowed
        self.scores[:, edges.columns] = scores
        self.probabilities[:, edges.columns] = probabilities
        self.chosen[:, edges.columns] = sure
        if self.decider.decision.rule == "leaf":
            self.chosen[:, edges.columns] |= self._forced(edges, level, scores)

    def decoded(self) -> Decoded:
        """The answers, after the last level."""
        decider = self.decider
        if decider.decision.rule == "closed":
            self._add_ancestors()
        if decider.decision.most_paths is not None:
            keep_best_paths(
                decider.taxonomy, self.probabilities, self.chosen, decider.decision.most_paths
            )
        return Decoded(self.probabilities, self.chosen, self.scores)

    def _forced(self, edges: LevelEdges, level: int, scores: torch.Tensor) -> torch.Tensor:
        """[B, C] the likeliest child of each chosen label that would end without a child.

        In a DAG a label's children may lie on several levels; it is decided on the last of them.
        """
        if level == 1:
            empty = ~self.chosen[:, edges.columns].any(dim=1, keepdim=True)
            return empty & (scores == scores.amax(dim=1, keepdim=True))
        batch, labels = self.chosen.shape
        wanting = self.chosen.to(torch.int8)
        fulfilled = torch.zeros_like(wanting).scatter_reduce(
            1,
            edges.all_parents.expand(batch, -1),
            wanting[:, edges.all_children],
            "amax",
        )
        parents, children = edges.parents[edges.closing], edges.children[edges.closing]
        offered = scores[:, children]
        best = scores.new_full((batch, labels), float("-inf")).scatter_reduce(
            1, parents.expand(batch, -1), offered, "amax"
        )
        needed = (wanting > fulfilled)[:, parents] & (offered == best[:, parents])
        forced = torch.zeros_like(scores, dtype=torch.int8).scatter_reduce(
            1, children.expand(batch, -1), needed.to(torch.int8), "amax"
        )
        return forced > 0

    def _add_ancestors(self) -> None:
        """Every parent of a chosen label is chosen, from the deepest level up."""
        for edges in reversed(self.decider.edges[1:]):
            below = self.chosen[:, edges.columns][:, edges.children].to(torch.int8)
            places = edges.parents.expand(len(below), -1)
            known = self.chosen.to(torch.int8).scatter_reduce(1, places, below, "amax")
            self.chosen = known > 0
