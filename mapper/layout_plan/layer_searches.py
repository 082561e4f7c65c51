"""What layers cost with which layouts: found by searches, of one weighted sum of energy and latency or of several.

What a search tells of one sum says something of others. Its mapping weighs what it weighs in any sum; and where no
mapping weighs less than b in a sum u, nor less than c in a sum v, none weighs less than x b + y c in x u + y v, for x
and y of 0 or more: energies and latencies add up so. A layer whose bound by other sums meets the best of their mappings
is not searched again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ...arch import Architecture
from ...cost_models import Objective
from ...cost_models.layouts import packed
from ...cost_models.layouts.choices import with_layouts
from ...ir import Problem
from ..kernel.tolerance import reaches
from ..means import Means
from ..pareto.regions import least_weight
from ..pareto.weights import Weights


class LayerFound(NamedTuple):
    """A layer's best mapping.

    value, bound  of the objective, and what no mapping has less of
    energy_pj, latency_cycles  of the mapping
    """

    value: float
    bound: float
    energy_pj: float
    latency_cycles: float


Search = Callable[[Problem, Architecture, Objective, float], LayerFound]
"""Finds the best mapping of a layer, in so many seconds at most."""

StatedLayouts = tuple[tuple[str, str], ...]
"""(tensor, its layout in the outermost memory) of what a layer reads and writes."""


@dataclass
class SumsOfLayer:
    """What is known of a layer with some layouts: weighted sums, and what searches of them have found."""

    found: list[tuple[Weights, LayerFound]] = field(default_factory=list)
    _told: dict[Weights, LayerFound] = field(default_factory=dict)

    def add(self, weights: Weights, found: LayerFound) -> None:
        """What a search has found."""
        self.found.append((weights, found))
        self._told.clear()

    def of(self, weights: Weights) -> LayerFound:
        """The mapping that weighs least, of those found, and what none weighs less than; infinite and 0 where nothing
        was searched."""
        if weights not in self._told:
            self._told[weights] = self._worked_out(weights)
        return self._told[weights]

    def _worked_out(self, weights: Weights) -> LayerFound:
        bound = least_weight([(known, one.bound) for known, one in self.found], weights)
        points = [(weights.of(one.energy_pj, one.latency_cycles), one) for _, one in self.found]
        if not points:
            return LayerFound(math.inf, bound, math.inf, math.inf)
        value, best = min(points)
        return LayerFound(value, min(bound, value), best.energy_pj, best.latency_cycles)

    def tells(self, weights: Weights) -> bool:
        """Whether a search of a sum would tell nothing new."""
        value, bound, *_ = self.of(weights)
        asked = any(known == weights for known, _ in self.found)
        return asked or (value < math.inf and reaches(bound, value))


@dataclass
class LayerSearches:
    """The costs of layers on one machine, by layouts.

    searched  searches that were made with some layouts
    """

    arch: Architecture
    search: Search
    searched: int = 0
    _stated: dict[tuple[Problem, StatedLayouts], SumsOfLayer] = field(default_factory=dict)
    _full: dict[Problem, SumsOfLayer] = field(default_factory=dict)

    def of(self, problem: Problem, layouts: StatedLayouts) -> SumsOfLayer:
        """What is known of a layer with some layouts."""
        return self._stated.setdefault((problem, layouts), SumsOfLayer())

    def full_lines(self, problem: Problem, objective: Objective, weights: Weights, means: Means) -> float:
        """What no mapping of a layer weighs less than, whatever its layouts; `means` as of `find_out`."""
        known = self._full.setdefault(problem, SumsOfLayer())
        if not known.tells(weights) and not (known.found and means.expired):
            found = self.search(problem, packed(self.arch), objective, means.seconds_left)
            known.add(weights, found)
        return known.of(weights).bound

    def find_out(
        self, problem: Problem, layouts: StatedLayouts, objective: Objective, weights: Weights, means: Means
    ) -> None:
        """Search a layer with some layouts for the mapping of an objective, which has these weights, in the time that
        is left."""
        outer = self.arch.memories[0].name
        stated = {f"{outer}.{tensor}": text for tensor, text in layouts}
        machine = with_layouts(self.arch, problem, {"all": "any", **stated})
        found = self.search(problem, machine, objective, means.seconds_left)
        self.of(problem, layouts).add(weights, found)
        self.searched += 1
