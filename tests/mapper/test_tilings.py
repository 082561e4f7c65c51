from __future__ import annotations

import itertools
import random

import pytest

import longer
from generators import random_problem
from tilewright.cost_models.cost import tensor_tile_words
from tilewright.ir import ceil_div
from tilewright.mapper.tilings import factors, grid, grow, linear_growth, prime_exponents, ragged_trips
from tilewright.workloads import conv2d, gemm

SIZES = [*range(1, 70), 112, 224, 997, 1000]


def test_prime_exponents() -> None:
    found = [dict(prime_exponents(number)) for number in (1, 2, 12, 49, 97, 1_000_003)]
    assert found == [{}, {2: 1}, {2: 2, 3: 1}, {7: 2}, {97: 1}, {1_000_003: 1}]


@pytest.mark.parametrize("left", SIZES)
def test_perfect_factors_are_the_divisors(left: int) -> None:
    for even in (True, False):
        assert factors(left, "perfect", even) == tuple(f for f in range(1, left + 1) if left % f == 0)


@pytest.mark.parametrize("left", SIZES)
def test_ragged_factors_are_the_smallest_for_each_number_of_tiles(left: int) -> None:
    smallest: dict[int, int] = {}
    for factor in range(left, 0, -1):
        smallest[ceil_div(left, factor)] = factor
    assert factors(left, "ragged", True) == tuple(sorted(smallest.values()))


def test_uneven_growth_tries_every_factor() -> None:
    assert factors(7, "ragged", False) == (1, 2, 3, 4, 5, 6, 7)
    assert factors(7, "ragged", True) == (1, 2, 3, 4, 7)


@pytest.mark.parametrize("left", range(1, 40))
def test_trips_beyond_the_smallest(left: int) -> None:
    """Each of them by its reason alone: the last tile is a single one of those inside; enough tiles are left; or just
    so many that the last round needs one instance."""
    smallest, every = set(factors(left, "ragged", True)), range(1, left + 1)
    assert set(ragged_trips(left, left, spread=False)) == smallest
    assert ragged_trips(left, 5, True, 3, 2) == tuple(f for f in ragged_trips(left, left, True, 3, 2) if f <= 5)
    single = {f for f in every if left > 1 and (left - 1) % f == 0}
    assert set(ragged_trips(left, left, spread=True)) == smallest | single
    for count in range(2, 7):
        enough = {f for f in every if ceil_div(left, f) > count}
        assert set(ragged_trips(left, left, spread=False, loose_from=count + 1)) == smallest | enough
        lonely = {f for f in every if ceil_div(left, f) > 1 and ceil_div(left, f) % count == 1}
        assert set(ragged_trips(left, left, spread=False, alone=count)) == smallest | lonely


def test_grid_is_the_factors_of_the_whole_dimension() -> None:
    assert grid(12, "perfect", True) == (1, 2, 3, 4, 6, 12)
    assert grid(13, "ragged", True) == (1, 2, 3, 4, 5, 7, 13)


def test_a_tile_grows_up_to_its_dimension() -> None:
    assert grow(2, 3, 13) == 6
    assert grow(6, 3, 13) == 13


@pytest.mark.parametrize("size", range(1, 40))
def test_what_is_left_depends_on_the_tile_alone(size: int) -> None:
    for first, second in itertools.product(range(1, size + 1), repeat=2):
        left = ceil_div(ceil_div(size, first), second)
        assert left == ceil_div(size, grow(grow(1, first, size), second, size))


def test_even_growth_of_layers() -> None:
    product = gemm(4, 4, 4)
    assert all(linear_growth(product, dim) for dim in product.dim_names)
    plain = conv2d(2, 2, 6, 6, 3, 3)
    assert all(linear_growth(plain, dim) for dim in plain.dim_names)
    strided = conv2d(2, 2, 6, 6, 3, 3, stride=(2, 1))
    assert [dim for dim in strided.dim_names if not linear_growth(strided, dim)] == ["R"]
    dilated = conv2d(2, 2, 6, 6, 3, 3, dilation=2)
    assert [dim for dim in dilated.dim_names if not linear_growth(dilated, dim)] == ["P", "Q"]


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_even_growth_means_equal_steps(seed: int) -> None:
    rng = random.Random(seed)
    problem = random_problem(rng)
    for dim, size in problem.dims:
        if not linear_growth(problem, dim):
            continue
        for _ in range(5):
            tile = {d: rng.randint(1, n) for d, n in problem.dims}
            for tensor in problem.tensors:
                words = [tensor_tile_words(tensor, tile | {dim: t}) for t in range(1, size + 1)]
                assert len({b - a for a, b in itertools.pairwise(words)}) <= 1
