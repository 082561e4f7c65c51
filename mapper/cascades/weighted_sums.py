"""The tree of least weight, for any weighted sum of energy and latency: over all orders of operations, with the cost
model's word on what is found."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from ...arch import Architecture
from ...cost_models.cascades import FusedCost, evaluate_tree
from ...ir import Cascade, FusedMapping, MappingError, Node, Tree
from ..certificate import RELATIVE_TOLERANCE
from ..means import Means, OutOfMeans
from ..space import Space
from .equal import order_form_of
from .operation_orders import MOST_ORDERS, orders
from .oracle import ExactBranches
from .part_bounds import Nearest
from .parts import FoundPart
from .question import CascadeQuestion
from .single_bounds import SingleBounds, SingleLeast, is_bounded_by_singles
from .sums import NARROW, Sums, all_wide, open_tensor
from .tables.tables import TableBranches, supports
from .tree_constraints import ANY_TREE
from .tree_search import Fuse, TreeSearch
from .upper_memories import UpperMemories
from .weights import ENERGY_ALONE, Weights
from .windowed import windowed_dims

Kind = TypeVar("Kind", bound=TreeSearch)

FIRST_SHARE, LOOK_SHARE, FIRST_SECONDS = 0.5, 0.35, 3.0
"""Of the time that is left, and at most, for a first tree: of a search for one weighted sum, and of one of several."""

MOST_SUMS = 50
"""Choices of which sums are finished that are looked at for one weighted sum."""

MANY_OPERATIONS, BEAM = 6, 4
"""With more operations than these, first trees are looked for among so many choices of nodes and loops of a part."""

WINDOWS_SHARE = 0.7
"""Of the time that is left for one weighted sum, for all trees, where some have shared loops along windows."""

DIVIDED_SHARE = 0.8
"""Of the time that is left for one weighted sum, for trees in which tiles of shared loops divide."""

RAGGED_SECONDS = 20.0
"""How long all other trees are searched in a whole search: as long as those took, or so many seconds if that is
more."""


@dataclass(frozen=True)
class Corner:
    """A mapping, and what it costs; whether it was found among all trees, or those with perfect tiles below shared
    loops."""

    energy: float
    latency: float
    mapping: FusedMapping
    cost: FusedCost
    ragged: bool = False


class Aside(NamedTuple):
    """What a search has that is no part of a proof.

    solver, means  of its branches
    beam           as of `TreeSearch`
    """

    solver: TableBranches | ExactBranches
    means: Means
    beam: int | None = None


@dataclass
class WeightedSums:
    """Searches for one question, each for the least of a weighted sum.

    branches  of one operation that were asked for
    out_of_means  whether a search could not be finished
    pruned   choices that were left aside, by rule
    corners  mappings that are found
    bounds   what no mapping weighs less than, by weights, in which tiles below shared loops divide
    ragged_bounds  the same of mappings in which they need not; none where all divide
    plain_bounds  the same of mappings without shared loops along windows, where they were searched on their own
    nearest  what single operations cost at least, by their form (`PartBounds`): the same for all cascades on a machine
    """

    question: CascadeQuestion
    means: Means
    branches: int = 0
    out_of_means: bool = False
    pruned: Counter[str] = field(default_factory=Counter)
    corners: list[Corner] = field(default_factory=list)
    bounds: list[tuple[Weights, float]] = field(default_factory=list)
    plain_bounds: list[tuple[Weights, float]] = field(default_factory=list)
    ragged_bounds: list[tuple[Weights, float]] = field(default_factory=list)
    nearest: Nearest = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memories = UpperMemories(self.question.arch)
        self.solver = self._solver(self.question.space)
        self._looked: set[Weights] = set()
        self._taken, self._taken_ragged = 0.0, 0.0

    def _solver(self, space: Space) -> TableBranches | ExactBranches:
        """Tables where they are exact, else a search for every question."""
        question = self.question
        if supports(question.cascade, question.arch, space, question.tiling) is None:
            return TableBranches(question.cascade, question.arch)
        return ExactBranches(question.cascade, question.arch, space, question.tiling, self.means)

    def use(self, means: Means) -> None:
        """Go on with other means."""
        self.means = means
        if isinstance(self.solver, ExactBranches):
            self.solver.means = means

    @property
    def counted_on(self) -> Architecture:
        """The machine on which the cost model counts what is found."""
        return self.question.arch

    def least_of(self, weights: Weights) -> float:
        """What no tree weighs less than, without a search over trees."""
        return self._least_in(self.orders(), self.tree_search(weights))

    def _least_in(self, orders: Iterable[tuple[str, ...]], search: TreeSearch) -> float:
        """What no tree with its operations in some orders weighs less than: the bound of one order is none of another,
        since it matters which operation fills a shared input."""
        try:
            return min(map(search.bound_of_whole, orders), default=math.inf)
        except OutOfMeans:
            return 0.0

    def solve(self, weights: Weights, most: float = math.inf) -> Corner | None:
        """The least of one weighted sum; what weighs so much or more is not looked for."""
        started, whole = time.perf_counter(), self.means
        self._fall_back(weights)
        self.use(whole.share(DIVIDED_SHARE) if self.has_ragged_loops else whole)
        try:
            if self._has_windows:
                self._solve_with_windows(weights, most)
            else:
                self._solve(weights, self._least_known(weights, most))
            if self.has_ragged_loops:
                self._solve_ragged(weights, most, whole, time.perf_counter() - started)
        finally:
            self.use(whole)
        if self.out_of_means:
            raise OutOfMeans
        return min(self.corners, key=lambda c: weights.of(c.energy, c.latency), default=None)

    def _solve(self, weights: Weights, known: float) -> None:
        """The best tree, if one weighs less than what is known, and a bound on all."""
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
        """A bound on all trees where one that was found has no room for its partial sums: in one intermediate after the
        other these are wide, or finished. The best tree becomes known.

        known, bound  what is to be better, and what no tree weighs less than
        """
        least, number = math.inf, itertools.count()
        waiting = [(bound, next(number), NARROW, found)]
        while waiting and waiting[0][0] < known * (1 - RELATIVE_TOLERANCE):
            bound, _, sums, found = heapq.heappop(waiting)
            stays = [tensor for tensor, _ in self.question.stays]
            tensor = open_tensor(self.question.cascade, self.question.arch, sums, found, stays)
            if tensor is None or next(number) > 2 * MOST_SUMS:
                least = min(least, bound)  # where sums are finished is seen by the memory, and no closer
                continue
            for each in sums.both_ways(tensor):
                below, tree = self._least(weights, known, each)
                if tree is None or self._keep(tree):
                    known, least = min(known, self._least_known(weights)), min(least, max(below, bound))
                else:
                    heapq.heappush(waiting, (max(below, bound), next(number), each, tree))
            if self.out_of_means:
                break
        return min([least, known, *(one[0] for one in waiting)])

    @property
    def has_ragged_loops(self) -> bool:
        """Whether trees are asked for in which tiles of shared loops, or below them, need not divide."""
        question = self.question
        shared = question.fuse in ("all", "plain") and len(question.cascade.operations) > 1
        return shared and question.tiling == "ragged" and isinstance(self.solver, ExactBranches)

    def _solve_ragged(self, weights: Weights, most: float, means: Means, taken: float) -> None:
        """The best tree in which tiles below shared loops need not divide, if it is better than what is known, and a
        bound on all of them.

        taken  seconds for those in which they do
        """
        unfinished, known = self.out_of_means, self._least_known(weights, most)
        started, self._taken = time.perf_counter(), self._taken + taken
        self.use(means.at_most(max(self._taken, RAGGED_SECONDS) - self._taken_ragged))
        bound, found = self._least(weights, known, fuse="plain", ragged=True)
        self._taken_ragged += time.perf_counter() - started
        self.ragged_bounds.append((weights, min(bound, known)))
        self._evaluate_plain(weights, found, ragged=True)
        self.out_of_means = unfinished

    def _evaluate_plain(self, weights: Weights, found: FoundPart | None, ragged: bool = False) -> None:
        """Keep a tree without shared loops along windows, with what it costs; or where its sums have no room, the best
        of those in which all are wide."""
        if found is not None:
            corner = self.evaluated(found)
            if corner is None:
                _, found = self._least(weights, math.inf, all_wide(self.question.cascade), "plain", ragged)
                corner = None if found is None else self.evaluated(found)
            if corner is not None:
                self.corners.append(replace(corner, ragged=ragged))

    @cached_property
    def _has_windows(self) -> bool:
        """Whether trees are asked for in which shared loops step along what readers see through windows."""
        cascade = self.question.cascade
        return self._fuse == "all" and any(any(windowed_dims(cascade, op)) for op in cascade)

    @cached_property
    def _fuse(self) -> Fuse:
        """What may be fused: what uneven visits share with other operations is not counted yet, where it stays too."""
        cascade, fuse = self.question.cascade, self.question.fuse
        users = {
            tensor: sum(tensor in {t.name for t in op.problem.tensors} for op in cascade)
            for tensor, _ in self.question.stays
        }
        return "plain" if fuse == "all" and max(users.values(), default=0) > 1 else fuse

    def _solve_with_windows(self, weights: Weights, most: float) -> None:
        """The best tree where some have shared loops along windows. What these weigh is bounded: if that which seems
        best weighs more in the end, or time runs out, the best one without such loops may weigh less."""
        whole = self.means
        self.use(whole.share(WINDOWS_SHARE))
        try:
            self._solve(weights, self._least_known(weights, most))
        finally:
            self.use(whole)
        known, (_, bound), unfinished = self._least_known(weights, most), self.bounds[-1], self.out_of_means
        if bound < known * (1 - RELATIVE_TOLERANCE):
            bound, found = self._least(weights, known, fuse="plain")
            self._evaluate_plain(weights, found)
            self.plain_bounds.append((weights, bound))
        self.out_of_means = unfinished

    def look(self, weights: Weights) -> Corner | None:
        """A good mapping for one weighted sum, soon and without a proof; None where no quick way is known."""
        self._fall_back(weights)
        if not isinstance(self.solver, ExactBranches):
            return None
        self._looked.add(weights)
        found = self._first_tree(self.tree_search(weights), self._least_known(weights), LOOK_SHARE)
        corner = None if found is None else self.evaluated(found)
        if corner is not None:
            self.corners.append(corner)
        return min(self.corners, key=lambda c: weights.of(c.energy, c.latency), default=None)

    def _least_known(self, weights: Weights, most: float = math.inf) -> float:
        known = min((weights.of(c.energy, c.latency) for c in self.corners), default=math.inf)
        return min(known, self.question.below, most)

    def _fall_back(self, weights: Weights) -> None:
        """Know some mapping, where any fits."""
        if not self.corners and self._may_be_apart and self.question.below == math.inf:
            apart = self._apart(weights)
            corner = None if apart is None else self.evaluated(apart)
            if corner is not None:
                self.corners.append(corner)

    @property
    def _may_be_apart(self) -> bool:
        """Whether there are trees with nothing fused beside those that are asked for: what iterates has to be fused."""
        cascade = self.question.cascade
        iterates = any(operation.iterates for operation in cascade)
        return self.question.fuse != "none" and len(cascade.operations) > 1 and not iterates

    def _apart(self, weights: Weights) -> FoundPart | None:
        """A tree with nothing fused, to fall back on: the best one where that takes no time."""
        if isinstance(self.solver, ExactBranches):
            return self._first_tree(self.tree_search(weights, fuse="none"), math.inf)
        return self._least(weights, math.inf, fuse="none")[1]

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
        looked = weights in self._looked and not ragged
        floor = self.question.floor if weights == ENERGY_ALONE else 0.0
        best = None if is_one or looked else self._first_tree(search, cutoff, floor=floor)
        if best is not None:
            cutoff = weights.of(best.energy_pj, best.latency_cycles)
            if self._weighs_at_most(floor, best, weights):
                return floor, best
        bound, done = math.inf, 0
        try:
            for names in self.orders():
                outcome = search.whole(names, cutoff, floor)
                if outcome.found is not None:
                    cutoff, best = outcome.bound, outcome.found
                done += 1
        except OutOfMeans:
            self.out_of_means = True
            bound = min(search.open_bound, self._least_in(itertools.islice(self.orders(), done + 1, None), search))
        self.branches += search.branches
        self.pruned.update(search.pruned)
        return max(min(cutoff, bound), min(floor, self.question.below)), search.incumbent or best

    def _weighs_at_most(self, most: float, found: FoundPart, weights: Weights) -> bool:
        """Whether a tree weighs no more than so much, by the cost model."""
        corner = self.evaluated(found)
        return corner is not None and weights.of(corner.energy, corner.latency) <= most * (1 + RELATIVE_TOLERANCE)

    def single_bounds(self, weights: Weights, known: SingleLeast) -> SingleBounds | None:
        """Bounds by operations one by one; None where they would take long, or say nothing.

        known  what is known of single operations on the same machine; more is noted there
        """
        if not is_bounded_by_singles(self.question, self.memories, weights):
            return None
        question = self.question
        search: TreeSearch = self.tree_search(weights)
        solver, near, stays = self._solver("uneven"), search.bounds, dict(question.stays)
        return SingleBounds(question.cascade, self.memories, solver, near, weights, search.fuse, stays, known)

    def _first_tree(
        self, search: TreeSearch, cutoff: float, share: float = FIRST_SHARE, floor: float = 0.0
    ) -> FoundPart | None:
        """A good tree that is found soon, if there is one below the cutoff: the same search with the first mappings
        that come to hand for its branches, with perfect tiles, and first of trees with one split alone, and no shared
        loops along windows: there are fewer of them. It leaves less to look at, and is there when time runs out.
        What it learns of parts and branches stays its own: these are no proven answers."""
        if not isinstance(self.solver, ExactBranches) and self._beam is None:  # tables are soon done with few
            return None
        means = self.means.share(share).at_most(FIRST_SECONDS)
        solver = self.solver
        if isinstance(solver, ExactBranches):
            solver = self._quick
            solver.means = means
        aside = Aside(solver, means, self._beam)
        best: FoundPart | None = None
        kinds: list[tuple[Fuse, bool]] = [("plain", True)] if self._has_windows and search.fuse == "all" else []
        kinds += [(search.fuse, flat) for flat in (True, False) if flat or len(self.question.cascade.operations) > 2]
        for fuse, flat in kinds:
            first: TreeSearch = self.tree_search(
                search.weights, search.sums, fuse, aside=aside, flat=flat, ragged=search.ragged
            )
            try:
                for names in self.orders():
                    best = first.whole(names, cutoff * (1 - RELATIVE_TOLERANCE), floor).found or best
                    cutoff = cutoff if best is None else first.weights.of(best.energy_pj, best.latency_cycles)
            except OutOfMeans:
                best = first.incumbent or best
                break
        return best if best is not None and self.evaluated(best) is not None else None

    @property
    def _beam(self) -> int | None:
        """Choices that a first tree is looked for among, where there are very many."""
        return BEAM if len(self.question.cascade.operations) > MANY_OPERATIONS else None

    @cached_property
    def _quick(self) -> ExactBranches:
        """The first mappings that come to hand, for branches of first trees."""
        question = self.question
        return ExactBranches(question.cascade, question.arch, question.space, "perfect", self.means, proves=False)

    def tree_search(
        self,
        weights: Weights,
        sums: Sums = NARROW,
        fuse: Fuse | None = None,
        kind: type[Kind] = TreeSearch,  # type: ignore[assignment]
        aside: Aside | None = None,
        flat: bool = False,
        ragged: bool = False,
    ) -> Kind:
        """A search.

        aside  what answers for branches in its place: nothing that it comes to know is known to others
        """
        question = self.question
        return kind(
            question.cascade,
            self.memories,
            question.space,
            question.tiling,
            weights,
            self._solver_of(sums) if aside is None else aside.solver,
            self.means if aside is None else aside.means,
            fuse or self._fuse,
            sums,
            constraints=question.constraints,
            stays=question.stays,
            nearest=self.nearest if aside is None else {},
            flat=flat,
            beam=None if aside is None else aside.beam,
            ragged=ragged,
        )

    def _solver_of(self, sums: Sums) -> TableBranches | ExactBranches:
        """What answers for branches: tables do not know where sums are finished."""
        return self._exact if sums.finished else self.solver

    @cached_property
    def _exact(self) -> ExactBranches:
        question = self.question
        if isinstance(self.solver, ExactBranches):
            return self.solver
        return ExactBranches(question.cascade, question.arch, question.space, question.tiling, self.means)

    def orders(self) -> Iterator[tuple[str, ...]]:
        """All orders in which the operations can be done, that of the cascade first; of those that differ in names
        alone, one."""
        found, are_all = self._orders
        yield from found
        if not are_all:
            raise OutOfMeans

    @cached_property
    def _orders(self) -> tuple[list[tuple[str, ...]], bool]:
        """Orders, and whether these are all."""
        question = self.question
        found = list(itertools.islice(orders(question.cascade), MOST_ORDERS + 1))
        are_all, found = len(found) <= MOST_ORDERS, found[:MOST_ORDERS]
        if len(found) == 1 or question.constraints != ANY_TREE or question.stays:  # these know names
            return found, are_all
        forms: dict[object, tuple[str, ...]] = {}
        for names in found:
            ordered = Cascade(question.cascade.name, tuple(map(question.cascade.operation, names)))
            forms.setdefault(order_form_of(ordered, question.arch), names)
        return list(forms.values()), are_all

    def evaluated(self, found: FoundPart) -> Corner | None:
        """What a tree costs by the cost model; None where sums are wider than the bound took them for."""
        cascade = self.question.cascade
        outermost = self.memories.outermost
        stored = [t for t in cascade.tensors if t not in cascade.intermediates or t in found.stored]
        above = [*(Node(outermost, t) for t in stored), *(Node(memory, t) for t, memory in self.question.stays)]
        tree = Tree((*above, *found.tree.items), found.tree.branches, found.tree.operation)
        mapping = FusedMapping(cascade, tree)
        try:
            cost = evaluate_tree(mapping, self.counted_on, [tensor for tensor, _ in self.question.stays])
        except MappingError:
            if all(self._is_narrow(operation.name) for operation in cascade):
                raise
            return None
        return Corner(cost.energy_pj, cost.latency_cycles, mapping, cost)

    def _is_narrow(self, operation: str) -> bool:
        output, arch = self.question.cascade.operation(operation).output, self.question.arch
        return arch.partial_width_bits(output) == arch.width_bits(output)
