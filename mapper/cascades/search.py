"""The best fused mapping of a cascade, with its certificate.

Energy and latency of operations add up, so for every weighted sum of the two one search over trees gives the least
(`tree_search.py`). For energy and latency that is the answer. Of a product such as EDP the least lies at a corner of
the convex hull of all mappings' (energy, latency): along a straight line a product of powers of the two is least at an
end, so nothing above the hull is better than all of its corners. The corners are found one after the other: a sum whose
weights are those of the line between two known corners either has its least on that line, and then nothing lies below
it, or gives a corner between them. A pair is left aside when even the best of both could not be better than what is
known.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...arch import Architecture
from ...cost_models import ENERGY, LATENCY, Capped, Objective
from ...cost_models.cascades import FusedCost, evaluate_tree
from ...ir import Cascade, FusedMapping, InfeasibleError, MappingError, Node, TilewrightError, Tree, UndecidedError
from ..certificate import RELATIVE_TOLERANCE, Certificate
from ..means import Means, OutOfMeans
from ..question import DEFAULT_LIMITS, Limits
from ..space import Space
from ..tilings import Tiling
from .oracle import ExactBranches
from .parts import FoundPart
from .tables import TableBranches, supports
from .tree_search import Fuse, TreeSearch
from .upper_memories import UpperMemories
from .weights import ENERGY_ALONE, LATENCY_ALONE, Weights

MOST_ORDERS = 1_000
"""Orders of independent operations that are looked at."""

FAST = 1e6
"""How much more latency weighs than energy where the fastest mapping is looked for, and of equally fast ones the one of
less energy."""


@dataclass(frozen=True)
class CascadeQuestion:
    """One search over trees, with everything resolved.

    cascade, arch  what is to be mapped, and on which machine
    objective      to be minimized
    tiling, space  the mappings to choose from
    fuse           `all` of the space, `whole` intermediates on chip but no shared loops, or `none`
    limits         after which the best mapping so far is taken, with the bound proven by then
    """

    cascade: Cascade
    arch: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    fuse: Fuse = "all"
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class CascadeAnswer:
    """What a search over trees comes to.

    mapping      the best one that was found
    cost         of the mapping
    certificate  what is proven of it
    """

    mapping: FusedMapping
    cost: FusedCost
    certificate: Certificate


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

    Raises InfeasibleError when nothing fits, UndecidedError when that is not known in time.
    """

    question: CascadeQuestion
    means: Means
    branches: int = 0
    interrupted: bool = False
    out_of_means: bool = False
    pruned: Counter[str] = field(default_factory=Counter)
    _corners: list[_Corner] = field(default_factory=list)
    _bounds: list[tuple[Weights, float]] = field(default_factory=list)

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
        return CascadeAnswer(best.mapping, best.cost, self._certificate(best))

    def front(self) -> list[_Corner]:
        """The corners that are found, from the least energy to the least latency."""
        return _front(self._corners)

    def least_of(self, weights: Weights) -> float:
        """What no tree weighs less than, without a search over trees."""
        try:
            return self._tree_search(weights).bound_of_whole()
        except OutOfMeans:
            return 0.0

    def _value(self, corner: _Corner) -> float:
        return self.question.objective.value(corner.energy, corner.latency)

    # ---- which weighted sums are searched ------------------------------------------------------------------

    def _explore(self) -> None:
        for objective, alone in ((ENERGY, ENERGY_ALONE), (LATENCY, LATENCY_ALONE)):
            if self.question.objective == objective:
                self._solve(alone)
                return
        least = self._solve(ENERGY_ALONE)
        if least is None:
            return
        fast = Weights(1.0, FAST * least.energy / max(least.latency, 1.0))
        self._bounds.append((LATENCY_ALONE, self.least_of(LATENCY_ALONE)))
        fastest = self._solve(fast)
        if fastest is not None:
            self._between(least, fastest)

    def _between(self, left: _Corner, right: _Corner) -> None:
        """All corners between two of them that may matter."""
        if right.energy <= left.energy * (1 + RELATIVE_TOLERANCE) or right.latency >= left.latency:
            return
        best = min(map(self._value, self._corners))
        if self.question.objective.value(left.energy, right.latency) >= best * (1 - RELATIVE_TOLERANCE):
            return
        weights = Weights(1.0, (right.energy - left.energy) / (left.latency - right.latency))
        found = self._solve(weights)
        on_line = weights.of(left.energy, left.latency) * (1 - RELATIVE_TOLERANCE)
        if found is not None and weights.of(found.energy, found.latency) < on_line:
            self._between(left, found)
            self._between(found, right)

    def _solve(self, weights: Weights) -> _Corner | None:
        """The least of one weighted sum."""
        if not self._corners and self.question.fuse != "none":
            apart = self._least(weights, math.inf, fuse="none")[1]
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

    def _least(
        self, weights: Weights, cutoff: float, wide_sums: bool = False, fuse: Fuse | None = None
    ) -> tuple[float, FoundPart | None]:
        """A bound on a weighted sum, and the best tree, if one is better than the cutoff."""
        search = self._tree_search(weights, wide_sums, fuse)
        best: FoundPart | None = None
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
        return bound, best or search.incumbent

    def _tree_search(self, weights: Weights, wide_sums: bool = False, fuse: Fuse | None = None) -> TreeSearch:
        question = self.question
        return TreeSearch(
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

    def _certificate(self, best: _Corner) -> Certificate:
        value = self._value(best)
        bound = min(value, self._bound())
        question = self.question
        return Certificate(
            objective=question.objective.name,
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

    def _bound(self) -> float:
        """The objective of no mapping is lower: the least over what all weighted sums leave."""
        limits = self.question.objective
        most = limits.max_latency_cycles if isinstance(limits, Capped) else math.inf
        highest = limits.max_energy_pj if isinstance(limits, Capped) else math.inf
        base = limits.base if isinstance(limits, Capped) else limits
        points = list(_hull(self._bounds, most, highest))
        return min((base.value(energy, latency) for energy, latency in points), default=0.0)

    def _nothing_found(self) -> TilewrightError:
        name = self.question.cascade.name
        if self.out_of_means:
            return UndecidedError(
                "no mapping was found, and none was ruled out, before time or memory ran out",
                where=name,
                hint="raise the time limit or the memory limit",
            )
        return InfeasibleError(
            f"no mapping of its operations fits on {self.question.arch.name}",
            where=name,
            hint="search the operations one by one: the error says which memory is too small for which",
        )


def search_cascade(question: CascadeQuestion) -> CascadeAnswer:
    """The proven best fused mapping; where time or memory run out, the best found and its gap.

    Raises InfeasibleError when nothing fits, UndecidedError when time or memory run out before anything is found, and
    TilewrightError for what cannot be searched.
    """
    return _search(question).run()


def search_cascade_front(question: CascadeQuestion) -> list[CascadeAnswer]:
    """Corners of the front of energy and latency, from the least energy to the least latency."""
    search = _search(question)
    answer = search.run()
    return [CascadeAnswer(c.mapping, c.cost, answer.certificate) for c in search.front()]


def bound_cascade(question: CascadeQuestion) -> float:
    """What no tree of the cascade has less of, seen without a search over trees; 0 where there are no means to see it.

    Raises TilewrightError for what cannot be searched, and for objectives other than energy and latency.
    """
    weights = {ENERGY: ENERGY_ALONE, LATENCY: LATENCY_ALONE}.get(question.objective)
    if weights is None:
        raise TilewrightError(f"objective {question.objective.name} has no bound that adds up over operations")
    return _search(question).least_of(weights)


def _search(question: CascadeQuestion) -> CascadeSearch:
    return CascadeSearch(question, Means.from_now(question.limits.time_s, question.limits.memory_bytes))


def check_searchable(question: CascadeQuestion) -> None:
    """TilewrightError for what the search over trees does not know."""
    arch = question.arch
    base = question.objective.base if isinstance(question.objective, Capped) else question.objective
    if base.name not in ("energy", "latency", "edp", "ed2p"):
        raise TilewrightError(
            f"objective {question.objective.name} is not known for cascades",
            hint="use energy, latency, edp or ed2p, with limits if need be",
        )
    if arch.latency == "with_fill":
        hint = "use 'latency: steady'"
        raise TilewrightError("cascades are not counted with 'latency: with_fill' yet", where=arch.name, hint=hint)
    if arch.overlap == "across_operations" and question.objective != ENERGY:
        raise TilewrightError(
            "with 'overlap: across_operations' only energy is searched: latencies of operations do not add up there",
            where=arch.name,
            hint="search for energy, or leave 'overlap' out",
        )


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


def _hull(
    bounds: list[tuple[Weights, float]], most_latency: float, most_energy: float
) -> Iterator[tuple[float, float]]:
    """The corners of what lies at or above all bounds on weighted sums, within limits.

    Of two bounds, the point on both; it counts if it keeps all others."""
    lines = [(w.energy, w.latency, value) for w, value in bounds]
    lines += [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    walls = [(1.0, 0.0, most_energy)] if most_energy < math.inf else []
    walls += [(0.0, 1.0, most_latency)] if most_latency < math.inf else []
    for one, other in itertools.combinations([*lines, *walls], 2):
        determinant = one[0] * other[1] - other[0] * one[1]
        if not determinant:
            continue
        energy = (one[2] * other[1] - other[2] * one[1]) / determinant
        latency = (one[0] * other[2] - other[0] * one[2]) / determinant
        keeps = all(a * energy + b * latency >= value * (1 - 1e-12) for a, b, value in lines)
        inside = energy <= most_energy * (1 + 1e-9) and latency <= most_latency * (1 + 1e-9)
        if keeps and inside:
            yield max(energy, 0.0), max(latency, 0.0)
