"""Branches answered by the exact search of one operation: exact in every space, with a search for each question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from ....arch import Architecture
from ....cost_models import ENERGY, LATENCY, Objective
from ....cost_models.cascades import taken_bits
from ....cost_models.layouts import has_lines
from ....ir import Cascade, Problem
from ...constraints import Constraints
from ...effort import TREE_EFFORT
from ...exact.search import ExactSearch
from ...exact.tiles.instances import array_vectors
from ...exact.tiles.visits import most_that_divide, short_visits
from ...kernel.remembered import remembered
from ...means import Means, OutOfMeans
from ...pareto.front import STEP, front_in_turn
from ...pareto.weights import (
    ENERGY_ALONE,
    LATENCY_ALONE,
    UNKNOWN,
    LeastOfEach,
    OpenRegion,
    Weights,
    objective_of,
    scale_of,
)
from ...space import Space
from ...tilings import Tiling
from ..terms.branch import BranchAnswer, BranchMapping, BranchQuestion, Room, Sizes
from ..terms.sums import finishing
from ..terms.upper_memories import UpperMemories, without_leakage
from .branch_search import BranchSearches, with_endless_ports
from .isomorphic import Isomorphism
from .shared_branches import KnownOperations, known_operations


@dataclass
class ExactBranches:
    """The branches of one cascade on one machine. Their answers are known to other cascades too, where searches share
    them (`shared_branches.py`).

    proves    whether each answer is the best mapping; else it is the best of the first few that a search comes to, and
              bounds are what they would be if that were the best
    proving   what says what mappings weigh at least, where this one does not prove it; None: it does so itself, as well
              as it can
    greedy    whether answers, where they are not proven, are mappings that need no search, as far as one fits
    searches  how many searches have been made
    unfinished  where means have run out in the last search of a branch: what no mapping weighs less than, in the
                objective of that search, and the best mapping until then; None, where none was found
    """

    cascade: Cascade
    arch: Architecture
    space: Space
    tiling: Tiling
    means: Means
    proves: bool = True
    proving: ExactBranches | None = None
    greedy: bool = False
    searches: int = 0
    unfinished: tuple[float, BranchMapping] | None = None

    def __post_init__(self) -> None:
        # Of the first few mappings that a search comes to, others are not to know.
        shared = known_operations(self.arch, self.space, self.tiling) if self.proves else KnownOperations(self.arch)
        self._operations, self._known, self._shared = shared.operations, shared.known, shared
        self._branches = BranchSearches(self.arch, self.space, self.tiling)
        self._lowest: dict[tuple[BranchQuestion, Weights], float] = {}
        self._slow: set[str] = set()  # operations whose uneven visits take long to count
        self._counting = TREE_EFFORT.share, TREE_EFFORT.patience

    @property
    def knows_all(self) -> bool:
        """Bounds follow from what has been searched."""
        return False

    @property
    def learned(self) -> int:
        """How often something has been learned that bounds may follow from."""
        return self._known.count + (0 if self.proving is None else self.proving.learned)

    def least(
        self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf, apart: LeastOfEach = UNKNOWN
    ) -> BranchAnswer:
        """The mapping of least weight, if it weighs less than the cutoff.

        Raises OutOfMeans when time or memory run out first."""
        own, question = question, self._relevant(question, weights)
        asked = self._shared.one_of_two(question)
        try:
            answer = self._least(asked, weights, cutoff, apart)
        except OutOfMeans:
            if self.unfinished is not None:
                bound, mapping = self.unfinished
                self.unfinished = bound, self._own(own, question, asked, mapping)
            raise
        return replace(answer, mapping=answer.mapping and self._own(own, question, asked, answer.mapping))

    def _own(
        self, own: BranchQuestion, question: BranchQuestion, asked: BranchQuestion, mapping: BranchMapping
    ) -> BranchMapping:
        """The mapping that answers a question, by one that was found for what was asked in place of the question to the
        first of equal operations."""
        mirror = None if asked == question else self._shared.mirror(question.operation)
        return self._isomorphism(own.operation).mapping(mapping if mirror is None else mirror.mapping(mapping))

    @remembered
    def _isomorphism(self, name: str) -> Isomorphism:
        """From an operation to the first of those that differ from it in names alone."""
        operation = self.cascade.operation(name)
        return Isomorphism.of(operation, self._shared.first(operation))

    def counted(self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf) -> BranchAnswer | None:
        """The mapping of least weight of uneven visits, if it weighs less than the cutoff: of perfect tiles, where
        words are all that is counted. None where a part of the time is too short, and then for all of the operation's.

        Raises OutOfMeans when time or memory run out."""
        has_zeros = self.cascade.operation(question.operation).problem.has_zeros
        if self.tiling != "perfect" or has_lines(self.arch) or has_zeros or question.operation in self._slow:
            return None
        try:
            share, seconds = self._counting
            with self.within(self.means.share(share).at_most(seconds)):
                return self.least(question, weights, cutoff)
        except OutOfMeans:
            self._slow.add(question.operation)
            self.unfinished = None
        self.means.check()
        return None

    def count_longer(self) -> bool:
        """Take longer from now on to count uneven visits; whether some have been left that took long, and are to take
        longer."""
        longer = 0.5, TREE_EFFORT.few * TREE_EFFORT.patience
        if self._counting == longer or not self._slow:
            return False
        self._counting = longer
        self._slow.clear()
        return True

    def _least(self, question: BranchQuestion, weights: Weights, cutoff: float, apart: LeastOfEach) -> BranchAnswer:
        """What `least` says. A tile is asked with endless room first: where nothing is light enough with that, no
        smaller tile is either, whatever room it has; and what fits need not be asked again."""
        found = self._known_answer(question, weights, cutoff, apart)
        if found is None and self.proves and self._is_tile(question) and question.room != self._endless_room:
            self._learned(replace(question, room=self._endless_room), weights, cutoff)
            found = self._known_answer(question, weights, cutoff, apart)
        return self._learned(question, weights, cutoff) if found is None else found

    def _known_answer(
        self, question: BranchQuestion, weights: Weights, cutoff: float, apart: LeastOfEach
    ) -> BranchAnswer | None:
        """What is known of a branch, as far as that is an answer."""
        found = self._known.answer(question, weights, cutoff, apart)
        if found is None and (bound := self._part_of_larger(question, weights)) >= cutoff:
            return BranchAnswer(bound)
        return found

    def _part_of_larger(self, question: BranchQuestion, weights: Weights) -> float:
        """Return the bound that follows from larger tiles that contain this tile, or its mirror image."""
        return max(self._known.part_of_larger(one, weights) for one in self._shared.both(question))

    def _learned(self, question: BranchQuestion, weights: Weights, cutoff: float) -> BranchAnswer:
        """The answer by a search, known from now on."""
        answer = self._best(question, weights, cutoff)
        self._known.learn(question, weights, answer)
        return answer if answer.bound < cutoff else BranchAnswer(answer.bound)

    def _is_tile(self, question: BranchQuestion) -> bool:
        """Whether it is asked about visits of a part of an operation, and not the whole."""
        return question.sizes != self._operations[question.operation].problem.dims

    @cached_property
    def _endless_room(self) -> Room:
        return UpperMemories(self.arch).endless_room

    def lower(
        self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf, apart: LeastOfEach = UNKNOWN
    ) -> float:
        """Return a lower bound on the weighted sum of a branch, at most the cutoff: from searches with other weights,
        or from a search that has a part of the time."""
        if self.proving is not None:
            if self.greedy:  # it is soon known what it weighs
                return min(cutoff, self.bound(question, weights, apart))
            with self.proving.within(self.means) as proving:
                return proving.lower(question, weights, cutoff, apart)
        question = self._with_any_sums(question, weights)
        question = self._shared.one_of_two(question)
        found = self._known.answer(question, weights, cutoff, apart)
        if found is not None:
            return min(found.bound, cutoff)
        if (question, weights) in self._lowest:
            return min(self._lowest[question, weights], cutoff)
        if self.means.expired:
            return 0.0
        if not self.proves:
            return self._least(question, weights, cutoff, UNKNOWN).bound
        means = self.means.share(TREE_EFFORT.share).at_most(TREE_EFFORT.moment)
        scale = scale_of(weights) / question.visits
        search = self._solved(self._search(question, objective_of(weights), cutoff / scale, means))
        best = scale * search.found[0].value if search.found else cutoff
        if self._has_ended(search):
            mapping = self._taken(question, search) if search.found else None
            self._known.learn(question, weights, BranchAnswer(best, mapping))
            return best
        bound = self._lowest[question, weights] = min(best, scale * search.open_bound)
        self._known.learn(question, weights, BranchAnswer(bound))
        if search.found:
            self._known.see(question, self._taken(question, search))
        return bound

    @contextmanager
    def within(self, means: Means) -> Iterator[ExactBranches]:
        """This, with other means for a while."""
        own, self.means = self.means, means
        try:
            yield self
        finally:
            self.means = own

    def know(self, question: BranchQuestion, weights: Weights, bound: float) -> None:
        """Note what every mapping weighs at least."""
        question = self._with_any_sums(question, weights)
        self._known.learn(self._shared.one_of_two(question), weights, BranchAnswer(bound))

    def lower_accesses(self, question: BranchQuestion, cutoff: float = math.inf) -> float:
        """pJ that the mapping takes at least if nothing leaks, or the cutoff if that is less."""
        if not self.arch.total_leakage_pj_per_cycle:
            return self.lower(question, ENERGY_ALONE, cutoff)
        before, self._tight.means = self._tight.searches, self.means
        found = self._tight.lower(question, ENERGY_ALONE, cutoff)
        self.searches += self._tight.searches - before
        return found

    @cached_property
    def _tight(self) -> ExactBranches:
        """Return the same bound on the machine without leakage."""
        arch = without_leakage(self.arch)
        return ExactBranches(self.cascade, arch, self.space, self.tiling, self.means, self.proves)

    def bound(self, question: BranchQuestion, weights: Weights, apart: LeastOfEach = UNKNOWN) -> float:
        """Return the lower bound that follows from larger tiles with as much room, and from other weights, without a
        search."""
        any_sums = self._with_any_sums(question, weights)
        found = self._part_of_larger(any_sums, weights)
        if weights.energy and weights.latency:
            found = max(found, self._known.between(self._shared.one_of_two(any_sums), weights, apart))
        return found if self.proving is None else max(found, self.proving.bound(question, weights, apart))

    def at_peak(self, operation: str, sizes: Sizes) -> float:
        """Cycles of a tile if all instances of every array computed at all times that its dimensions can use."""
        own = self.cascade.operation(operation)
        if own.problem.has_zeros:  # which may be skipped
            return 0.0
        problem, units = Problem(operation, sizes, own.problem.tensors), self.arch.mac.of(own.kind).per_cycle
        for fanout in self.arch.fanouts:
            in_use = array_vectors(problem, fanout, self.tiling, [True] * len(sizes)).prod(axis=1)
            units *= int(in_use.max(initial=1))
        return problem.macs / units + self.arch.filling_cycles

    def fastest(self, operation: str, sizes: Sizes) -> float:
        """Cycles that a tile takes at least if no port were bounded, and no memory outside the arrays: what these must
        keep may stand above splits. By a search that ends when a part of the time is over."""
        own = self.cascade.operation(operation)
        homes = {tensor.name: self.arch.memories[0].name for tensor in own.problem.tensors}
        question = BranchQuestion(operation, sizes, tuple(sorted(homes.items())), self._endless_room)
        unbounded = BranchSearches(with_endless_ports(self.arch), self.space, self.tiling)
        means = self.means.share(TREE_EFFORT.share).at_most(TREE_EFFORT.moment)
        search = self._solved(unbounded.search(own, question, LATENCY, math.inf, means))
        best = search.found[0].value if search.found else math.inf
        bound = best if self._has_ended(search) else min(best, search.open_bound)
        return max(self.at_peak(operation, sizes), bound)

    def front(self, question: BranchQuestion, region: OpenRegion) -> list[BranchMapping]:
        """Yield the Pareto front of a branch's mappings within a region: each has the least energy of all that are
        faster than the mapping before.

        Raises OutOfMeans when time or memory run out first."""
        first = self._isomorphism(question.operation).question(question)
        asked = self._shared.one_of_two(first)
        return [self._own(question, first, asked, one) for one in self._front(question, asked, region)]

    def _front(self, own: BranchQuestion, question: BranchQuestion, region: OpenRegion) -> list[BranchMapping]:
        """What `front` says of a question, as answers to the one that is asked in its place."""
        least = [self.least(own, alone).mapping for alone in (ENERGY_ALONE, LATENCY_ALONE)]
        found: list[BranchMapping] = []
        if least[0] is None or least[1] is None:
            return found
        weights, limits = region.weights, region.limits
        most_energy = (limits.weight - weights.latency * least[1].latency_cycles) / weights.energy
        most_latency = (limits.weight - weights.energy * least[0].energy_pj) / weights.latency
        most_energy, most_latency = min(most_energy, limits.energy), min(most_latency, limits.latency)
        if most_latency < least[1].latency_cycles or most_energy < least[0].energy_pj:
            return found

        def best(objective: Objective) -> BranchMapping | None:
            return self._mapping(
                question, objective, visits * most_energy if objective.unit == ENERGY.unit else math.inf
            )

        visits = question.visits
        for one in front_in_turn(
            best, lambda one: (visits * one.energy_pj, visits * one.latency_cycles), visits * most_latency
        ):
            found += [one] if region.of(one.energy_pj, one.latency_cycles) < 1 else []
            if one.latency_cycles * (1 - STEP) < least[1].latency_cycles:
                break
        return found

    def _relevant(self, question: BranchQuestion, weights: Weights) -> BranchQuestion:
        """The question without what its answer does not depend on, of the first of equal operations."""
        return self._that_matters(question, weights.energy_only)

    @remembered
    def _that_matters(self, question: BranchQuestion, energy_only: bool) -> BranchQuestion:
        question = self._isomorphism(question.operation).question(question)
        if self.tiling == "perfect":
            question = replace(question, cut=frozenset(dim for dim, _ in question.sizes))
        return question.idle() if energy_only and not self.arch.total_leakage_pj_per_cycle else question

    def _with_any_sums(self, question: BranchQuestion, weights: Weights) -> BranchQuestion:
        """The same, with sums that may be unfinished where they come home: no less is asked for then."""
        relevant = self._relevant(question, weights)
        return replace(relevant, finished=False) if relevant.finished else relevant

    def _best(self, question: BranchQuestion, weights: Weights, cutoff: float) -> BranchAnswer:
        """The answer by a search: only for what is better than the best mapping that is known for other weights."""
        known = self._known.mapping(question, weights)
        if known is not None and known.bound < cutoff:
            cutoff = known.bound
        mapping = self._mapping(question, objective_of(weights), cutoff / scale_of(weights) * question.visits)
        if mapping is not None:
            return BranchAnswer(weights.of(mapping.energy_pj, mapping.latency_cycles), mapping)
        return known if known is not None and known.bound <= cutoff else BranchAnswer(cutoff)

    def _mapping(self, question: BranchQuestion, objective: Objective, ceiling: float) -> BranchMapping | None:
        """The best mapping for an objective of all visits that are not alike; None where all are at the ceiling or
        above, or nothing fits."""
        best: BranchMapping | None = None
        self.unfinished, every = None, tuple(self._constraints(question))
        for constraints in every:
            search = self._solved(self._search(question, objective, ceiling, self.means, constraints=constraints))
            if not search.found:
                if not self._has_ended(search):
                    raise OutOfMeans
                continue
            if self.proves and not search.is_finished and search.open_bound < search.found[0].value:
                # Of several sets of constraints, those that come after have not been looked at.
                bound = search.open_bound if len(every) == 1 else 0.0
                self.unfinished = bound, self._taken(question, search)
                raise OutOfMeans
            best, ceiling = self._taken(question, search), search.found[0].value
        return best

    def _has_ended(self, search: ExactSearch) -> bool:
        """Whether neither time nor memory ended a search; where nothing is proven, it may let go of what it likes."""
        return search.is_finished if self.proves else not search.out_of_time

    def _constraints(self, question: BranchQuestion) -> Iterable[Constraints]:
        """Sets of constraints, of which a mapping satisfies one."""
        if not question.finished:
            spatial = {slot: (least, most) for slot, least, most in question.beside}
            keeps = {(memory, tensor): kept for memory, tensor, kept in question.keeps}
            return (Constraints(spatial=spatial, keeps=keeps),)
        operation = self._operations[question.operation]
        home = dict(question.homes)[operation.output.name]
        return finishing(operation, self.arch, home, dict(question.sizes))

    def _taken(self, question: BranchQuestion, search: ExactSearch) -> BranchMapping:
        """The best mapping that a search has found, as one of a branch."""
        best, share = search.found[0], 1 / question.visits
        outside = {memory for memory, _, _ in question.room}
        taken = taken_bits(best.mapping, search.machine)
        used = tuple((each.memory, each.role, each.bits) for each in taken if each.memory in outside)
        items = best.mapping.nest.items[search.surroundings.start(best.mapping) :]
        return BranchMapping(share * best.cost.energy_pj, share * best.cost.latency_cycles, used, items)

    def _solved(self, search: ExactSearch) -> ExactSearch:
        """A search that has come to its end."""
        self.searches += 1
        if self.greedy and search.look():
            return search
        search.solve(self.proves)
        if search.interrupted:  # the branch has a mapping, and the trees around it are not to be searched on
            raise KeyboardInterrupt
        return search

    def _search(
        self,
        question: BranchQuestion,
        objective: Objective,
        ceiling: float,
        means: Means,
        constraints: Constraints | None = None,
    ) -> ExactSearch:
        """The search that answers a question."""
        operation, short_pj = self._operations[question.operation], self._least_of_short(question)
        return self._branches.search(operation, question, objective, ceiling, means, constraints, short_pj)

    def _least_of_short(self, question: BranchQuestion) -> float:
        """pJ that visits take at least, together, which make so little that loops may come down to one trip: as if each
        had a mapping of its own, of as many positions as any mapping of the tile divides, when it is cut to these."""
        if len(question.made) != 1:
            return 0.0
        ((dim, sizes),), found = question.made, 0.0
        tile = dict(question.sizes)[dim]
        for positions, times in short_visits(sizes, tile)[1]:
            made = most_that_divide(positions, tile)
            one = tuple((d, made if d == dim else size) for d, size in question.sizes)
            asked = self._shared.one_of_two(replace(question, sizes=one, made=()).idle())
            found += times * self._least(asked, ENERGY_ALONE, math.inf, UNKNOWN).bound
        return found
