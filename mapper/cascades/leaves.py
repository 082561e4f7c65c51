"""Branches of one operation, as parts of a tree: the best mapping of all its visits."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...ir import Tree
from .branch import BranchAnswer, BranchMapping, BranchQuestion, BranchSolver
from .part_bounds import PartBounds
from .parts import FoundPart, Outcome, VisitedPart
from .weights import Weights
from .windowed import covering


@dataclass
class Leaves:
    """The branches of one search over trees.

    asked  branches that were asked for
    """

    solver: BranchSolver
    weights: Weights
    bounds: PartBounds
    asked: int = 0
    _seconds: dict[str, float] = field(init=False, default_factory=dict)

    def least(self, part: VisitedPart, cutoff: float) -> Outcome:
        """The best mapping of all visits of one operation; or, if it does not weigh less than the cutoff, that."""
        bound = self.bounds.close(part)
        if bound >= cutoff:
            return Outcome(bound)
        first: Tree | None = None
        heaviest = Outcome(0.0)
        for way in part.questions(self.bounds.timed):
            outcome = self.least_of_way(part, way, cutoff)
            if outcome.found is None:
                return outcome
            first = outcome.found.tree if first is None else first
            if outcome.bound >= heaviest.bound:
                heaviest = Outcome(outcome.bound, replace(outcome.found, tree=first))
        return heaviest

    def least_of_way(self, part: VisitedPart, way: Sequence[tuple[float, BranchQuestion]], cutoff: float) -> Outcome:
        """What a branch weighs at least, by tiles that stand for its visits."""
        least = [share * self.solver.bound(question, self.weights) for share, question in way]
        found = FoundPart(0.0, 0.0, Tree(()))
        for i, (share, question) in enumerate(way):
            others = self._weight(found) + sum(least[i + 1 :])
            answer = self._asked(question, (cutoff - others) / share if share else math.inf)
            if answer.mapping is None:
                return Outcome(others + share * answer.bound)
            found = FoundPart(
                found.energy_pj + share * answer.mapping.energy_pj,
                found.latency_cycles + share * answer.mapping.latency_cycles,
                found.tree if i else self.leaf(part, answer.mapping).tree,
            )
        return Outcome(self._weight(found), found)

    def _asked(self, question: BranchQuestion, cutoff: float) -> BranchAnswer:
        """A branch's best mapping, if it weighs less than the cutoff."""
        self.asked += 1
        started = time.perf_counter()
        answer = self.solver.least(question, self.weights, cutoff)
        taken, name = time.perf_counter() - started, question.operation
        self._seconds[name] = max(taken, 0.5 * self._seconds.get(name, 0.0))
        return answer

    def leaf(self, part: VisitedPart, mapping: BranchMapping) -> FoundPart:
        """A branch of one operation. Where its visits are uneven, energy and latency are bounds; the cost model has the
        last word on the whole tree."""
        least, uneven = part.part_of(0), part.uneven[0] if part.uneven else ()
        tree = Tree(covering(mapping.items, uneven), (), part.names[0])
        return FoundPart(least * mapping.energy_pj, least * mapping.latency_cycles, tree)

    def takes_long(self, names: Sequence[str]) -> float:
        """Seconds that looking at some operations may take: of single ones, what it took until now."""
        if len(names) > 1:
            return math.inf
        return sum(self._seconds.get(name, 0.0) for name in names)

    def _weight(self, found: FoundPart) -> float:
        return self.weights.of(found.energy_pj, found.latency_cycles)
