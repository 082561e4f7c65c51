"""How many instances share a word of a window, against all places that instances of one array may have."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from paths import context_of
from tilewright.arch import load_arch
from tilewright.ir import Problem
from tilewright.mapper.exact.bounds.array_groups import any_arrays, group_of
from tilewright.mapper.exact.bounds.boundary_costs import BoundaryBounds
from tilewright.mapper.exact.bounds.shared_windows import SharedWindows
from tilewright.mapper.exact.context import SearchContext
from tilewright.mapper.exact.hierarchy import MemoryBoundary
from tilewright.workloads import conv2d

SIZES = {"K": 2, "C": 1, "P": 8, "Q": 1, "R": 4, "S": 1}
DEEP = MemoryBoundary(0, 0, 1)
"""Inputs, between the registers and the buffer, on both sides of the array of `three_level`."""


def question(stride: int = 1, dilation: int = 1) -> tuple[Problem, SearchContext]:
    problem = conv2d(**SIZES, stride=stride, dilation=dilation)
    kept = {dim for dim, size in problem.dims if size > 1}
    assert kept == {"K", "P", "R"}
    context = context_of(problem, load_arch("three_level"), "perfect", "even")
    assert problem.tensors[0].name == "I"
    return problem, context


def wanted_together(steps: tuple[int, int], tile: tuple[int, int], array: tuple[int, int]) -> int:
    """The fewest words that the instances of an array want together: whatever loops stand between it and the tile,
    neighbours are several tiles apart."""
    fewest = 10**9
    rooms = [range(1, size // (t * n) + 1) for size, t, n in zip((8, 4), tile, array, strict=True)]
    for apart in itertools.product(*rooms):
        along = [
            [n * distance * t + i for n in range(count) for i in range(t)]
            for distance, t, count in zip(apart, tile, array, strict=True)
        ]
        words = {steps[0] * p + steps[1] * r for p in along[0] for r in along[1]}
        fewest = min(fewest, len(words))
    return fewest


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_no_more_instances_share_a_word_than_stated(stride: int, dilation: int) -> None:
    problem, context = question(stride, dilation)
    names, lattice = problem.dim_names, context.bounds.lattice
    p, r = names.index("P"), names.index("R")
    compared = better = 0
    for in_p, in_r, in_k in itertools.product((1, 2, 4), (1, 2), (1, 2)):
        array = np.ones((1, len(names)), dtype=np.int64)
        array[0, p], array[0, r], array[0, names.index("K")] = in_p, in_r, in_k
        group = group_of(context.hierarchy, "perfect", [array])
        found = SharedWindows(context.hierarchy, lattice, group).shared_by(DEEP, 0)
        assert found is not None
        for tile_p, tile_r in itertools.product((1, 2, 4, 8), (1, 2, 4)):
            if tile_p * in_p > 8 or tile_r * in_r > 4:
                continue
            tile = np.ones((1, len(names)), dtype=np.int64)
            tile[0, p], tile[0, r] = tile_p, tile_r
            own = len({stride * i + dilation * j for i in range(tile_p) for j in range(tile_r)})
            most = in_k * in_p * in_r * own / wanted_together((stride, dilation), (tile_p, tile_r), (in_p, in_r))
            stated = float(found[0, int(lattice.cell(tile)[0])])
            assert stated >= most * (1 - 1e-12), (tile_p, tile_r, in_p, in_r)
            compared += 1
            better += stated < in_k * in_p * in_r
    assert compared > 50
    assert better > 10


def test_instances_of_small_windows_do_not_bring_each_other_all_words() -> None:
    """Windows charged inside an array were as if all instances shared all words."""
    problem, context = question()
    array = np.ones((1, len(problem.dims)), dtype=np.int64)
    array[0, problem.dim_names.index("P")] = 4
    group = group_of(context.hierarchy, "perfect", [array])
    lattice, columns = context.bounds.lattice, context.bounds.cost_columns
    tile = np.ones((1, len(problem.dims)), dtype=np.int64)
    tile[0, problem.dim_names.index("R")] = 4
    cell = int(lattice.cell(tile)[0])

    def energy(bounds: BoundaryBounds) -> float:
        return float(bounds.cost(DEEP, 0).reshape(1, columns.count, -1)[0, 0, cell])

    known = energy(BoundaryBounds(context.hierarchy, lattice, columns, group))
    unknown = replace(group, arrays=any_arrays(context.hierarchy).arrays)
    assert known > 1.2 * energy(BoundaryBounds(context.hierarchy, lattice, columns, unknown))


def test_nothing_is_said_of_arrays_that_are_not_known() -> None:
    _, context = question()
    windows = SharedWindows(context.hierarchy, context.bounds.lattice, any_arrays(context.hierarchy))
    found = windows.shared_by(DEEP, 0)
    assert found is not None
    assert np.isinf(found).all()
    assert windows.shared_by(DEEP, 1) is None
