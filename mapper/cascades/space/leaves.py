"""Branches of one operation, as parts of a tree: the best mapping of all its visits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....cost_models.sets import tiles_overlap
from ....ir import Tree
from ...pareto.weights import UNKNOWN, Weights
from ...tilings import factors
from ..relaxations.part_bounds import PartBounds
from ..relaxations.uneven_shares import UnevenShare, finer_shares, single_shares, uneven_shares
from ..terms.branch import BranchMapping, BranchQuestion, BranchSolver
from ..terms.parts import FoundPart, Outcome, VisitedPart, some_of
from ..terms.windowed import Uneven, covering


@dataclass
class Leaves:
    """The branches of one search over trees."""

    solver: BranchSolver
    weights: Weights
    bounds: PartBounds

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
        """What a branch weighs at least, by its even visit, and where all visits can be asked about, by these, once it
        is known that it is not ruled out by the even ones."""
        share, question = even
        uneven = part.uneven[0][0] if part.uneven and part.uneven[0] else None
        if uneven is None:
            return self.least_of_way(part, [even], cutoff)
        if question.finished:
            return self._least_of_finished(part, even, cutoff)
        every = factors(uneven.step, "perfect", True)
        soonest = min(map(uneven.computing, every)) / uneven.part if self.bounds.timed else 1.0
        at_least = self.least_of_way(part, [(share, replace(question, slower=soonest))], cutoff)
        if at_least.found is None:
            return at_least
        of_all = part.question_of_all(0)
        if of_all is not None:
            return self.least_of_way(part, [(1.0, of_all)], cutoff)
        found = self._least_of_steps(part, even, uneven, cutoff)
        counted = None if found.found is None else self._counted(part, uneven, cutoff)
        return found if counted is None else counted

    def _least_of_finished(self, part: VisitedPart, even: tuple[float, BranchQuestion], cutoff: float) -> Outcome:
        """What a branch weighs at least, by its even visit, whose sums come finished: such mappings are among those
        whose sums may be unfinished, and of these all visits may be counted."""
        share, question = even
        any_sums = replace(part, finished=False), (share, replace(question, finished=False))
        at_least = self._least_of_even(*any_sums, cutoff)
        return at_least if at_least.found is None else _heavier(self.least_of_way(part, [even], cutoff), at_least)

    def _counted(self, part: VisitedPart, uneven: Uneven, cutoff: float) -> Outcome | None:
        """The best mapping of all visits of a branch, or, if it does not weigh less than the cutoff, that; None where
        they cannot be counted, or not soon."""
        asked = part.question_of_uneven(0, uneven) if self._may_count(part, uneven) else None
        answer = None if asked is None else self.solver.counted(asked, self.weights, cutoff)
        if answer is None or answer.mapping is None:
            return None if answer is None else Outcome(answer.bound)
        mapping = answer.mapping
        return Outcome(
            answer.bound, FoundPart(mapping.energy_pj, mapping.latency_cycles, self.leaf(part, mapping).tree)
        )

    def _may_count(self, part: VisitedPart, uneven: Uneven) -> bool:
        """Whether uneven visits may be counted: where energy alone counts, and a memory keeps no more of a
        tile than what the innermost loop lets it find again."""
        arch, tensors = self.bounds.memories.arch, self.bounds.cascade.operation(part.names[0]).problem.tensors
        overlap = any(tiles_overlap(tensor, uneven.dim, arch.footprint) for tensor in tensors)
        keeps_rows = overlap and any(memory.halo == "exact" for memory in arch.memories)
        return not (self.bounds.timed or keeps_rows or arch.reuse == "at_node")

    def _least_of_steps(
        self, part: VisitedPart, even: tuple[float, BranchQuestion], uneven: Uneven, cutoff: float
    ) -> Outcome:
        """What a branch weighs at least, by its even visit: each mapping is bounded by how many positions of a tile
        instances side by side have, and by what stays in them."""
        question, operation = even[1], self.bounds.cascade.operation(part.names[0])
        best, bound = Outcome(math.inf), math.inf
        memories = self.bounds.memories
        for one in uneven_shares(uneven, operation, question.sizes, memories):
            found = self._least_of_share(part, even, one, min(cutoff, bound))
            finer = finer_shares(one, uneven, question, operation, memories) if found.found else []
            if finer:
                every = [self._least_of_share(part, even, each, min(cutoff, bound)) for each in finer]
                found = min(every, key=lambda each: each.bound)
            for each in single_shares(one, uneven, operation, memories):
                if found.found is not None:
                    other = self._least_of_share(part, even, each, min(cutoff, bound))
                    found = _heavier(found, other)
            bound, best = min(bound, found.bound), found if found.found is not None and found.bound < bound else best
        return best if best.found is not None else Outcome(bound)

    def _least_of_share(
        self, part: VisitedPart, even: tuple[float, BranchQuestion], one: UnevenShare, cutoff: float
    ) -> Outcome:
        """What a branch weighs at least with some mappings of its even visit."""
        (share, question), less = even, self.weights.energy * one.less_pj
        more, slower = one.part / share, one.slower if self.bounds.timed else 1.0
        busy = tuple((memory, role, read / more, written / more) for memory, role, read, written in question.busy)
        asked = replace(question, busy=busy, slower=slower, beside=one.beside)
        asked = replace(asked, keeps=one.keeps, wider=one.wider, waits_for=one.waits_for)
        outcome = self.least_of_way(part, [(one.part, asked)], cutoff + less)
        found = outcome.found
        if found is not None:
            found = replace(found, energy_pj=found.energy_pj - one.less_pj)
        return Outcome(outcome.bound - less, found)

    def least_of_way(self, part: VisitedPart, way: Sequence[tuple[float, BranchQuestion]], cutoff: float) -> Outcome:
        """What a branch weighs at least, by tiles that stand for its visits."""
        least = [share * self.solver.bound(question, self.weights) for share, question in way[1:]]
        found = FoundPart(0.0, 0.0, Tree(()))
        for i, (share, question) in enumerate(way):
            others = self._weight(found) + sum(least[i:])
            apart = UNKNOWN if self.solver.knows_all else self.bounds.apart(part, 0, question)
            left = (cutoff - others) / share if share else math.inf
            answer = self.solver.least(question, self.weights, left, apart)
            if answer.mapping is None:
                return Outcome(others + share * answer.bound)
            found = FoundPart(
                found.energy_pj + share * answer.mapping.energy_pj,
                found.latency_cycles + share * answer.mapping.latency_cycles,
                found.tree if i else self.leaf(part, answer.mapping).tree,
            )
        return Outcome(self._weight(found), found)

    def leaf(self, part: VisitedPart, mapping: BranchMapping) -> FoundPart:
        """A branch of one operation. Where its visits are uneven, energy and latency are bounds; the cost model has the
        last word on the whole tree."""
        least, uneven = part.part_of(0), part.uneven[0] if part.uneven else ()
        tree = Tree(covering(mapping.items, uneven), (), part.names[0])
        return FoundPart(least * mapping.energy_pj, least * mapping.latency_cycles, tree)

    def _weight(self, found: FoundPart) -> float:
        return self.weights.of(found.energy_pj, found.latency_cycles)


def _heavier(found: Outcome, other: Outcome) -> Outcome:
    """The heavier of two bounds on some mappings of a branch, with the tree of the first."""
    if other.bound <= found.bound or found.found is None:
        return found
    return Outcome(other.bound, None if other.found is None else replace(other.found, tree=found.found.tree))
