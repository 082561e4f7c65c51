"""The best fused mapping of a cascade, with its certificate.

Energy and latency of operations add up, so for every weighted sum of the two one search over trees gives the least
(`tree_search.py`). For energy and latency that is the answer. Of a product such as EDP the least lies at a corner of
the convex hull of all mappings' (energy, latency): along a straight line a product of powers of the two is least at an
end, so nothing above the hull is better than all of its corners. The corners are found one after the other: a sum whose
weights are those of the line between two known corners either has its least on that line, and then nothing lies below
it, or gives a corner between them. A pair is left aside when even the best of both could not be better than what is
known.

Within a limit, or by a formula, a mapping above the hull may be best, and a front has all of them. What matters lies in
the triangle between two neighbouring corners and the point with the energy of the one and the latency of the other; so
it weighs less than that point, and a search for everything that does (`front_search.py`) finds it. As mappings are
found, less matters, and the weight falls.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from ...cost_models import LATENCY, Capped, Objective
from ...cost_models.cascades import FusedCost, evaluate_tree
from ...cost_models.objective import LIMIT_TOLERANCE
from ...ir import Cascade, FusedMapping, InfeasibleError, MappingError, Node, TilewrightError, Tree, UndecidedError
from ..certificate import RELATIVE_TOLERANCE, Certificate
from ..exact.unmet_limits import unmet_limits
from ..means import Means, OutOfMeans
from .front_search import FrontSearch
from .oracle import ExactBranches
from .parts import FoundPart
from .question import CascadeAnswer, CascadeQuestion, check_searchable
from .regions import Box, heaviest, least_value
from .tables import TableBranches, supports
from .tree_search import Fuse, TreeSearch
from .upper_memories import UpperMemories
from .weights import ENERGY_ALONE, LATENCY_ALONE, Weights, weights_of

Kind = TypeVar("Kind", bound=TreeSearch)

MOST_ORDERS = 1_000
"""Orders of independent operations that are looked at."""

FIRST_SHARE, FIRST_SECONDS = 0.25, 3.0
"""Of the time that is left, and at most, for a first tree."""

FAST = 1e6
"""How much more latency weighs than energy where the fastest mapping is looked for, and of equally fast ones the one of
less energy."""


@dataclass(frozen=True)
class _Corner:
    """A mapping, and what it costs."""

    energy: float
    latency: float
    mapping: FusedMapping
    cost: FusedCost


@dataclass
class CascadeSearch:
    """One search over trees.

    whole_front  whether all that no other mapping beats in energy and latency is looked for; else what may be best for
                 the objective

    Raises InfeasibleError when nothing fits, UndecidedError when that is not known in time.
    """

    question: CascadeQuestion
    means: Means
    branches: int = 0
    interrupted: bool = False
    out_of_means: bool = False
    pruned: Counter[str] = field(default_factory=Counter)
    whole_front: bool = False
    _corners: list[_Corner] = field(default_factory=list)
    _bounds: list[tuple[Weights, float]] = field(default_factory=list)
    _lines: list[tuple[_Corner, _Corner, Weights]] = field(default_factory=list)
    _is_complete: bool = False

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        check_searchable(self.question)
        self.memories = UpperMemories(self.question.arch)
        self.solver = self._solver()

    def _solver(self) -> TableBranches | ExactBranches:
        """Tables where they are exact, else a search for every question."""
        question = self.question
        if supports(question.cascade, question.arch, question.space, question.tiling) is None:
            return TableBranches(question.cascade, question.arch)
        return ExactBranches(question.cascade, question.arch, question.space, question.tiling, self.means)

    def run(self) -> CascadeAnswer:
        """The best mapping, its cost, and the proof."""
        try:
            self._explore()
        except OutOfMeans:
            self.out_of_means = True
        except KeyboardInterrupt:
            self.interrupted = True
        if not self._corners:
            if self.interrupted:
                raise KeyboardInterrupt
            raise self._nothing_found()
        best = min(self._corners, key=self._value)
        objective = self.question.objective
        if self._value(best) == math.inf and isinstance(objective, Capped):
            raise self._nothing_within(objective)
        return CascadeAnswer(best.mapping, best.cost, self._certificate(best, objective))

    def front(self) -> list[_Corner]:
        """Of the mappings that are found those that no other one beats, from the least energy to the least latency."""
        return _front(self._corners)

    def least_of(self, weights: Weights) -> float:
        """What no tree weighs less than, without a search over trees."""
        try:
            return self._tree_search(weights).bound_of_whole()
        except OutOfMeans:
            return 0.0

    def front_answers(self) -> list[CascadeAnswer]:
        """These, each with the proof that nothing of as little energy is faster, or how much faster it could be."""
        return [
            CascadeAnswer(c.mapping, c.cost, self._certificate(c, LATENCY.capped(energy=c.energy)))
            for c in self.front()
        ]

    def _value(self, corner: _Corner) -> float:
        return self.question.objective.value(corner.energy, corner.latency)

    # ---- which weighted sums are searched ------------------------------------------------------------------

    def _explore(self) -> None:
        if not self.whole_front:
            alone = weights_of(self.question.objective)
            if alone is not None:
                self._solve(alone)
                return
        least = self._solve(ENERGY_ALONE)
        if least is None or not self._matters(least.energy, 0.0):
            return
        fast = Weights(1.0, FAST * least.energy / max(least.latency, 1.0))
        self._bounds.append((LATENCY_ALONE, self.least_of(LATENCY_ALONE)))
        fastest = self._solve(fast)
        if fastest is not None:
            self._between(least, fastest)
        if fastest is not None and not self._is_on_hull:
            self._above_hull(fastest)

    @property
    def _is_on_hull(self) -> bool:
        """Whether nothing above the hull is better than all corners."""
        return not self.whole_front and self.question.objective.name in ("edp", "ed2p")

    def _between(self, left: _Corner, right: _Corner) -> None:
        """All corners between two of them that may matter."""
        costs_more = right.energy > left.energy * (1 + RELATIVE_TOLERANCE)
        is_faster = right.latency < left.latency * (1 - RELATIVE_TOLERANCE)
        if not costs_more or not is_faster or not self._matters(left.energy, right.latency):
            return
        weights = Weights(1.0, (right.energy - left.energy) / (left.latency - right.latency))
        found = self._solve(weights)
        on_line = weights.of(left.energy, left.latency) * (1 - RELATIVE_TOLERANCE)
        if found is not None and weights.of(found.energy, found.latency) < on_line:
            self._between(left, found)
            self._between(found, right)
        else:
            self._lines.append((left, right, weights))

    def _matters(self, energy: float, latency: float) -> bool:
        """Whether a mapping that costs so much, or more, could be wanted."""
        if self.whole_front:
            return True
        best = min(map(self._value, self._corners))
        value = self.question.objective.value(energy, latency)
        return value < (best * (1 - RELATIVE_TOLERANCE) if best < math.inf else best)

    # ---- what lies between the corners ---------------------------------------------------------------------

    def _above_hull(self, fastest: _Corner) -> None:
        """All mappings between corners that may matter, and those that are a little faster than the fastest corner."""
        least_latency = next(bound for weights, bound in self._bounds if weights is LATENCY_ALONE)
        if fastest.latency > least_latency * (1 + RELATIVE_TOLERANCE):
            quickest = self._solve(LATENCY_ALONE)
            assert quickest is not None
            self._between(fastest, quickest)
        is_complete = True
        for left, right, weights in self._lines:
            if not self._all_between(left, right, weights, wide_sums=False):
                is_complete = False
                self._all_between(left, right, weights, wide_sums=True)
        self._is_complete = is_complete

    def _all_between(self, left: _Corner, right: _Corner, weights: Weights, wide_sums: bool) -> bool:
        """All mappings between two corners that may matter; whether they are as the search took them to be."""
        as_taken = True

        def take(found: FoundPart) -> None:
            nonlocal as_taken
            if self._matters(found.energy_pj, found.latency_cycles) and not self._is_beaten(found):
                as_taken = self._take(found) and as_taken

        for names in self._orders():
            search = self._tree_search(weights, wide_sums, kind=FrontSearch)
            try:
                search.explore(names, partial(self._most, left, right, weights), take)
            finally:
                self.branches += search.branches
                self.pruned.update(search.pruned)
        return as_taken

    def _most(self, left: _Corner, right: _Corner, weights: Weights) -> float:
        """What all that matters between two corners weighs less than."""
        line = weights.of(left.energy, left.latency) * (1 - RELATIVE_TOLERANCE)
        limits = (math.inf, math.inf) if self.whole_front else _limits(self.question.objective)
        points = [c for c in self.front() if left.energy <= c.energy <= right.energy]
        boxes = (Box(a.energy, b.energy, b.latency, a.latency) for a, b in itertools.pairwise(points))
        within = (box.within(*limits) for box in boxes)
        return max((heaviest(box, weights, line, self._matters) for box in within), default=-math.inf)

    def _take(self, found: FoundPart) -> bool:
        """Know one more mapping; whether it is as the search took it to be."""
        corner = self._evaluated(found)
        if corner is not None:
            self._corners.append(corner)
        return corner is not None

    def _is_beaten(self, found: FoundPart) -> bool:
        """Whether a mapping that is known costs no more energy and no more latency."""
        more = 1 + RELATIVE_TOLERANCE
        return any(
            c.energy <= found.energy_pj * more and c.latency <= found.latency_cycles * more for c in self._corners
        )

    def _solve(self, weights: Weights) -> _Corner | None:
        """The least of one weighted sum."""
        if not self._corners and self.question.fuse != "none":
            apart = self._apart(weights)
            corner = None if apart is None else self._evaluated(apart)
            if corner is not None:
                self._corners.append(corner)
        known = min((weights.of(c.energy, c.latency) for c in self._corners), default=math.inf)
        bound, found = self._least(weights, known)
        self._bounds.append((weights, min(bound, known)))
        if found is not None:
            corner = self._evaluated(found)
            if corner is None:
                _, found = self._least(weights, math.inf, wide_sums=True)
                corner = None if found is None else self._evaluated(found)
            if corner is not None:
                self._corners.append(corner)
        if self.out_of_means:
            raise OutOfMeans
        return min(self._corners, key=lambda c: weights.of(c.energy, c.latency), default=None)

    def _apart(self, weights: Weights) -> FoundPart | None:
        """A tree with nothing fused, to fall back on: the best one where that takes no time."""
        if isinstance(self.solver, ExactBranches):
            return self._first_tree(self._tree_search(weights, fuse="none"), math.inf)
        return self._least(weights, math.inf, fuse="none")[1]

    def _least(
        self, weights: Weights, cutoff: float, wide_sums: bool = False, fuse: Fuse | None = None
    ) -> tuple[float, FoundPart | None]:
        """A bound on a weighted sum, and the best tree, if one is better than the cutoff."""
        search: TreeSearch = self._tree_search(weights, wide_sums, fuse)
        best = self._first_tree(search, cutoff)
        if best is not None:
            cutoff = weights.of(best.energy_pj, best.latency_cycles)
        try:
            for names in self._orders():
                outcome = search.whole(names, cutoff)
                if outcome.found is not None:
                    cutoff, best = outcome.bound, outcome.found
        except OutOfMeans:
            self.out_of_means = True
        self.branches += search.branches
        self.pruned.update(search.pruned)
        bound = cutoff if not self.out_of_means else min(cutoff, search.open_bound)
        return bound, search.incumbent or best

    def _first_tree(self, search: TreeSearch, cutoff: float) -> FoundPart | None:
        """A good tree that is found soon, if there is one below the cutoff: the same search with the first mappings
        that come to hand for its branches. It leaves less to look at, and is there when time runs out.
        What it learns of parts and branches stays its own: these are no proven answers."""
        if not isinstance(self.solver, ExactBranches):
            return None
        means = self.means.share(FIRST_SHARE).at_most(FIRST_SECONDS)
        first = replace(search, solver=replace(self.solver, means=means, proves=False), means=means)
        best: FoundPart | None = None
        try:
            for names in self._orders():
                best = first.whole(names, cutoff).found or best
                cutoff = cutoff if best is None else first.weights.of(best.energy_pj, best.latency_cycles)
        except OutOfMeans:
            best = first.incumbent or best
        return best if best is not None and self._evaluated(best) is not None else None

    def _tree_search(
        self,
        weights: Weights,
        wide_sums: bool = False,
        fuse: Fuse | None = None,
        kind: type[Kind] = TreeSearch,  # type: ignore[assignment]
    ) -> Kind:
        question = self.question
        return kind(
            question.cascade,
            self.memories,
            question.space,
            question.tiling,
            weights,
            self.solver,
            self.means,
            fuse or question.fuse,
            wide_sums,
        )

    def _orders(self) -> Iterator[tuple[str, ...]]:
        """All orders in which the operations can be done, that of the cascade first."""
        found = itertools.islice(orders(self.question.cascade), MOST_ORDERS + 1)
        for number, names in enumerate(found):
            if number == MOST_ORDERS:
                raise OutOfMeans
            yield names

    def _evaluated(self, found: FoundPart) -> _Corner | None:
        """What a tree costs by the cost model; None where sums are wider than the bound took them for."""
        cascade = self.question.cascade
        outermost = self.memories.outermost
        stored = [t for t in cascade.tensors if t not in cascade.intermediates or t in found.stored]
        tree = Tree(
            (*(Node(outermost, t) for t in stored), *found.tree.items), found.tree.branches, found.tree.operation
        )
        mapping = FusedMapping(cascade, tree)
        try:
            cost = evaluate_tree(mapping, self.question.arch)
        except MappingError:
            if all(self._is_narrow(operation.name) for operation in cascade):
                raise
            return None
        return _Corner(cost.energy_pj, cost.latency_cycles, mapping, cost)

    def _is_narrow(self, operation: str) -> bool:
        output, arch = self.question.cascade.operation(operation).output, self.question.arch
        return arch.partial_width_bits(output) == arch.width_bits(output)

    # ---- what is proven ------------------------------------------------------------------------------------

    def _certificate(self, best: _Corner, objective: Objective) -> Certificate:
        value = objective.value(best.energy, best.latency)
        bound = min(value, self._bound(objective, value))
        question = self.question
        return Certificate(
            objective=objective.name,
            tiling=question.tiling,
            value=value,
            lower_bound=value if bound >= value * (1 - RELATIVE_TOLERANCE) else bound,
            space_size=None,
            placements=0,
            evaluated=self.solver.searches,
            pruned=dict(sorted(self.pruned.items())),
            seconds=time.perf_counter() - self._started,
            space=question.space,
            interrupted=self.interrupted,
        )

    def _bound(self, objective: Objective, value: float) -> float:
        """The objective of no mapping is lower.

        value  of the best one that is found
        """
        if self._is_complete:
            return value
        base = objective.base if isinstance(objective, Capped) else objective
        most_energy, most_latency = _limits(objective)
        is_plain = base.name in ("energy", "latency", "edp", "ed2p")
        return least_value(self._bounds, base.value, most_energy, most_latency, *([] if is_plain else [value]))

    def _nothing_within(self, objective: Capped) -> TilewrightError:
        """Why no mapping keeps the limits; or that the means have run out before this was known."""
        if self._bound(objective, math.inf) == math.inf:
            return unmet_limits(
                objective, lambda one: min(self._corners, key=lambda c: one.value(c.energy, c.latency)).cost
            )
        return self._undecided()

    def _least_known(self, objective: Objective) -> FusedCost:
        return min(self._corners, key=lambda corner: objective.value(corner.energy, corner.latency)).cost

    def _nothing_found(self) -> TilewrightError:
        name = self.question.cascade.name
        if self.out_of_means:
            return self._undecided()
        return InfeasibleError(
            f"no mapping of its operations fits on {self.question.arch.name}",
            where=name,
            hint="search the operations one by one: the error says which memory is too small for which",
        )

    def _undecided(self) -> UndecidedError:
        return UndecidedError(
            "no mapping was found, and none was ruled out, before time or memory ran out",
            where=self.question.cascade.name,
            hint="raise the time limit or the memory limit",
        )


def search_cascade(question: CascadeQuestion) -> CascadeAnswer:
    """The proven best fused mapping; where time or memory run out, the best found and its gap.

    Raises InfeasibleError when nothing fits, UndecidedError when time or memory run out before anything is found, and
    TilewrightError for what cannot be searched.
    """
    return _search(question).run()


def search_cascade_front(question: CascadeQuestion) -> list[CascadeAnswer]:
    """The front of energy and latency, from the least energy to the least latency; what it is least of is not looked
    at."""
    search = _search(question, whole_front=True)
    search.run()
    return search.front_answers()


def bound_cascade(question: CascadeQuestion) -> float:
    """What no tree of the cascade has less of, seen without a search over trees; 0 where there are no means to see it.

    Raises TilewrightError for what cannot be searched, and for objectives that do not add up over operations.
    """
    weights = weights_of(question.objective)
    if weights is None:
        raise TilewrightError(f"objective {question.objective.name} has no bound that adds up over operations")
    return _search(question).least_of(weights)


def _search(question: CascadeQuestion, whole_front: bool = False) -> CascadeSearch:
    means = Means.from_now(question.limits.time_s, question.limits.memory_bytes)
    return CascadeSearch(question, means, whole_front=whole_front)


def orders(cascade: Cascade) -> Iterator[tuple[str, ...]]:
    """All orders in which each operation is done after those that write what it reads; that of the cascade first."""
    needs = {
        operation.name: {
            cascade.producers[t.name].name for t in operation.problem.operands if t.name in cascade.producers
        }
        for operation in cascade
    }

    def further(done: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if len(done) == len(needs):
            yield done
        for name, needed in needs.items():
            if name not in done and needed <= set(done):
                yield from further((*done, name))

    return further(())


def _front(corners: list[_Corner]) -> list[_Corner]:
    """Of some mappings those that no other one beats, from the least energy on."""
    found: list[_Corner] = []
    for corner in sorted(corners, key=lambda c: (c.energy, c.latency)):
        if not found or corner.latency < found[-1].latency * (1 - RELATIVE_TOLERANCE):
            found.append(corner)
    return found


def _limits(objective: Objective) -> tuple[float, float]:
    """The most energy and latency that are asked for, with a little more for the rounding of floats."""
    if not isinstance(objective, Capped):
        return math.inf, math.inf
    slack = 1 + LIMIT_TOLERANCE
    return objective.max_energy_pj * slack, objective.max_latency_cycles * slack
