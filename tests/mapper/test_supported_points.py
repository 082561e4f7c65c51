"""Supported points of random fronts, by weighted sums alone, against the convex hull."""

from __future__ import annotations

import itertools
import math
import random

import pytest

import longer
from tilewright.cost_models import EDP, parse_objective
from tilewright.mapper.pareto.front import Point, front_of
from tilewright.mapper.pareto.regions import Line, opening
from tilewright.mapper.pareto.supported import least_on_lines, sums_into, supported_between
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights


def some_points(rng: random.Random) -> list[Point]:
    return [(float(rng.randint(1, 40)), float(rng.randint(1, 40))) for _ in range(rng.randint(2, 12))]


def _same(point: Point) -> Point:
    return point


def least(points: list[Point], weights: Weights) -> Point:
    return min(points, key=lambda point: (weights.of(*point), point))


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_all_corners_of_the_hull_are_found(seeds: range) -> None:
    for seed in seeds:
        points = some_points(random.Random(seed))
        left, right = min(points), min(points, key=lambda point: point[::-1])
        found: list[Point] = []

        def least_of(weights: Weights, points: list[Point] = points, found: list[Point] = found) -> Point:
            found.append(least(points, weights))
            return found[-1]

        lines = supported_between(left, right, _same, least_of, lambda *_: True)
        corners = {left, right, *found}
        for line in lines:
            assert line.least <= min(line.weights.of(*point) for point in points)
            assert {line.left, line.right} <= corners
        ends = [line.left for line in lines] + [line.right for line in lines[-1:]]
        for energy, latency in points:  # above or on the hull of what was found
            for one, other in itertools.pairwise(ends):
                if one[0] < energy < other[0]:
                    part = (energy - one[0]) / (other[0] - one[0])
                    assert latency >= (1 - part) * one[1] + part * other[1] - 1e-6


def test_what_does_not_matter_is_not_looked_for() -> None:
    asked: list[Weights] = []
    found = supported_between((1.0, 9.0), (9.0, 1.0), _same, asked.append, lambda energy, latency: energy * latency > 1)
    assert (found, asked) == ([], [])


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_a_product_is_proven_by_sums_into_what_is_open(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        points, objective = some_points(rng), rng.choice((EDP, parse_objective("ed2p")))
        best = min(objective.value(*point) for point in points)
        lines: list[Line] = [(w, w.of(*least(points, w))) for w in (ENERGY_ALONE, LATENCY_ALONE)]
        known = [least(points, weights) for weights, _ in lines]
        while (found := opening(lines, objective.value, min(objective.value(*one) for one in known))) is not None:
            weights = next(sums_into(found, known, lines, objective), None)
            if weights is None:
                break
            known.append(least(points, weights))
            lines.append((weights, weights.of(*known[-1])))
        assert min(objective.value(*one) for one in known) == pytest.approx(best)
        assert least_on_lines(objective, lines, best) == pytest.approx(best, rel=1e-3)
        assert least_on_lines(objective, lines, best) <= best * (1 + 1e-9)


def test_within_limits_what_lies_beyond_them_is_no_matter() -> None:
    lines = [(ENERGY_ALONE, 3.0), (LATENCY_ALONE, 5.0)]
    assert least_on_lines(parse_objective("energy").capped(latency=4.0), lines, math.inf) == math.inf
    assert least_on_lines(parse_objective("energy").capped(latency=6.0), lines, math.inf) == pytest.approx(3.0)


@pytest.mark.parametrize("seeds", longer.blocks(200, 50))
def test_a_front_has_what_no_other_point_beats(seeds: range) -> None:
    for seed in seeds:
        points = some_points(random.Random(seed))
        beaten = {p for p, q in itertools.product(points, points) if q != p and q[0] <= p[0] and q[1] <= p[1]}
        assert front_of(points, _same) == sorted({*points} - beaten)
