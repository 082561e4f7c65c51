"""The best mappings found so far, and the cutoff that they set."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

from ....arch import Architecture
from ....cost_models import Cost, Objective, evaluate_open
from ....cost_models.cascades import visit_cost
from ....cost_models.layouts import has_lines
from ....ir import Mapping, MappingError
from ...kernel.states import Closed
from ...kernel.tolerance import RELATIVE_TOLERANCE, cutoff_of, is_equal
from ..question.surroundings import ALONE, Surroundings


@dataclass(frozen=True)
class FoundMapping:
    """A mapping that was found, its cost, and the value of the objective."""

    value: float
    mapping: Mapping
    cost: Cost


@dataclass
class BestFound:
    """The incumbents: the `count` best mappings that differ in energy or latency, best first.

    surroundings  of mappings that are branches of a tree
    ceiling       mappings from this value on are not wanted
    evaluated     mappings whose cost was computed
    """

    objective: Objective
    machine: Architecture
    count: int
    evaluated: int = 0
    surroundings: Surroundings = ALONE
    ceiling: float = inf
    _kept: list[FoundMapping] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[FoundMapping]:
        return iter(self._kept)

    def __getitem__(self, index: int) -> FoundMapping:
        return self._kept[index]

    @property
    def cutoff(self) -> float:
        """Return the bound from which on rows lead to no mapping that is kept, for bounds of all visits but short
        ones."""
        return self.wanted_below - self.surroundings.short_least

    @property
    def wanted_below(self) -> float:
        """Return the value from which on mappings are not kept."""
        if len(self._kept) < self.count:
            return self.ceiling
        return min(self.ceiling, cutoff_of(self._kept[-1].value))

    def start_from(self, others: BestFound) -> None:
        """Keep what another search has found, which was to find something better than all that is kept; on another
        machine, or with other surroundings, what its best mapping costs here."""
        if others.machine is self.machine and others.surroundings is self.surroundings:
            self._kept = list(others) or self._kept
            self.evaluated += others.evaluated
        elif others:
            self.evaluate(others[0].mapping)

    def offer(self, found: Closed[Mapping]) -> None:
        """Evaluate what a search has come to."""
        assert found.answer is not None
        self.evaluate(found.answer)

    def evaluate(self, mapping: Mapping) -> None:
        """Compute the cost of a mapping, and keep it if it is one of the best and differs from the others in cost."""
        self.evaluated += 1
        try:
            cost = self._cost(mapping)
        except MappingError:
            if not (has_lines(self.machine) or mapping.problem.has_zeros):
                raise
            # Its words fit, and the lines in which they lie do not; or what its zeros save is not known.
            return
        value = cost.objective(self.objective)
        if not value < self.wanted_below or self._is_known(value, cost):
            return
        insort(self._kept, FoundMapping(value, mapping, cost), key=_value)
        del self._kept[self.count :]

    def _cost(self, mapping: Mapping) -> Cost:
        around = self.surroundings
        if around is ALONE:
            return evaluate_open(mapping, self.machine, self.objective)[0]
        return visit_cost(mapping, self.machine, around.again, around.busy, around.start(mapping), around.every_visit)

    def _is_known(self, value: float, cost: Cost) -> bool:
        """Tell whether a mapping of the same energy and latency is kept already."""
        first = bisect_left(self._kept, value * (1 - 2 * RELATIVE_TOLERANCE), key=_value)
        last = bisect_right(self._kept, value * (1 + 2 * RELATIVE_TOLERANCE), key=_value)
        return any(_same_cost(cost, other.cost) for other in self._kept[first:last])


def _value(found: FoundMapping) -> float:
    return found.value


def _same_cost(one: Cost, other: Cost) -> bool:
    return all(
        is_equal(a, b) for a, b in ((one.energy_pj, other.energy_pj), (one.latency_cycles, other.latency_cycles))
    )
