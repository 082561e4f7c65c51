from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from generators import PROBLEM_KINDS, memory, random_problem, tensor
from tilewright.arch import Architecture, Mac, load_arch
from tilewright.cost_models.cost import check_fit, tensor_tile_words
from tilewright.ir import Loop, LoopNest, Mapping, MappingError, Node, Problem, ceil_div
from tilewright.mapper.skeleton import skeletons
from tilewright.mapper.traffic import TrafficModel, ceil_div_array, count_active, per_distinct_row
from tilewright.workloads import conv2d

DRAM_ONLY = Architecture(name="memory", clock_hz=1e9, word_bits=8, levels=(memory("DRAM"),), mac=Mac(energy_pj=1.0))


def model_of(problem: Problem, arch: Architecture = DRAM_ONLY) -> TrafficModel:
    return TrafficModel(next(iter(skeletons(problem, arch))))


# ---- active settings ---------------------------------------------------------------------------------------


def random_digits(rng: random.Random, size: int) -> list[tuple[int, int]]:
    """Nested loops that cover a dimension, as (trips, tile), outermost first; some inner ones are left out."""
    digits, tile = [], 1
    while tile < size:
        trips = rng.randint(1, ceil_div(size, tile))
        digits.append((trips, tile))
        tile = min(tile * trips, size)
    outermost = digits.pop() if digits else (1, size)
    return [outermost, *(d for d in reversed(digits) if rng.random() < 0.8)]


def active(size: int, digits: list[tuple[int, int]]) -> int:
    settings = itertools.product(*(range(trips) for trips, _ in digits))
    return sum(sum(x * tile for x, (_, tile) in zip(s, digits, strict=True)) < size for s in settings)


def test_active_settings_one_by_one() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        size = rng.randint(1, 40)
        digits = random_digits(rng, size)
        columns = [(np.array([trips]), np.array([tile])) for trips, tile in digits]
        assert count_active(size, columns).tolist() == [active(size, digits)], (size, digits)


def test_active_settings_row_by_row() -> None:
    """Rows are independent of each other."""
    rng = random.Random(2)
    cases = [digits for _ in range(3000) if len(digits := random_digits(rng, 23)) == 3]
    assert len(cases) > 100
    columns = [(np.array([d[i][0] for d in cases]), np.array([d[i][1] for d in cases])) for i in range(3)]
    assert count_active(23, columns).tolist() == [active(23, digits) for digits in cases]


def test_tiles_along_a_dimension() -> None:
    tiles = np.arange(1, 30)
    assert ceil_div_array(23, tiles).tolist() == [ceil_div(23, int(tile)) for tile in tiles]


# ---- words of tiles ----------------------------------------------------------------------------------------


def test_words_of_tiles() -> None:
    kinds = set()
    for seed in range(150):
        rng = random.Random(seed)
        problem = random_problem(rng)
        kinds.add(problem.name)
        tiles = np.array([[rng.randint(1, size) for _, size in problem.dims] for _ in range(20)])
        model = model_of(problem)
        for t in problem.tensors:
            expected = [tensor_tile_words(t, dict(zip(problem.dim_names, row, strict=True))) for row in tiles.tolist()]
            assert model.tile_words(t, tiles).tolist() == expected
            assert model.distinct_words(t) == tensor_tile_words(t, problem.sizes)
    assert kinds == set(PROBLEM_KINDS)


def test_words_of_a_strided_window() -> None:
    """Stride 3 and two filter columns leave holes: 2 of every 3 columns."""
    strided = Problem(
        "strided",
        (("P", 4), ("R", 2)),
        (tensor("I", "input", {"P": 3, "R": 1}), tensor("W", "weight", "R"), tensor("O", "output", "P")),
    )
    tiles = np.array([[1, 1], [1, 2], [4, 1], [4, 2]])
    assert model_of(strided).tile_words(strided.tensors[0], tiles).tolist() == [1, 2, 4, 8]


def test_tiles_that_fit() -> None:
    """Private parts, as in the cost model: what fits is what `check_fit` lets pass."""
    problem, arch = conv2d(K=8, C=6, P=5, Q=4, R=3, S=3), load_arch("eyeriss")
    model, rng = model_of(problem, arch), random.Random(3)
    tiles = [[rng.randint(1, size) for _, size in problem.dims] for _ in range(300)]
    nodes = [Node(m.name, t.name) for m in arch.memories for t in problem.tensors if m.keeps[t.role] != "never"]

    def fits(tile: list[int]) -> bool:
        outside = [Loop(d, n) for (d, s), t in zip(problem.dims, tile, strict=True) if (n := ceil_div(s, t)) > 1]
        inside = [Loop(d, t) for d, t in zip(problem.dim_names, tile, strict=True) if t > 1]
        kept_outside = [node for node in nodes if node.memory != "spad"]
        kept_inside = [node for node in nodes if node.memory == "spad"]
        nest = LoopNest((*kept_outside, *outside, *kept_inside, *inside))
        try:
            check_fit(Mapping(problem, nest), arch)
        except MappingError:
            return False
        return True

    expected = [fits(tile) for tile in tiles]
    assert 20 < sum(expected) < 280
    assert model.fits(0, np.array(tiles)).tolist() == expected


# ---- distinct rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "largest"),
    [(1, 5), (3, 4), (8, 6), (12, 10**3), (6, 10**9), (24, 10**4), (5, 2**40)],
)
def test_distinct_rows_one_by_one(columns: int, largest: int) -> None:
    """Wide tables and large values too: a row's code would not fit into an integer."""
    rng = random.Random(columns)
    values = [rng.randint(0, largest) for _ in range(3)]
    table = [[rng.choice(values) for _ in range(columns)] for _ in range(400)]
    table += [[*row[:-1], rng.choice(values)] for row in table[:100]]
    calls = []

    def function(row: tuple[int, ...]) -> tuple[int, int]:
        calls.append(row)
        return hash(row) % 10**12, row[0] + row[-1]

    found = per_distinct_row([np.array(column) for column in zip(*table, strict=True)], function)
    assert sorted(calls) == sorted({tuple(row) for row in table})
    assert [tuple(pair) for pair in found.tolist()] == [function(tuple(row)) for row in table]


def test_rows_that_differ_in_the_first_column_only() -> None:
    """The first column is the one that an overflow would lose."""
    first = np.arange(50)
    others = [np.full(50, 2**31 - 1) for _ in range(6)]
    found = per_distinct_row([first, *others], lambda row: (row[0], row[1]))
    assert found[:, 0].tolist() == first.tolist()
    assert set(found[:, 1].tolist()) == {2**31 - 1}
