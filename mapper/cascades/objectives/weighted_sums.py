"""The tree of least weight, for any weighted sum of energy and latency: over all orders of operations, with the cost
model's word on what is found."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ....ir import MappingError
from ...constraints.trees import ANY_TREE
from ...kernel.best_first import BestFirst
from ...kernel.incumbents import BestAnswers
from ...kernel.states import Closed, OpenState
from ...kernel.tolerance import cutoff_of, is_better, reaches
from ...means import ENOUGH, OutOfMeans
from ...pareto.weights import ENERGY_ALONE, Weights, weights_of
from ...question import Fuse
from ..branches.oracle import ExactBranches
from ..relaxations.nothing_shared import least_apart, shares_nothing
from ..terms.parts import FoundPart
from ..terms.sums import NARROW, Sums, all_wide, open_node
from ..tree_search import TreeSearch
from ..tree_searches import Corner
from .first_trees import FirstTrees
from .unsearched_trees import unsearched_trees


@dataclass
class WeightedSums(FirstTrees):
    """The searches for one question, each for the minimum of a weighted sum of energy and latency.

    out_of_means  whether a search could not be finished
    pruned   choices that were left aside, by rule
    bounds   what no mapping weighs less than, by weights, in which tiles below shared loops divide
    ragged_bounds  the same of mappings in which they need not; none where all divide
    plain_bounds  the same of mappings without shared loops along windows, where they were searched on their own
    fallback  a tree with nothing fused that tables have found: the cost model counts it once nothing beats it
    """

    out_of_means: bool = False
    pruned: Counter[str] = field(default_factory=Counter)
    bounds: list[tuple[Weights, float]] = field(default_factory=list)
    plain_bounds: list[tuple[Weights, float]] = field(default_factory=list)
    ragged_bounds: list[tuple[Weights, float]] = field(default_factory=list)
    fallback: FoundPart | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._looked: set[Weights] = set()
        self._taken, self._taken_ragged = 0.0, 0.0
        self._apart_known: dict[Weights, float] = {}

    def solve(self, weights: Weights, most: float = math.inf) -> Corner | None:
        """Find the minimum of one weighted sum, if it lies below the cutoff."""
        started, means = time.perf_counter(), self.means
        if self._falls_back_first:
            self._fall_back(weights)
        try:
            # Most of the time is for tiles that divide: these may be proven.
            with self.within(means.share(0.8) if self.has_ragged_loops else means):
                if self._has_windows:
                    self._solve_with_windows(weights, most)
                else:
                    self._solve(weights, self._least_known(weights, most))
            if self.has_ragged_loops:
                self._solve_ragged(weights, most, time.perf_counter() - started)
        finally:
            self._fall_back(weights)
            self._count_fallback()
        if self.out_of_means:
            raise OutOfMeans
        return self.best_by(weights)

    def _solve(self, weights: Weights, known: float) -> None:
        """Return the best tree, if it is better than the incumbent, and a lower bound on all trees."""
        bound, found = self._least(weights, known)
        if found is not None and not self._keep(found):
            bound = self._by_sums(weights, known, bound, found)
        self.bounds.append((weights, min(bound, known)))

    def _keep(self, found: FoundPart) -> bool:
        """Keep a tree with what it costs; whether partial sums have room in it."""
        corner = self.evaluated(found)
        self.corners += [] if corner is None else [corner]
        return corner is not None

    def _by_sums(self, weights: Weights, known: float, bound: float, found: FoundPart) -> float:
        """A bound on all trees where one that was found has no room for its partial sums: at one node after the other
        these are wide, or finished. The best tree becomes known.

        known, bound  what is to be better, and what no tree weighs less than
        """
        best, looked = BestAnswers[FoundPart](ceiling=cutoff_of(known)), itertools.count()

        def both_ways(state: _OpenSums) -> Iterator[_OpenSums | Closed[FoundPart]]:
            node = open_node(self.question.cascade, self.question.arch, state.sums, state.found, self.question.stays)
            if node is None or next(looked) >= 50:
                yield Closed(state.bound)  # where sums are finished is seen by the memory, and no closer
                return
            for each in state.sums.both_ways(node):
                below, tree = self._least(weights, min(known, best.value), each)
                below = max(below, state.bound)
                if tree is not None and not self._keep(tree):
                    yield _OpenSums(below, each, tree, both_ways)
                    continue
                yield Closed(below)
                if tree is not None:
                    yield Closed(self._least_known(weights), tree)

        search = BestFirst(best, [_OpenSums(bound, NARROW, found, both_ways)])
        search.run(lambda: self.out_of_means)
        return min(search.bound, known, best.value)

    def _solve_ragged(self, weights: Weights, most: float, taken: float) -> None:
        """The best tree in which tiles below shared loops need not divide, if it is better than what is known, and a
        bound on all of them.

        taken  seconds for those in which they do
        """
        unfinished, known = self.out_of_means, self._least_known(weights, most)
        started, self._taken = time.perf_counter(), self._taken + taken
        seconds = max(self._taken, ENOUGH) - self._taken_ragged
        if self.means.limits_time:
            one_sum = weights_of(self.question.objective) is not None
            seconds = max(seconds, (self.means if one_sum else self.means.share()).seconds_left)
        with self.within(self.means.at_most(seconds)):
            bound, found = self._least(weights, known, fuse="plain", ragged=True)
            self._taken_ragged += time.perf_counter() - started
            self.ragged_bounds.append((weights, min(bound, known)))
            self._evaluate_plain(weights, found, ragged=True)
        self.out_of_means = unfinished

    def solve_ragged(self, weights: Weights) -> None:
        """The least of one weighted sum among trees in which tiles below shared loops need not divide alone."""
        self._solve_ragged(weights, math.inf, 0.0)

    def _evaluate_plain(self, weights: Weights, found: FoundPart | None, ragged: bool = False) -> None:
        """Keep a tree without shared loops along windows, with what it costs; or where its sums have no room, the best
        of those in which all are wide."""
        if found is not None:
            corner = self.evaluated(found)
            if corner is None:
                wide = all_wide(self.question.cascade, self.memories)
                _, found = self._least(weights, math.inf, wide, "plain", ragged)
                corner = None if found is None else self.evaluated(found)
            if corner is not None:
                self.corners.append(replace(corner, ragged=ragged))

    def _solve_with_windows(self, weights: Weights, most: float) -> None:
        """The best tree where some have shared loops along windows. What these weigh is bounded: if that which seems
        best weighs more in the end, or time runs out, the best one without such loops may weigh less."""
        with self.within(self.means.share()):
            bound = self._count_windows(weights, most)
        known, unfinished = self._least_known(weights, most), self.out_of_means
        if is_better(bound, known):
            bound, found = self._least(weights, known, fuse="plain")
            self._evaluate_plain(weights, found)
            self.plain_bounds.append((weights, bound))
        self.out_of_means = unfinished

    def _count_windows(self, weights: Weights, most: float) -> float:
        """What no tree weighs less than, those with shared loops along windows included; where visits that take long to
        count leave a gap, with more time for these."""
        self._solve(weights, self._least_known(weights, most))
        bound, known = self.bounds[-1][1], self._least_known(weights, most)
        is_open = is_better(bound, known) and not self.out_of_means
        if is_open and isinstance(self.solver, ExactBranches) and self.solver.count_longer():
            self._looked.add(weights)  # a good tree is known, and would be counted with a part of the time alone
            self._solve(weights, known)
        return max(bound, self.bounds[-1][1])

    def look(self, weights: Weights, flat: bool = False) -> Corner | None:
        """A good mapping for one weighted sum, soon and without a proof; None where no quick way is known.

        flat  of trees with one split alone
        """
        if self._falls_back_first or not isinstance(self.solver, ExactBranches):
            self._fall_back(weights)
        if not isinstance(self.solver, ExactBranches):
            return None
        self._looked.add(weights)
        found = self._first_tree(self.tree_search(weights), self._least_known(weights), flat=flat)
        if found is not None:
            self._keep(found)
        self._fall_back(weights)
        return self.best_by(weights)

    def _least_known(self, weights: Weights, most: float = math.inf) -> float:
        known = min((weights.of(*point) for point in self.points), default=math.inf)
        return min(known, self.question.below, most)

    @property
    def points(self) -> list[tuple[float, float]]:
        """Energy and latency of all that is known."""
        known = [(corner.energy, corner.latency) for corner in self.corners]
        return known if self.fallback is None else [*known, (self.fallback.energy_pj, self.fallback.latency_cycles)]

    @property
    def _falls_back_first(self) -> bool:
        """Whether some mapping is to be known before others are searched: where that takes no time, where trees cost
        otherwise than searches take them to, and where time may run out with ragged tiles. Else first trees are as soon
        found, and with nothing fused is one of them."""
        takes_time, arch = isinstance(self.solver, ExactBranches), self.counted_on
        is_exact = arch.overlap != "across_operations" and not arch.fills and self._are_narrow
        is_late = self.means.limits_time and self.question.tiling == "ragged"
        return not takes_time or is_late or not is_exact

    def _fall_back(self, weights: Weights) -> None:
        """Know some mapping, where any fits."""
        if not self.points and self._may_be_apart and self.question.below == math.inf:
            self.fallback = self._apart(weights)
            if isinstance(self.solver, ExactBranches) or not self._are_narrow:  # what it costs is not known yet
                self._count_fallback()

    def _count_fallback(self) -> None:
        """Keep the tree to fall back on, unless another one costs no more energy and no more latency."""
        apart, self.fallback = self.fallback, None
        if apart is not None and not any(
            c.energy <= apart.energy_pj and c.latency <= apart.latency_cycles for c in self.corners
        ):
            self._keep(apart)

    def know_unsearched(self) -> None:
        """Know a tree that needs no search, where one fits and constraints say nothing of trees."""
        question = self.question
        if question.constraints != ANY_TREE:
            return
        for found in unsearched_trees(question.cascade, self.counted_on, question.objective, question.stays):
            with contextlib.suppress(MappingError):
                if self._keep(found):
                    return

    @property
    def _may_be_apart(self) -> bool:
        """Whether there are trees with nothing fused beside those that are asked for."""
        cascade = self.question.cascade
        has_to_fuse = any(operation.iterates for operation in cascade)
        return self.question.fuse != "none" and len(cascade.operations) > 1 and not has_to_fuse

    def _apart(self, weights: Weights) -> FoundPart | None:
        """A tree with nothing fused, to fall back on: the best one where that takes no time."""
        if isinstance(self.solver, ExactBranches):
            return self._first_tree(self.tree_search(weights, fuse="none"), math.inf)
        if self.question.constraints != ANY_TREE:
            return self._least(weights, math.inf, fuse="none")[1]
        return self.tree_search(weights, fuse="none").apart([operation.name for operation in self.question.cascade])

    def _least(
        self,
        weights: Weights,
        cutoff: float,
        sums: Sums = NARROW,
        fuse: Fuse | None = None,
        ragged: bool = False,
    ) -> tuple[float, FoundPart | None]:
        """A bound on a weighted sum, and the best tree, if one is better than the cutoff."""
        search: TreeSearch = self.tree_search(weights, sums, fuse, ragged=ragged)
        is_one = len(self.question.cascade.operations) == 1
        looked = bool(self._looked) and not ragged  # what is known is good for other weights too
        floor = max(self.question.floor if weights == ENERGY_ALONE else 0.0, self._least_apart(weights, fuse))
        best = None if is_one or looked else self._first_tree(search, cutoff, floor=floor, before_all=True)
        if best is None and self.means.limits_time and isinstance(self.solver, ExactBranches):
            self._fall_back(weights)
        if best is not None:
            cutoff = weights.of(best.energy_pj, best.latency_cycles)
            if floor and self._weighs_at_most(floor, best, weights):
                return floor, best
        found, done = self.in_all_orders(search, cutoff, floor)
        bound = math.inf
        if done is not None:
            self.out_of_means = True
            bound = min(search.open_bound, self._least_in(itertools.islice(self.orders(), done + 1, None), search))
        if found is not None:
            best, cutoff = found, weights.of(found.energy_pj, found.latency_cycles)
        self.pruned.update(search.pruned)
        return max(min(cutoff, bound), min(floor, self.question.below)), best

    def _least_apart(self, weights: Weights, fuse: Fuse | None) -> float:
        """What no tree weighs less than where operations have nothing in common on chip, and visits are even; else
        nothing."""
        cascade, are_uneven = self.question.cascade, self._has_windows and fuse != "plain"
        takes_time = isinstance(self.solver, ExactBranches) and len(cascade.operations) > 1
        if are_uneven or self.question.stays or not takes_time or not shares_nothing(cascade, self.memories):
            return 0.0
        if weights not in self._apart_known:
            if isinstance(self._alone, ExactBranches):
                self._alone.means = self.means
            self._apart_known[weights] = least_apart(cascade, self.memories, self._alone, weights)
        return self._apart_known[weights]

    def _weighs_at_most(self, most: float, found: FoundPart, weights: Weights) -> bool:
        """Whether a tree weighs no more than so much, by the cost model."""
        corner = self.evaluated(found)
        return corner is not None and reaches(most, weights.of(corner.energy, corner.latency))


@dataclass
class _OpenSums(OpenState[FoundPart]):
    """Trees with some sums taken for granted, of which the best one has no room for all of its partial sums.

    both_ways  parts them by where the sums at another node are finished
    """

    bound: float
    sums: Sums
    found: FoundPart
    both_ways: Callable[[_OpenSums], Iterator[_OpenSums | Closed[FoundPart]]]

    def advance(self) -> Iterator[_OpenSums | Closed[FoundPart]]:
        return self.both_ways(self)
