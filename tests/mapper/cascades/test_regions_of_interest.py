"""Regions of energy and latency: what is left aside lies outside, and no more."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import longer
from tilewright.mapper.pareto.regions import least_value, least_weight, line_across, opening
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, AtLeast, OpenRegion, Weights

GRID = [(float(energy), float(latency)) for energy, latency in itertools.product(range(1, 13), repeat=2)]


def random_region(rng: random.Random) -> OpenRegion:
    energy, latency = (rng.choice([math.inf, rng.uniform(1, 13)]) for _ in range(2))
    weights = Weights(1.0, rng.choice([0.5, 1.0, 3.0]))
    region = OpenRegion(weights, AtLeast(energy, latency, rng.choice([math.inf, rng.uniform(2, 40)])))
    return region.without(rng.sample(GRID, rng.randrange(4)))


def within(region: OpenRegion) -> set[tuple[float, float]]:
    return {point for point in GRID if region.holds(AtLeast(*point, region.weights.of(*point)))}


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_a_region_holds_what_its_measure_says(seed: int) -> None:
    region = random_region(random.Random(seed))
    energy, latency = np.array(GRID).T
    measured = region.of_each(energy, latency)
    assert within(region) == {point for point, reached in zip(GRID, measured, strict=True) if reached < 1}
    assert measured.tolist() == [pytest.approx(region.of(*point)) for point in GRID]


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_known_points_leave_aside_what_costs_no_less_in_both(seed: int) -> None:
    rng = random.Random(seed)
    region, points = random_region(rng), rng.sample(GRID, 3)
    left = {p for p in within(region) if not any(p[0] >= e and p[1] >= c for e, c in points)}
    assert within(region.without(points)) == left


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_what_is_left_beside_others_lies_within_together_with_them(seed: int) -> None:
    rng = random.Random(seed)
    region, (energy, latency), visits = random_region(rng), rng.choice(GRID), rng.choice([1, 2, 4])
    others = AtLeast(energy, latency, region.weights.of(energy, latency))
    left = region.beside(others, visits)
    together = {p for p in GRID if region.of(visits * p[0] + energy, visits * p[1] + latency) < 1}
    assert left.is_empty or within(left) == together
    assert not (left.is_empty and together)


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_one_region_in_another(seed: int) -> None:
    rng = random.Random(seed)
    one = random_region(rng)
    other = one.without(rng.sample(GRID, 2)) if seed % 2 else random_region(rng)
    other = OpenRegion(one.weights, other.limits, other.points)
    assert within(one.with_all_of(other)) >= within(one) | within(other)
    assert one.lies_in(one.with_all_of(other))
    assert not one.lies_in(other) or within(one) <= within(other)
    assert other.lies_in(one) or not seed % 2


@pytest.mark.parametrize("seed", longer.seeds(20))
def test_lines_across_openings_find_the_least_product(seed: int) -> None:
    """Each line is the least of a weighted sum over some points; the bounds at first lie a little lower than these."""
    rng = random.Random(seed)
    points = [(rng.uniform(1, 50), rng.uniform(1, 50)) for _ in range(rng.choice([1, 3, 40]))]
    power = rng.choice([1, 2])

    def value(energy: float, latency: float) -> float:
        return energy * latency**power

    lines = [(one, 0.9 * min(one.of(*point) for point in points)) for one in (ENERGY_ALONE, LATENCY_ALONE)]
    known = [rng.choice(points)]
    for _ in range(20):
        found = opening(lines, value, min(value(*point) for point in known))
        if found is None:
            break
        assert value(*found.corner) < value(*found.left) == pytest.approx(value(*found.right))
        weights = line_across(found, known)
        assert weights is not None
        known.append(min(points, key=lambda point: weights.of(*point)))
        lines.append((weights, weights.of(*known[-1])))
    assert found is None
    assert min(value(*point) for point in known) == min(value(*point) for point in points)


def test_bounds_of_some_sums_bound_others() -> None:
    """Of any points of energy and latency: what all of them weigh in some sums bounds what they weigh in another."""
    rng = random.Random(5)
    sums = [Weights(1.0, 0.0), Weights(0.0, 1.0), Weights(1.0, 0.5), Weights(1.0, 3.0)]
    tight = 0
    for _ in range(200):
        points = [(rng.uniform(1, 10), rng.uniform(1, 10)) for _ in range(rng.randint(1, 4))]
        known = [(one, min(one.of(*point) for point in points)) for one in rng.sample(sums, rng.randint(1, 3))]
        asked = Weights(1.0, rng.choice([0.0, 0.25, 1.0, 2.0, 8.0]))
        bound, least = least_weight(known, asked), min(asked.of(*point) for point in points)
        assert bound <= least * (1 + 1e-9)
        tight += bound > least * (1 - 1e-9)
    assert tight > 20


def test_what_is_impossible_in_one_sum_is_in_others() -> None:
    """Infinite bounds; but a sum of latency alone says nothing of what takes no time."""
    impossible = [(Weights(1.0, 2.0), math.inf), (Weights(0.0, 1.0), 3.0)]
    assert least_weight(impossible, Weights(1.0, 4.0)) == math.inf
    assert least_weight([(Weights(0.0, 1.0), math.inf)], Weights(1.0, 0.0)) == 0.0


def test_a_line_without_end_leaves_nothing() -> None:
    """Also in numpy's numbers, which warn of infinity times 0."""
    lines = [(Weights(1.0, 0.0), np.float64(5.0)), (Weights(1.0, 1.0), np.float64(np.inf))]
    with np.errstate(all="raise"):
        assert least_value(lines, lambda energy, latency: energy * latency, np.inf, np.inf) == np.inf
        assert opening(lines, lambda energy, latency: energy * latency, 100.0) is None
