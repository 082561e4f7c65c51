"""Regions of energy and latency: what no mapping lies below, and where better ones could still lie.

A mapping is a point of energy and latency. A *line* is a bound on a weighted sum: no point lies below it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..kernel.tolerance import is_better, reaches
from .front import Point
from .weights import Weights, weights_between

Line = tuple[Weights, float]
"""A weighted sum, and what no mapping weighs less than."""

Value = Callable[[float, float], float]
"""An objective: never falls when energy or latency grows."""


class Box(NamedTuple):
    """Energies and latencies from the least to the most."""

    least_energy: float
    most_energy: float
    least_latency: float
    most_latency: float

    @property
    def is_empty(self) -> bool:
        return self.least_energy > self.most_energy or self.least_latency > self.most_latency

    def within(self, most_energy: float, most_latency: float) -> Box:
        """The part of it that keeps limits."""
        return self._replace(
            most_energy=min(self.most_energy, most_energy), most_latency=min(self.most_latency, most_latency)
        )

    def quarters(self) -> Iterator[Box]:
        """Four boxes that cover it."""
        energy = (self.least_energy + self.most_energy) / 2
        latency = (self.least_latency + self.most_latency) / 2
        for low, high in ((self.least_energy, energy), (energy, self.most_energy)):
            yield Box(low, high, self.least_latency, latency)
            yield Box(low, high, latency, self.most_latency)


def least_weight(lines: Sequence[Line], weights: Weights) -> float:
    """What no point weighs less than that lies below none of some lines: a sum of one or two of them, each so and so
    many times, counts nothing more than is asked for."""
    least = 0.0
    for known, bound in lines:
        pairs = (weights.energy, known.energy), (weights.latency, known.latency)
        least = max(least, _times(min((asked / own for asked, own in pairs if own), default=0.0), bound))
    for (one, bound), (other, further) in itertools.combinations(lines, 2):
        determinant = one.energy * other.latency - other.energy * one.latency
        if determinant:
            x = (weights.energy * other.latency - other.energy * weights.latency) / determinant
            y = (one.energy * weights.latency - weights.energy * one.latency) / determinant
            if x >= 0 and y >= 0:
                least = max(least, _times(x, bound) + _times(y, further))
    return least


def _times(times: float, bound: float) -> float:
    """So many times a bound, which may be infinite; no times of that are nothing."""
    return times * bound if times else 0.0


def heaviest(box: Box, weights: Weights, line: float, matters: Callable[[float, float], bool]) -> float:
    """A weight that everything in a box, on or above a line, that matters stays below or at; -inf if nothing does.

    matters  whether something at, or beyond, an energy and a latency could
    """
    return _heaviest(box, weights, line, matters, quarterings=6)


def _heaviest(
    box: Box, weights: Weights, line: float, matters: Callable[[float, float], bool], quarterings: int
) -> float:
    """The same, a box quartered so often at most."""
    most = weights.of(box.most_energy, box.most_latency)
    if box.is_empty or most < line or not matters(box.least_energy, box.least_latency):
        return -math.inf
    if quarterings == 0 or matters(box.most_energy, box.most_latency):
        return most
    return max(_heaviest(part, weights, line, matters, quarterings - 1) for part in box.quarters())


def least_value(
    lines: Iterable[Line], value: Value, most_energy: float, most_latency: float, enough: float = -math.inf
) -> float:
    """A bound on the value of all points that lie below no line and keep limits; infinite if there are none.

    enough  values from here on need not be told apart; by default an objective that is least at an end of every
            straight line, as sums and products are
    """
    corners = sorted(_corners(list(lines), most_energy, most_latency))
    along = [_along(one, other, value, enough, halvings=12) for one, other in itertools.pairwise(corners)]
    least = [value(*corner) for corner in corners]
    return min([*least, *along] if enough > -math.inf else least, default=math.inf)


def _along(one: tuple[float, float], other: tuple[float, float], value: Value, enough: float, halvings: int) -> float:
    """A bound on the value along the straight line between two points, the first with less energy."""
    bound = value(one[0], min(one[1], other[1]))
    if bound >= enough or halvings == 0:
        return bound
    middle = (one[0] + other[0]) / 2, (one[1] + other[1]) / 2
    return min(_along(one, middle, value, enough, halvings - 1), _along(middle, other, value, enough, halvings - 1))


def _corners(lines: list[Line], most_energy: float, most_latency: float) -> Iterator[tuple[float, float]]:
    """The corners of what lies at or above all lines, within limits: of two of these, the point on both, if it keeps
    all others. None where a line is without end: nothing lies at or above that."""
    bounds = [(w.energy, w.latency, value) for w, value in lines]
    if any(value == math.inf for _, _, value in bounds):
        return
    bounds += [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    walls = [(1.0, 0.0, most_energy)] if most_energy < math.inf else []
    walls += [(0.0, 1.0, most_latency)] if most_latency < math.inf else []
    for one, other in itertools.combinations([*bounds, *walls], 2):
        determinant = one[0] * other[1] - other[0] * one[1]
        if not determinant:
            continue
        energy = (one[2] * other[1] - other[2] * one[1]) / determinant
        latency = (one[0] * other[2] - other[0] * one[2]) / determinant
        keeps = all(a * energy + b * latency >= value * (1 - 1e-12) for a, b, value in bounds)
        inside = reaches(most_energy, energy) and reaches(most_latency, latency)
        if keeps and inside:
            yield max(energy, 0.0), max(latency, 0.0)


# ---- products ----------------------------------------------------------------------------------------------


class Opening(NamedTuple):
    """Where bounds leave room for something better than what is known.

    corner  the best that they leave room for
    left, right  where what is as good as known begins, with less energy and with fewer cycles than the corner
    """

    corner: Point
    left: Point
    right: Point


def opening(lines: Iterable[Line], value: Value, known: float) -> Opening | None:
    """What points that lie below no line leave open beside a known value of an objective that is least at an end of
    every straight line, and 0 where energy or latency is; None where nothing is better."""
    corners = sorted(_corners(list(lines), math.inf, math.inf))
    if not corners:  # a bound without end: there are no points
        return None
    lowest = min(range(len(corners)), key=lambda i: value(*corners[i]))
    corner = corners[lowest]
    if reaches(value(*corner), known) or not all(corner):
        return None
    beyond = 2 * known / value(*corner)  # so many times as much of one of both is too much
    first, last = corners[0], corners[-1]
    left = [(first[0], first[1] * beyond), *corners[: lowest + 1]]
    right = [(last[0] * beyond, last[1]), *reversed(corners[lowest:])]
    return Opening(corner, _as_good(left, value, known), _as_good(right, value, known))


def _as_good(points: Sequence[Point], value: Value, known: float) -> Point:
    """The point on the way between points, of which the last has less than a known value, behind which no other has as
    much; the first one, if none has."""
    last = max((i for i, point in enumerate(points) if value(*point) >= known), default=None)
    if last is None:
        return points[0]
    enough, less = points[last], points[last + 1]
    for _ in range(200):  # halvings: then they are one
        middle = (enough[0] + less[0]) / 2, (enough[1] + less[1]) / 2
        enough, less = (middle, less) if value(*middle) >= known else (enough, middle)
    return enough


def line_across(opening: Opening, points: Iterable[Point]) -> Weights | None:
    """The weighted sum of the line between two neighbours of an opening's ends, and points between these, that leaves
    most below: where nothing lies below such lines, nothing is better."""
    left, right = opening.left, opening.right
    hull: list[Point] = []
    for point in [left, *sorted(p for p in points if left[0] < p[0] < right[0] and right[1] < p[1] < left[1]), right]:
        while len(hull) > 1 and _is_above(hull[-1], hull[-2], point):
            hull.pop()
        hull.append(point)
    found = (
        (weights.of(*opening.corner) / weights.of(*one), i, weights)
        for i, (one, other) in enumerate(itertools.pairwise(hull))
        if (weights := weights_between(one, other)) is not None
    )
    return min(found, default=(0.0, 0, None))[2]


def front_gap(points: Sequence[Point], lines: Sequence[Line]) -> float:
    """By which part something on or above all lines could have less energy and less latency than every point, at most;
    0 where every one of them has a point with as little of both.

    points  of a front, from the least energy to the least latency

    What no point beats lies below a corner between two neighbours, or beside an end; where that weighs more than a
    line says, something between the two may be missing.
    """
    between = [(right[0], left[1]) for left, right in itertools.pairwise(points)]
    corners = [(points[0][0], math.inf), *between, (math.inf, points[-1][1])]
    times = max(min(_times_above(corner, line) for line in lines) for corner in corners)
    return 1 - 1 / times if is_better(1, times) else 0.0


def _times_above(point: Point, line: Line) -> float:
    """How many times as much as a line says a point weighs."""
    weights, bound = line
    weight = _times(weights.energy, point[0]) + _times(weights.latency, point[1])
    return weight / bound if bound else math.inf


def _is_above(point: Point, left: Point, right: Point) -> bool:
    """Whether a point lies on or above the straight line between two others."""
    (a, b), (c, d), (e, f) = left, point, right
    return (d - b) * (e - a) >= (f - b) * (c - a)
