"""Latency and its products where operations overlap (`overlap: across_operations`): the slowest resource of all.

There latencies of operations do not add up: a run takes as long as the resource that all of them together keep busy
longest. But no resource takes longer than the slowest one, so no *mean* of them does, however they are weighed:

    latency >= sum over resources of price x cycles that all operations need of it,     where the prices add up to 1

and that adds up over operations, and over words: it is energy on a machine on which a bit costs its price besides
(`prices.py`). So a search for energy on such a machine gives a bound for the weighted sum that is asked for, and a
tree, that the cost model counts as it is. Prices are those under which the lightest of the known trees weighs most:
more than that no bound can gain (Kelley's cutting planes). They are changed until the bound comes up to the best tree,
or gains nothing more. What is left is a gap: half of one tree and half of another is no tree.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from ....cost_models import ENERGY, evaluate
from ....ir import UndecidedError
from ...answer import Answer
from ...kernel.tolerance import reaches
from ...means import OutOfMeans
from ...pareto.supported import ALIKE
from ...pareto.weights import ENERGY_ALONE, Weights
from ..branches.oracle import ExactBranches
from ..objectives.search import CascadeSearch
from ..tree_searches import Corner
from .prices import COMPUTING, PricedTree, Prices, Resources, highest_prices


@dataclass
class OverlappedSearch(CascadeSearch):
    """One search on a machine on which operations overlap."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.resources = Resources(self.question.arch)

    @property
    def _is_on_hull(self) -> bool:
        """Fronts of operations do not add up either: nothing is looked for above the hull."""
        return True

    @property
    def _needs_corners_alone(self) -> bool:
        """Bounds do not come up to the corners always: ends of the front are looked for."""
        return False

    @property
    def has_ragged_loops(self) -> bool:
        """Bounds are of all trees: there are none of some alone."""
        return False

    def _least_known(self, weights: Weights, most: float = math.inf) -> float:  # noqa: ARG002
        """Of the trees that are known, as if operations took turns: so the first trees are looked for."""
        return min((self._in_turns(weights, corner) for corner in self.corners), default=float("inf"))

    def _in_turns(self, weights: Weights, corner: Corner) -> float:
        latency = sum(cost.latency_cycles for cost in corner.cost.operations.values())
        more = self.question.arch.total_leakage_pj_per_cycle * (latency - corner.latency)
        return weights.of(corner.energy + more, latency)

    def look(self, weights: Weights, flat: bool = False) -> Corner | None:
        """Good mappings for one weighted sum."""
        with self.within(self.means.share()), suppress(OutOfMeans):
            if isinstance(self.solver, ExactBranches):
                super().look(weights, flat)
            else:
                self._solve_in_turns(weights)
        return self.best_by(weights)

    def _solve_in_turns(self, weights: Weights) -> None:
        """The best tree if operations took turns, which proves nothing here."""
        known = list(self.bounds)
        try:
            super().solve(weights)
        finally:
            self.bounds[:], self.out_of_means = known, False

    def solve(self, weights: Weights, most: float = math.inf) -> Corner | None:  # noqa: ARG002 - prices say what they can
        """The best known of one weighted sum, and a bound on all."""
        self.look(weights)
        bound = 0.0
        try:
            bound = self._raise_prices(weights)
        finally:
            self.bounds.append((weights, bound))
        if self.out_of_means:
            raise OutOfMeans
        return self.best_by(weights)

    def least_of(self, weights: Weights) -> float:
        """What no tree weighs less than, without a search over trees."""
        prices = self.resources.computing
        return self._priced(weights, prices).least_of(ENERGY_ALONE) + self._computing(weights, prices)

    # ---- prices --------------------------------------------------------------------------------------------

    def _raise_prices(self, weights: Weights, rounds: int = 12) -> float:
        """A bound on a weighted sum, by the prices that promise most, round by round."""
        bound = 0.0
        for _ in range(rounds):
            most, prices = self._highest(weights)
            best = self.best_by(weights)
            value = float("inf") if best is None else weights.of(best.energy, best.latency)
            if reaches(bound, value) or most <= bound * (1 + ALIKE):
                break
            bound = max(bound, self._by(weights, prices))
            if self.means.expired:
                self.out_of_means = True
                break
        return bound

    def _highest(self, weights: Weights) -> tuple[float, Prices]:
        """The prices under which the lightest of the known trees weighs most, and what it weighs."""
        trees = [self._priced_tree(weights, corner) for corner in self.corners]
        return highest_prices(self.resources, trees)

    def _priced_tree(self, weights: Weights, corner: Corner) -> PricedTree:
        latency = weights.latency + weights.energy * self.question.arch.total_leakage_pj_per_cycle
        energy = weights.energy * (corner.energy - corner.cost.leakage_pj)
        cycles = self.resources.cycles(corner.cost, self._fewest_cycles)
        return PricedTree(energy, {name: latency * each for name, each in cycles.items()})

    def _by(self, weights: Weights, prices: Prices) -> float:
        """A bound by some prices; its tree becomes known."""
        computing = self._computing(weights, prices)
        if not weights.energy and all(price == 0.0 for one, price in prices.items() if one != COMPUTING):
            return computing
        search = self._priced(weights, prices)
        search.use(self.means.share())
        try:
            answer = search.run()
        except UndecidedError:
            return 0.0
        self._know(answer)
        self.pruned.update(search.pruned)
        self.solver.searches += search.solver.searches
        if answer.certificate.interrupted:
            raise KeyboardInterrupt
        return answer.certificate.lower_bound + computing

    def _know(self, answer: Answer) -> None:
        """Keep a tree with what it costs here."""
        stays = [tensor for tensor, _ in self.question.stays]
        cost = evaluate(answer.mapping, self.question.arch, stays)
        self.corners.append(Corner(cost.energy_pj, cost.latency_cycles, answer.mapping, cost))

    def _priced(self, weights: Weights, prices: Prices) -> CascadeSearch:
        latency = weights.latency + weights.energy * self.question.arch.total_leakage_pj_per_cycle
        arch = self.resources.priced(weights.energy, latency, prices)
        return CascadeSearch(replace(self.question, arch=arch, objective=ENERGY, below=math.inf), self.means)

    def _computing(self, weights: Weights, prices: Prices) -> float:
        """What computing costs at least, whatever the tree."""
        latency = weights.latency + weights.energy * self.question.arch.total_leakage_pj_per_cycle
        return latency * prices.get(COMPUTING, 0.0) * self._fewest_cycles

    @cached_property
    def _fewest_cycles(self) -> float:
        """Cycles that all operations compute at least, one after the other: if all units were always at work; or, where
        no rows are made again, and tiles of every visit are those of the whole operation, as fast as any mapping is."""
        arch, cascade = self.question.arch, self.question.cascade
        solver = ExactBranches(cascade, arch, self.question.space, self.question.tiling, self.means)
        fewest = 0.0
        for operation in cascade:
            units = arch.mac_instances * arch.mac.of(operation.kind).per_cycle
            fewest += max(
                operation.problem.macs / units,
                0.0 if self._has_windows else solver.fastest(operation.name, operation.problem.dims),
            )
        return fewest
