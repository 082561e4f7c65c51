"""Searches of layers by the exact search, as long as there is time; then what mappings cost that are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...arch import Architecture
from ...cost_models import Cost, Objective, evaluate_open
from ...ir import Mapping, Problem, TilewrightError
from ..exact.search import search_exact
from ..simplest import simplest_mapping
from ..space import Space
from ..tilings import Tiling
from .layer_searches import LayerFound


@dataclass
class ExactSearches:
    """Finds the best mapping of a layer on a machine, in so many seconds at most (`layer_searches.Search`).

    time_limit    seconds for each search; None: no limit
    memory_limit  bytes that each search may take

    A search takes a moment to begin and to stop, however little time it has. So where none is left, none is made: the
    best mapping that is known of the layer is taken, with the layouts that are asked for, or else the simplest one.
    Where a search was cut short, that may be better than what it has found, too.
    """

    tiling: Tiling
    space: Space
    time_limit: float | None
    memory_limit: int
    _mappings: dict[Problem, list[Mapping]] = field(default_factory=dict)

    def __call__(self, problem: Problem, machine: Architecture, objective: Objective, seconds: float) -> LayerFound:
        known = None if seconds > 0 else self._known(problem, machine, objective)
        if known is not None:
            return _found(known, objective, 0.0)
        left = min(seconds, math.inf if self.time_limit is None else self.time_limit)
        time_s = left if left < math.inf else None
        mapping, cost, certificate = search_exact(
            problem, machine, objective, self.tiling, self.space, time_limit=time_s, memory_limit=self.memory_limit
        )
        if certificate.interrupted:
            raise KeyboardInterrupt
        self._mappings.setdefault(problem, []).append(mapping)
        better = None if certificate.proven else self._known(problem, machine, objective)
        return _found(better or cost, objective, certificate.lower_bound)

    def _known(self, problem: Problem, machine: Architecture, objective: Objective) -> Cost | None:
        """What the best of the mappings known of a layer costs; None: none of them fits."""
        costs = []
        for mapping in self._mappings.get(problem, []):
            try:
                costs.append(evaluate_open(mapping, machine, objective)[0])
            except TilewrightError:  # lines of other layouts may not fit
                continue
        if not costs:
            try:
                costs.append(evaluate_open(simplest_mapping(problem, machine), machine, objective)[0])
            except TilewrightError:
                return None
        return min(costs, key=lambda cost: cost.objective(objective))


def _found(cost: Cost, objective: Objective, bound: float) -> LayerFound:
    value = cost.objective(objective)
    return LayerFound(value, min(bound, value), cost.energy_pj, cost.latency_cycles)
