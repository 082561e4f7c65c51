from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

import longer
from generators import random_problem
from tilewright.arch import ArrayAxis, Fanout
from tilewright.ir import Problem, ceil_div
from tilewright.mapper.exact.tiles.instances import (
    AxisUse,
    Pair,
    array_vectors,
    axis_limits,
    least,
    realizable,
    split_over_axes,
    spreadings,
)
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import gemm


def all_pairs(left: int, limits: Pair, tiling: Tiling) -> list[Pair]:
    """Every trip count on axis x, and on axis y for what x leaves."""
    return [
        (x, y)
        for x in range(1, min(left, limits[0]) + 1)
        for y in range(1, min(ceil_div(left, x), limits[1]) + 1)
        if tiling == "ragged" or left % (x * y) == 0
    ]


def fits(pairs: Iterable[Pair], sizes: Pair) -> bool:
    chosen = list(pairs)
    return math.prod(x for x, _ in chosen) <= sizes[0] and math.prod(y for _, y in chosen) <= sizes[1]


def random_fanout(rng: random.Random, problem: Problem) -> Fanout:
    def axis() -> ArrayAxis:
        dims = tuple(d for d in problem.dim_names if rng.random() < 0.7)
        return ArrayAxis(
            size=rng.randint(1, 6),
            dims=rng.choice([None, dims]),
            reuse=rng.choice([None, None, "output"]),
            reduce=rng.random() < 0.8,
        )

    return Fanout(name="array", axes=tuple(axis() for _ in range(rng.randint(1, 2))))


def test_least_keeps_what_nothing_undercuts() -> None:
    assert least({(1, 4), (2, 2), (2, 3), (4, 1), (4, 4)}) == {(1, 4), (2, 2), (4, 1)}


def test_axis_limits() -> None:
    problem = gemm(4, 4, 4)
    one = Fanout(name="row", axes=(ArrayAxis(size=8, dims=("K",)),))
    assert [axis_limits(problem, one, dim) for dim in ("M", "K")] == [(1, 1), (8, 1)]
    two = Fanout(name="grid", axes=(ArrayAxis(size=8, reuse="output"), ArrayAxis(size=3, reuse="input")))
    assert [axis_limits(problem, two, dim) for dim in ("M", "N", "K")] == [(1, 1), (1, 3), (8, 1)]


@pytest.mark.some(20)
@pytest.mark.parametrize("left", [*range(1, 26), 56, 64])
@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("even", [True, False])
def test_spreadings_cover_all_pairs(left: int, tiling: Tiling, even: bool) -> None:
    sizes = (1, 2, 3, 5, 16)
    for limits in itertools.product(sizes, sizes):
        ways = spreadings(left, limits, tiling, even)
        every = all_pairs(left, limits, tiling)
        counts = [way.instances for way in ways]
        assert counts == sorted(set(counts))
        for way in ways:
            assert way.pairs <= set(every)
            assert way.pairs == least(set(way.pairs))
            assert {min(x * y, left) for x, y in way.pairs} == {way.instances}
        for x, y in every:
            same = [pair for way in ways for pair in way.pairs if leaves(left, *pair) == leaves(left, x, y)]
            assert any(dx <= x and dy <= y for dx, dy in same)
        if tiling == "perfect" or not even:
            assert set(counts) == {min(x * y, left) for x, y in every}


def leaves(left: int, x: int, y: int) -> int:
    return ceil_div(ceil_div(left, x), y)


@pytest.mark.parametrize("seed", longer.seeds(50))
def test_axis_use_finds_room_when_there_is_some(seed: int) -> None:
    rng = random.Random(seed)
    sizes = (rng.randint(1, 12), rng.randint(1, 12))
    use = AxisUse(sizes)
    for _ in range(40):
        dims = [
            frozenset((rng.randint(1, 4), rng.randint(1, 4)) for _ in range(rng.randint(1, 4)))
            for _ in range(rng.randint(1, 4))
        ]
        state = 0
        for pairs in dims:
            state = use.after(state, pairs) if state >= 0 else -1
        assert (state >= 0) == any(fits(chosen, sizes) for chosen in itertools.product(*dims))


def test_axis_use_of_a_fanout() -> None:
    assert AxisUse.of(Fanout(name="row", axes=(ArrayAxis(size=5),))).sizes == (5, 1)
    assert AxisUse.of(Fanout(name="grid", axes=(ArrayAxis(size=5), ArrayAxis(size=7)))).sizes == (5, 7)


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_split_realizes_what_axis_use_allows(seed: int) -> None:
    rng = random.Random(seed)
    problem = random_problem(rng)
    fanout = random_fanout(rng, problem)
    tiling = rng.choice(TILINGS)
    even = [rng.random() < 0.5 for _ in problem.dims]
    use = AxisUse.of(fanout)
    for _ in range(30):
        lefts = [rng.randint(1, 9) for _ in problem.dims]
        limits = [axis_limits(problem, fanout, dim) for dim in problem.dim_names]
        options = [spreadings(left, limit, tiling, e) for left, limit, e in zip(lefts, limits, even, strict=True)]
        chosen = [rng.choice(ways) for ways in options]
        state = 0
        for way in chosen:
            state = use.after(state, way.pairs) if state >= 0 else -1
        instances = [way.instances for way in chosen]
        if state < 0:
            with pytest.raises(ValueError, match="the axes are too small"):
                split_over_axes(problem, fanout, lefts, instances, tiling, even)
            continue
        pairs = split_over_axes(problem, fanout, lefts, instances, tiling, even)
        assert fits(pairs, use.sizes)
        for pair, left, limit, wanted in zip(pairs, lefts, limits, instances, strict=True):
            assert pair in all_pairs(left, limit, tiling)
            assert min(pair[0] * pair[1], left) == wanted


def reachable_arrays(problem: Problem, fanout: Fanout, tiling: Tiling) -> set[tuple[int, ...]]:
    """Instances per dimension, over all tiles below the array and all trips on the axes."""
    per_dim: list[Sequence[tuple[int, Pair]]] = []
    for dim, size in problem.dims:
        lefts = {ceil_div(size, tile) for tile in range(1, size + 1) if tiling == "ragged" or size % tile == 0}
        limits = axis_limits(problem, fanout, dim)
        per_dim.append(
            sorted({(min(x * y, left), (x, y)) for left in lefts for x, y in all_pairs(left, limits, tiling)})
        )
    sizes = AxisUse.of(fanout).sizes
    return {
        tuple(instances for instances, _ in chosen)
        for chosen in itertools.product(*per_dim)
        if fits((pair for _, pair in chosen), sizes)
    }


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_array_vectors_are_all_that_an_array_can_realize(seed: int) -> None:
    rng = random.Random(seed)
    problem = gemm(rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 6))
    fanout = random_fanout(rng, problem)
    for tiling in TILINGS:
        vectors = [tuple(row) for row in array_vectors(problem, fanout, tiling, [False] * 3).tolist()]
        assert len(set(vectors)) == len(vectors)
        assert set(vectors) == reachable_arrays(problem, fanout, tiling)


@pytest.mark.parametrize("seed", longer.seeds(40))
def test_realizable_over_some_tiles(seed: int) -> None:
    """Just what some trips on the axes make of the tiles that are left."""
    rng = random.Random(seed)
    problem = random_problem(rng, 6)
    fanout, tiling = random_fanout(rng, problem), rng.choice(TILINGS)
    sizes, limits = AxisUse.of(fanout).sizes, [axis_limits(problem, fanout, dim) for dim in problem.dim_names]
    tiles, wanted, expected = [], [], []
    for _ in range(60):
        tile = [rng.choice([t for t in range(1, n + 1) if tiling == "ragged" or n % t == 0]) for _, n in problem.dims]
        lefts = [ceil_div(n, t) for (_, n), t in zip(problem.dims, tile, strict=True)]
        instances = [1 if limit == (1, 1) else rng.choice([1, 1, rng.randint(1, 4)]) for limit in limits]
        ways = [
            [pair for pair in all_pairs(left, limit, tiling) if min(pair[0] * pair[1], left) == n]
            for left, limit, n in zip(lefts, limits, instances, strict=True)
        ]
        tiles.append(tile)
        wanted.append(instances)
        expected.append(any(fits(chosen, sizes) for chosen in itertools.product(*ways)))
    even = [False] * len(problem.dims)
    assert realizable(problem, fanout, tiling, even, np.array(tiles), np.array(wanted)).tolist() == expected
    assert any(expected)
