"""Weighted sums of energy and latency, lower bounds on both, and the region in which a point is still of interest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from ...cost_models import ENERGY, Objective, parse_objective
from ...cost_models.formula import number_text, weights_in
from ..exact.rows import Floats
from ..kernel.tolerance import cutoff_of, is_better
from .front import Point, front_of


class Yardstick(Protocol):
    """One number for energy and latency, that never falls when these grow."""

    def of(self, energy_pj: float, latency_cycles: float) -> float:
        """Return the measure of one pair of energy and latency."""

    def of_each(self, energy_pj: Floats, latency_cycles: Floats) -> Floats:
        """Return the measures of many pairs."""


@dataclass(frozen=True)
class Weights:
    """A weighted sum of energy (pJ) and latency (cycles), neither weight below 0."""

    energy: float
    latency: float

    def of(self, energy_pj: float, latency_cycles: float) -> float:
        """Return the weighted sum; infinite where energy or latency is."""
        found = self.energy * energy_pj + self.latency * latency_cycles
        return math.inf if math.isnan(found) else found

    def of_each(self, energy_pj: Floats, latency_cycles: Floats) -> Floats:
        """Return the weighted sums of many pairs; infinite where energy or latency is."""
        with np.errstate(invalid="ignore"):
            found: Floats = self.energy * energy_pj + self.latency * latency_cycles
        return np.where(np.isnan(found), np.inf, found)

    @property
    def energy_only(self) -> bool:
        """Whether latency counts for nothing."""
        return not self.latency


class LeastOfEach(NamedTuple):
    """Energy (pJ) and latency (cycles) that something takes at least, each on its own."""

    energy: float = 0.0
    latency: float = 0.0


UNKNOWN: Final = LeastOfEach()
"""Nothing is known of either."""


class AtLeast(NamedTuple):
    """Lower bounds on energy (pJ), latency (cycles) and their weighted sum."""

    energy: float
    latency: float
    weight: float

    def __add__(self, other: AtLeast) -> AtLeast:  # type: ignore[override]
        return AtLeast(self.energy + other.energy, self.latency + other.latency, self.weight + other.weight)

    def times(self, factor: float) -> AtLeast:
        """So many times as much."""
        return AtLeast(*(factor * one for one in self))


NOTHING: Final = AtLeast(0.0, 0.0, 0.0)


Points = tuple[tuple[float, float], ...]
"""Pairs of energy and latency."""


@dataclass(frozen=True)
class OpenRegion:
    """Energies and latencies that may still be of interest: each below a limit, as is their weighted sum, and not both
    as large as at a known point, but for what is lost in rounding.

    As a measure: the largest part of a limit that is reached; 1 and more lies outside.
    """

    weights: Weights
    limits: AtLeast
    points: Points = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies within."""
        return min(self.limits) <= 0 or self._is_beaten(0.0, 0.0)

    def holds(self, least: AtLeast) -> bool:
        """Whether something with these lower bounds may lie in the region."""
        below = all(one < limit for one, limit in zip(least, self.limits, strict=True))
        return below and not self._is_beaten(least.energy, least.latency)

    def of(self, energy_pj: float, latency_cycles: float) -> float:
        """The largest part of a limit."""
        limits = self.limits
        weight = self.weights.of(energy_pj, latency_cycles)
        found = max(energy_pj / limits.energy, latency_cycles / limits.latency, weight / limits.weight)
        return max(found, 1.0) if self._is_beaten(energy_pj, latency_cycles) else found

    def of_each(self, energy_pj: Floats, latency_cycles: Floats) -> Floats:
        """Return the measure of `of` for many: 1 and more lies outside."""
        limits = self.limits
        both = np.maximum(energy_pj / limits.energy, latency_cycles / limits.latency)
        found: Floats = np.maximum(both, self.weights.of_each(energy_pj, latency_cycles) / limits.weight)
        for energy, latency in self.points:
            found[(energy_pj >= energy) & (latency_cycles >= latency) & (found < 1)] = 1.0
        return found

    def without(self, points: Iterable[tuple[float, float]]) -> OpenRegion:
        """Return the part of the region that no known point dominates."""
        known = (*self.points, *((cutoff_of(energy), cutoff_of(latency)) for energy, latency in points))
        return OpenRegion(self.weights, self.limits, tuple(front_of(known, _itself)))

    def beside(self, least: AtLeast, visits: float = 1.0) -> OpenRegion:
        """Return the region left for one of several visits, beside the lower bounds of everything else."""
        left = ((limit - one) / visits for limit, one in zip(self.limits, least, strict=True))
        points = tuple(((e - least.energy) / visits, (c - least.latency) / visits) for e, c in self.points)
        return OpenRegion(self.weights, AtLeast(*left), points)

    def with_all_of(self, other: OpenRegion) -> OpenRegion:
        """Return a region that contains both regions."""
        both = ((max(e, f), max(c, d)) for (e, c), (f, d) in itertools.product(self.points, other.points))
        return OpenRegion(self.weights, AtLeast(*map(max, self.limits, other.limits)), tuple(front_of(both, _itself)))

    def lies_in(self, other: OpenRegion) -> bool:
        """Whether all of it is a part of another."""
        if any(one > limit for one, limit in zip(self.limits, other.limits, strict=True)):
            return False
        beyond = self.limits.energy, self.limits.latency
        return all(
            energy >= beyond[0] or latency >= beyond[1] or self._is_beaten(energy, latency)
            for energy, latency in other.points
        )

    def _is_beaten(self, energy_pj: float, latency_cycles: float) -> bool:
        return any(energy_pj >= energy and latency_cycles >= latency for energy, latency in self.points)


def _itself(point: Point) -> Point:
    return point


def objective_of(weights: Weights) -> Objective:
    """Return the objective that the search of one operation minimizes for some weights."""
    if weights.energy_only:
        return ENERGY
    if not weights.energy:
        return parse_objective("latency")
    return parse_objective(f"energy + {number_text(weights.latency / weights.energy)} * latency")


def scale_of(weights: Weights) -> float:
    """Return the factor between a weighted sum and the value of `objective_of`."""
    return weights.energy or weights.latency


def weights_of(objective: Objective) -> Weights | None:
    """The weights of an objective that is a sum of energy and latency, without limits; None for all others."""
    if type(objective) is not Objective:
        return None
    found = weights_in(objective.formula)
    return None if found is None else Weights(*found)


def weights_between(left: tuple[float, float], right: tuple[float, float]) -> Weights | None:
    """The weighted sum that two points of (energy, latency) weigh the same in, where the second costs more energy and
    is faster; None where it does not, or is not."""
    costs_more = is_better(left[0], right[0])
    is_faster = is_better(right[1], left[1])
    return Weights(1.0, (right[0] - left[0]) / (left[1] - right[1])) if costs_more and is_faster else None


ENERGY_ALONE: Final = Weights(1.0, 0.0)
LATENCY_ALONE: Final = Weights(0.0, 1.0)
