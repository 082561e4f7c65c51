"""What every instance needs at least once is never more than what the simulator's counts give it."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import longer
from generators import windows_below_arrays, with_wide_sums
from paths import context_of, random_uneven, steps_to
from tilewright.arch import load_arch
from tilewright.cost_models.cost import tensor_tile_words
from tilewright.ir import Problem, Tensor
from tilewright.mapper.exact.bounds.once import OnceEach
from tilewright.mapper.exact.question.hierarchy import MAC, MemoryBoundary
from tilewright.mapper.exact.rows import Rows
from tilewright.mapper.exact.tiles.instances import tiles_needed
from tilewright.mapper.tilings import TILINGS


@pytest.mark.parametrize("seeds", longer.blocks(200, 200))
def test_once_for_every_instance_is_never_more_than_is_moved(seeds: range) -> None:
    """With windows and arrays inside each other, the more of the arrays are decided; words of complete rows are those
    of the simulator (`test_traffic.py`)."""
    compared = more = equal = windows = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = windows_below_arrays(rng)
        ragged = rng.random() < 0.8
        arch = with_wide_sums(arch) if rng.random() < 0.5 else arch
        mapping = random_uneven(rng, problem, arch, ragged)
        context = context_of(problem, arch, TILINGS[ragged], "uneven", rng.choice([None, 3.0]))
        if any(memory.halo == "exact" for memory in arch.memories):
            continue  # what these save is counted by the cost model only
        *_, step = steps_to(mapping, context)
        rows = step.rows
        for decided in range(len(rows.arrays) + 1):
            once = OnceEach(context.bounds, TILINGS[ragged], Rows(1, [], rows.arrays[:decided]))
            for boundary, fill_point in step.fill_points:
                if boundary.inner == MAC:
                    continue
                tensor = problem.tensors[boundary.tensor]
                words = tensor_tile_words(tensor, problem.sizes)
                charged = context.model(step.path), rows, boundary, fill_point
                assert (once.of(boundary) <= context.costs.of(*charged, exactly=True) * (1 + 1e-12)).all()
                moved = context.costs.words(*charged, exactly=True)
                for least, most in zip(once.times(boundary), moved, strict=True):
                    assert least[0] * words <= most[0] * (1 + 1e-12), (seed, str(mapping), boundary, decided)
                    compared += 1
                    more += least[0] > 1
                    equal += math.isclose(least[0] * words, most[0]) and least[0] > 1
                    windows += least[0] % 1 > 0
    assert longer.occurs(compared > 200)
    assert longer.occurs(more > 60)
    assert longer.occurs(equal > 20)
    assert longer.occurs(windows > 5)


def times(array: list[int], stride: int = 1) -> float:
    """How often, on average, a word of a window p + r over 14 and 3 elements goes to the registers of an array."""
    dims = (("P", 14), ("R", 3), ("K", 8))
    tensors = (Tensor("I", ((("P", stride), ("R", 1)),), "input"), Tensor("O", ((("P", 1),), (("K", 1),)), "output"))
    context = context_of(Problem("window", dims, tensors), load_arch("three_level"), "ragged", "even")
    once = OnceEach(context.bounds, "ragged", Rows(1, [], [np.array([array])]))
    return float(once.times(MemoryBoundary(0, 0, 1))[0][0])


def test_windows_reach_beyond_the_part_of_each_instance() -> None:
    assert times([1, 1, 1]) == 1
    assert times([1, 1, 8]) == 8, "all kernels want all pixels"
    assert times([2, 1, 1]) == 18 / 16, "two windows over 7 pixels each"
    assert times([4, 1, 1]) == (14 + 4 * 2) / 16
    assert times([2, 3, 1]) == (14 * 3 + 3 * 2 - 6) / 16
    assert times([2, 1, 1], stride=2) == (14 * 2 + 2) / 29, "windows over every second pixel share one"
    assert times([2, 1, 1], stride=3) == 1, "and none over every third"


def of_product(rows: int, arrays: dict[int, int]) -> tuple[OnceEach, list[str]]:
    """A product of so many rows, 32 deep, on a GPU: instances along the rows for some of its fanouts, the innermost one
    number 0; and the names of the cost columns."""
    dims = (("M", rows), ("N", 8), ("K", 32))
    pairs = (("A", "MK", "input"), ("B", "KN", "weight"), ("C", "MN", "output"))
    tensors = tuple(Tensor(name, tuple(((dim, 1),) for dim in own), role) for name, own, role in pairs)
    context = context_of(Problem("product", dims, tensors), load_arch("v100"), "ragged", "uneven")
    names = ["energy", *(port.memory.name for port in context.costs.cost_columns.ports)]
    chosen = [np.array([[arrays.get(fanout, 1), 1, 1]]) for fanout in range(5)]
    return OnceEach(context.bounds, "ragged", Rows(1, [], chosen)), names


def test_few_rows_leave_work_for_nearly_all_of_nested_instances() -> None:
    """Two partitions of each of seven SMs, in blocks of four rows: 13 blocks or 25 can leave one partition without any,
    14 blocks or 27 cannot."""
    shared = MemoryBoundary(1, 0, 1)
    for rows, working in ((56, 14), (53, 14), (52, 13), (108, 14), (105, 14), (100, 13)):
        once, _ = of_product(rows, {1: 4, 3: 2, 4: 7})
        assert once.times(shared)[0][0] == working, rows


def test_the_first_sm_has_whole_blocks() -> None:
    """24 rows are six blocks of four, of which one of five SMs has two; and of 21 rows the last block has one row."""
    for rows, first in ((24, 8), (21, 5), (20, 4), (28, 8), (29, 8)):
        once, names = of_product(rows, {1: 4, 4: 5})
        cycles = once.of(MemoryBoundary(0, 1, 2))[names.index("shared"), 0]
        assert cycles == pytest.approx(first * 32 * 16 / (128 * 8)), rows


def test_of_visits_single_rows_are_dealt_out() -> None:
    """Loops outside cut the rows into visits of nine: of blocks in them nothing is said."""
    cut = (9, 8, 32)
    once, _ = of_product(56, {1: 4, 3: 2, 4: 7})
    once.hierarchy = replace(once.hierarchy, visit=cut)
    assert once.times(MemoryBoundary(1, 0, 1))[0][0] == 13, "all partitions of six SMs, and one of the seventh"
    once, names = of_product(24, {1: 4, 4: 5})
    once.hierarchy = replace(once.hierarchy, visit=cut)
    cycles = once.of(MemoryBoundary(0, 1, 2))[names.index("shared"), 0]
    assert cycles == pytest.approx(5 * 32 * 16 / (128 * 8))


@pytest.mark.parametrize("outer", [1, 2, 3])
def test_of_nested_arrays_all_instances_but_the_last_have_whole_tiles(outer: int) -> None:
    needed = tiles_needed([np.array([[1]]), np.array([[4]]), np.array([[outer]])], perfect=False)
    assert needed[0, 0] == {1: 4, 2: 5, 3: 9}[outer]
