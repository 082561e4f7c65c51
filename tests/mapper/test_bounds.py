from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

import brute_force
from generators import random_architecture, random_problem
from tilewright.arch import Architecture
from tilewright.cost_models import OBJECTIVES, Cost, Objective, evaluate
from tilewright.ir import Mapping, MappingError, Problem
from tilewright.mapper.bounds import Bounds, Lattice
from tilewright.mapper.inner_stage import InnerStage
from tilewright.mapper.ledger import CrossingCosts, Ledger
from tilewright.mapper.reduction import reduce_problem
from tilewright.mapper.search import outer_arrays
from tilewright.mapper.skeleton import Skeleton, skeletons
from tilewright.mapper.tilings import TILINGS, Tiling, even_growth
from tilewright.mapper.traffic import TrafficModel

# ---- lattice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiling", TILINGS)
def test_axes(tiling: Tiling) -> None:
    lattice = Lattice((12, 7), tiling, (True, False))
    assert [axis.tolist() for axis in lattice.axes] == {
        "perfect": [[1, 2, 3, 4, 6, 12], [1, 7]],
        "ragged": [[1, 2, 3, 4, 6, 12], [1, 2, 3, 4, 5, 6, 7]],
    }[tiling]
    assert lattice.shape == tuple(len(axis) for axis in lattice.axes)


@pytest.mark.parametrize("size", [1, 2, 13, 24])
def test_place_of_a_tile(size: int) -> None:
    """Every tile stands where the largest axis tile inside it does, which makes as many pieces."""
    lattice = Lattice((size,), "ragged", (True,))
    (axis,), (places,) = lattice.axes, lattice.places
    for tile in range(1, size + 1):
        stands_for = int(axis[places[tile]])
        assert stands_for <= tile
        assert -(-size // stands_for) == -(-size // tile)


def least_around(lattice: Lattice, table: np.ndarray, place: tuple[int, ...], dims: list[int]) -> float:
    """The least value over all tiles around one, looked at one by one."""

    def follows(d: int, i: int) -> bool:
        if d not in dims:
            return i == place[d]
        start, tile = int(lattice.axes[d][place[d]]), int(lattice.axes[d][i])
        return tile % start == 0 if lattice.tiling == "perfect" else tile >= start

    places = itertools.product(*(range(n) for n in lattice.shape))
    return min(float(table[p]) for p in places if all(follows(d, i) for d, i in enumerate(p)))


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("sizes", [(1,), (36,), (12, 7), (4, 9, 6), (13, 2, 8)])
def test_least_around_every_tile(sizes: tuple[int, ...], tiling: Tiling) -> None:
    rng = np.random.default_rng(sum(sizes))
    lattice = Lattice(sizes, tiling, (True,) * len(sizes))
    table = rng.integers(0, 1000, lattice.shape).astype(np.float64)
    table[rng.random(lattice.shape) < 0.2] = np.inf
    before = table.copy()
    for count in range(len(sizes) + 1):
        for dims in itertools.combinations(range(len(sizes)), count):
            found = lattice.around(table, list(dims))
            for place in np.ndindex(*lattice.shape):
                assert found[place] == least_around(lattice, table, place, list(dims))
    assert np.array_equal(table, before)


# ---- admissibility -----------------------------------------------------------------------------------------

SEEDS = 240
BLOCK = 20
Placement = frozenset[tuple[str, str]]


def placement_of(mapping: Mapping) -> Placement:
    return frozenset((node.memory, node.tensor) for node in mapping.nest.nodes)


def placement_of_skeleton(skeleton: Skeleton) -> Placement:
    names = [t.name for t in skeleton.problem.tensors]
    return frozenset((m.name, names[t]) for m, kept in zip(skeleton.memories, skeleton.kept, strict=True) for t in kept)


def best_by_placement(problem: Problem, arch: Architecture, ragged: bool) -> dict[Placement, dict[Objective, Cost]]:
    """The best mappings of every placement, by brute force."""
    best: dict[Placement, dict[Objective, Cost]] = {}
    for mapping in brute_force.all_mappings(problem, arch, ragged):
        try:
            cost = evaluate(mapping, arch)
        except MappingError:
            continue
        known = best.setdefault(placement_of(mapping), dict.fromkeys(OBJECTIVES, cost))
        for objective in OBJECTIVES:
            known[objective] = min(known[objective], cost, key=lambda c: c.objective(objective))
    return best


def root_bound(skeleton: Skeleton, tiling: Tiling, objective: Objective, rate: float | None = None) -> float:
    """What the search expects of a skeleton at least, over all of its outer arrays."""
    problem = skeleton.problem
    even = tuple(even_growth(problem, dim) for dim in problem.dim_names)
    bounds = []
    for arrays in outer_arrays(skeleton, tiling, even):
        costs = CrossingCosts(TrafficModel(skeleton), Ledger.of(skeleton.arch, rate))
        bounds.append(InnerStage(Bounds(costs, tiling, arrays), objective, Counter()).root_bound())
    return min(bounds)


@pytest.mark.parametrize("start", range(0, SEEDS, BLOCK))
def test_no_mapping_is_below_the_bound_of_its_skeleton(start: int) -> None:
    compared = 0
    for seed in range(start, start + BLOCK):
        rng = random.Random(seed)
        original, machine = random_problem(rng, 3), random_architecture(rng, rng.randint(0, 2), capacity=24)
        ragged = rng.random() < 0.5
        tiling: Tiling = "ragged" if ragged else "perfect"
        reduction = reduce_problem(original, machine, tiling)
        problem, arch = reduction.problem, reduction.arch
        if problem.macs > 200 or brute_force.count(problem, arch, ragged, 800) >= 800:
            continue
        best = best_by_placement(problem, arch, ragged)
        for skeleton in skeletons(problem, arch):
            if (known := best.get(placement_of_skeleton(skeleton))) is None:
                continue
            compared += 1
            for objective in OBJECTIVES:
                limit = known[objective].objective(objective) * (1 + 1e-9)
                assert root_bound(skeleton, tiling, objective) <= limit, (seed, skeleton.describe(), objective)
            cost = known["edp"]
            own_rate = cost.energy_pj / max(cost.latency_cycles, 1)
            for rate in (own_rate / 3, own_rate, own_rate * 3):
                if rate > 0:
                    assert root_bound(skeleton, tiling, "edp", rate) <= cost.edp * (1 + 1e-9), (seed, rate)
    assert compared >= 5
