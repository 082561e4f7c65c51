"""The cheapest groups of a network of any shape, by CP-SAT: where it has too many states to go through them.

Every operation is in one group. Operations of a group have one rank; of two of different groups the one that reads the
other has a higher one: so groups can be done by rising ranks. Nothing stays on chip between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...workloads.graph import GraphReading, bits_of
from .lazy_path import ChosenWay, Edge

SCALE = 2**44
"""What all costs together are at most, as whole numbers: rounding is far below the tolerance of values."""


class CheapestCover:
    """A CP-SAT model that chooses groups that cover a network at least cost.

    places  by edge, of the operations that its group does
    bits    by edge, that weights of its group take on chip
    room    bits that they may take together; None: any
    alone   edges of single operations, in the network's order: a cover that there is always
    """

    def __init__(
        self,
        reading: GraphReading,
        edges: Sequence[Edge],
        places: Sequence[tuple[int, ...]],
        alone: Sequence[Edge],
        bits: Sequence[int] = (),
        room: int | None = None,
    ) -> None:
        self.bits, self.room = bits, room
        self.reading, self.edges, self.places = reading, edges, places
        numbers = {id(edge): i for i, edge in enumerate(edges)}
        self._last = [numbers[id(edge)] for edge in alone]

    def cheapest(self, cost: Callable[[Edge], float], seconds: float = math.inf) -> ChosenWay:
        """The cheapest cover, its edges in an order in which they can be done; none, where there is none.

        seconds  after which the best cover so far is taken, or the one before, with what none costs less than
        """
        from ortools.sat.python import cp_model

        costs = [cost(edge) for edge in self.edges]
        usable = [i for i, one in enumerate(costs) if one < math.inf]
        model = cp_model.CpModel()
        count = len(self.reading.occurrences)
        chosen = {i: model.new_bool_var(f"group {i}") for i in usable}
        rank = [model.new_int_var(0, count, f"rank {place}") for place in range(count)]
        for place in range(count):
            model.add_exactly_one([chosen[i] for i in usable if place in self.places[i]])
        for i in usable:
            for other in self.places[i][1:]:
                model.add(rank[other] == rank[self.places[i][0]]).only_enforce_if(chosen[i])
        for place, before in enumerate(self.reading.before):
            for made in bits_of(before):
                together = sum(chosen[i] for i in usable if place in self.places[i] and made in self.places[i])
                model.add(rank[place] + together >= rank[made] + 1)
        if self.room is not None:
            model.add(sum(self.bits[i] * chosen[i] for i in usable) <= self.room)
        total = sum(costs[i] for i in usable) or 1.0
        model.minimize(sum(math.floor(SCALE * costs[i] / total) * chosen[i] for i in usable))
        for i in usable:
            model.add_hint(chosen[i], i in self._last)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        if seconds < math.inf:
            solver.parameters.max_time_in_seconds = max(seconds, 0.3)  # one cover is needed to have an answer at all
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            least = math.inf if status == cp_model.INFEASIBLE else 0.0
            return self._before(costs, least)
        taken = sorted((i for i in usable if solver.boolean_value(chosen[i])), key=lambda i: self._key(solver, rank, i))
        self._last = taken
        value = sum(costs[i] for i in taken)
        proven = value if status == cp_model.OPTIMAL else max(0.0, solver.best_objective_bound) * total / SCALE
        return ChosenWay(value, min(value, proven), [self.edges[i] for i in taken])

    def _before(self, costs: Sequence[float], least: float) -> ChosenWay:
        """The cover that was chosen last, if these costs allow it."""
        value = sum(costs[i] for i in self._last) if self._last else math.inf
        return ChosenWay(value, min(value, least), [self.edges[i] for i in self._last] if value < math.inf else [])

    def _key(self, solver: object, rank: Sequence[object], number: int) -> tuple[int, int]:
        """The order of groups: by rank, and among equal ranks by the place in the network."""
        place = self.places[number][0]
        return solver.value(rank[place]), place  # type: ignore[attr-defined]
