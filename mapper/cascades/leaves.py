"""Branches of one operation, as parts of a tree: the best mapping of all its visits."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...ir import Tree
from ..certificate import RELATIVE_TOLERANCE
from ..tilings import factors
from .branch import BranchAnswer, BranchMapping, BranchQuestion, BranchSolver, Slot
from .known_branches import NEARLY
from .part_bounds import PartBounds
from .parts import FoundPart, Outcome, VisitedPart, some_of
from .weights import UNKNOWN, LeastOfEach, Weights
from .windowed import covering

MOST_AXES = 3
"""Axes of arrays for which it is told apart how many positions each has."""


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
        for i, way in enumerate(part.questions(self.bounds.timed)):
            is_even = i == 0 and len(way) == 1
            outcome = self._least_of_even(part, way[0], cutoff) if is_even else self.least_of_way(part, way, cutoff)
            if outcome.found is None:
                return outcome
            first = outcome.found.tree if first is None else first
            if outcome.bound >= heaviest.bound:
                heaviest = Outcome(outcome.bound, replace(outcome.found, tree=first))
        return heaviest

    def apart(self, part: VisitedPart) -> FoundPart | None:
        """The best tree of a whole cascade in which each operation is a branch, below no loops and no nodes, and
        intermediates pass through the outermost memory; None where one does not fit. Branches of such a tree have
        nothing to do with each other."""
        cascade = self.bounds.cascade
        stored = frozenset(cascade.intermediates) - dict(part.homes).keys()
        homes = dict(part.homes) | dict.fromkeys(stored, self.bounds.memories.outermost)
        found: list[FoundPart] = []
        for place, name in enumerate(part.names):
            used = sorted(tensor.name for tensor in cascade.operation(name).problem.tensors)
            branch = replace(some_of(part, place, place + 1), homes=tuple((t, homes[t]) for t in used))
            outcome = self.least_of_way(branch, [(1.0, branch.question())], math.inf)
            if outcome.found is None:
                return None
            found.append(outcome.found)
        energy, latency = sum(one.energy_pj for one in found), sum(one.latency_cycles for one in found)
        return FoundPart(energy, latency, Tree((), tuple(one.tree for one in found)), stored)

    def _least_of_even(self, part: VisitedPart, even: tuple[float, BranchQuestion], cutoff: float) -> Outcome:
        """What a branch weighs at least, by its even visit. Where visits are uneven, computing takes longer the more
        positions of a tile instances side by side have: each mapping is bounded by how many these are, once it is known
        that none is ruled out by the fewest steps of all."""
        share, question = even
        uneven = part.uneven[0][0] if part.uneven and part.uneven[0] else None
        if uneven is None or not self.bounds.timed or question.finished:
            return self.least_of_way(part, [even], cutoff)
        best, bound, fewest = Outcome(math.inf), math.inf, math.inf
        every = factors(uneven.step, "perfect", True)
        soonest = min(map(uneven.computing, every)) / uneven.part
        at_least = self.least_of_way(part, [(share, replace(question, slower=soonest))], cutoff)
        if at_least.found is None:
            return at_least
        for at_once in reversed(every):
            slower = uneven.computing(at_once) / uneven.part
            if slower >= fewest * (1 - RELATIVE_TOLERANCE):  # mappings with more at once weigh no more
                continue
            fewest = slower
            for beside in self._ways_beside(uneven.dim, at_once) if at_once < uneven.step else [()]:
                asked = replace(question, slower=slower, beside=beside)
                found = self.least_of_way(part, [(share, asked)], min(cutoff, bound))
                bound, best = min(bound, found.bound), best if found.found is None else found
        return best if best.found is not None else Outcome(bound)

    def _ways_beside(self, dim: str, at_once: int) -> list[tuple[tuple[Slot, int], ...]]:
        """Most trips along each axis, in all ways in which so many instances side by side have positions of a
        dimension: where these are many, one for all."""
        arrays = self.bounds.memories.arch.fanouts
        slots = [(one.name, axis, dim) for one in arrays for axis in range(len(one.axes))]
        parts = itertools.product(*[factors(at_once, "perfect", True)] * len(slots)) if at_once > 1 else ()
        ways = [trips for trips in parts if math.prod(trips) == at_once] if len(slots) <= MOST_AXES else []
        return [tuple(zip(slots, way, strict=True)) for way in ways or [(at_once,) * len(slots)]]

    def least_of_way(self, part: VisitedPart, way: Sequence[tuple[float, BranchQuestion]], cutoff: float) -> Outcome:
        """What a branch weighs at least, by tiles that stand for its visits."""
        least = [share * self.solver.bound(question, self.weights) for share, question in way[1:]]
        found = FoundPart(0.0, 0.0, Tree(()))
        for i, (share, question) in enumerate(way):
            others = self._weight(found) + sum(least[i:])
            apart = UNKNOWN if self.solver.knows_all else self.bounds.apart(part, 0, question)
            answer = self._asked(question, (cutoff - others) / share if share else math.inf, apart)
            if answer.mapping is None:
                return Outcome(others + share * answer.bound)
            found = FoundPart(
                found.energy_pj + share * answer.mapping.energy_pj,
                found.latency_cycles + share * answer.mapping.latency_cycles,
                found.tree if i else self.leaf(part, answer.mapping).tree,
            )
        return Outcome(self._weight(found), found)

    def _asked(self, question: BranchQuestion, cutoff: float, apart: LeastOfEach) -> BranchAnswer:
        """A branch's best mapping, if it weighs less than the cutoff."""
        self.asked += 1
        started = time.perf_counter()
        answer = self.solver.least(question, self.weights, cutoff, apart)
        taken, name = time.perf_counter() - started, question.operation
        self._seconds[name] = max(taken, 0.5 * self._seconds.get(name, 0.0))
        return answer

    def leaf(self, part: VisitedPart, mapping: BranchMapping) -> FoundPart:
        """A branch of one operation. Where its visits are uneven, energy and latency are bounds; the cost model has the
        last word on the whole tree."""
        least, uneven = part.part_of(0), part.uneven[0] if part.uneven else ()
        tree = Tree(covering(mapping.items, uneven), (), part.names[0])
        return FoundPart(least * mapping.energy_pj, least * mapping.latency_cycles, tree)

    def is_nearly_known(self, part: VisitedPart) -> bool:
        """Whether the bound on a branch is nearly what a mapping weighs that is known already."""
        known = sum(
            share * self.solver.best_known(asked, self.weights) for share, asked in part.questions(self.bounds.timed)[0]
        )
        return self.bounds.close(part) >= known * (1 - NEARLY)

    def takes_long(self, names: Sequence[str]) -> float:
        """Seconds that looking at some operations may take: of single ones, what it took until now."""
        if len(names) > 1:
            return math.inf
        return sum(self._seconds.get(name, 0.0) for name in names)

    def _weight(self, found: FoundPart) -> float:
        return self.weights.of(found.energy_pj, found.latency_cycles)
