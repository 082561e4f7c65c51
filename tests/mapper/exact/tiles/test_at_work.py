"""Instances that ever have work along one dimension, and what the first of them has, against all tiles there are."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tilewright.ir import ceil_div
from tilewright.mapper.exact.tiles.at_work import MOST_BLOCKS, first_has, instances_at_work
from tilewright.mapper.exact.tiles.instances import tiles_needed


def nests(size: int, counts: Sequence[int], tile: int = 1) -> Iterator[tuple[int, ...]]:
    """The tiles inside one instance of each of some nested arrays, innermost first, with any loop in time directly
    inside each array, in which no array has more instances than tiles."""
    if not counts:
        yield ()
        return
    for trips in range(1, ceil_div(size, tile) + 1):
        if counts[0] > ceil_div(size, trips * tile):
            return
        for outer in nests(size, counts[1:], trips * tile * counts[0]):
            yield (trips * tile, *outer)


def by_enumeration(size: int, counts: Sequence[int], inside: int) -> tuple[int, int]:
    """The fewest instances of the arrays from number `inside` on that have any element, and the fewest elements that
    the first of them has, over all tiles; every element is given to its instance one by one."""
    working, first = [], []
    for tiles in nests(size, counts):
        places = list(zip(counts, tiles, strict=True))[inside:]
        owners = [tuple(element // tile % count for count, tile in places) for element in range(size)]
        working.append(len(set(owners)))
        first.append(owners.count((0,) * len(places)))
    return min(working, default=0), min(first, default=0)


def bounds(size: int, counts: Sequence[int], inside: int) -> tuple[int, int]:
    block = np.array([min(math.prod(counts[:inside]), size)])
    outer = [np.array([count]) for count in counts[inside:]]
    working = instances_at_work(size, block, outer)
    return int(working[0]), int(first_has(size, block, np.prod(outer, axis=0))[0])


def _one_row(*columns: int) -> list[np.ndarray]:
    return [np.array([column]) for column in columns]


@pytest.mark.long
def test_never_more_than_any_tiles_leave_and_mostly_as_much() -> None:
    exact_working = exact_first = compared = beyond_tiles = beyond_elements = 0
    for size, counts in itertools.product(range(1, 25), itertools.product((1, 2, 3, 4), repeat=3)):
        for inside in range(3):
            working, first = by_enumeration(size, counts, inside)
            if not working:
                continue  # the arrays have more instances than there are elements
            least_working, least_first = bounds(size, counts, inside)
            assert least_working <= working, (size, counts, inside)
            assert least_first <= first, (size, counts, inside)
            compared += 1
            exact_working += least_working == working
            exact_first += least_first == first
            outer = [np.array([count]) for count in counts[inside:]]
            beyond_tiles += least_working > tiles_needed([np.array([1]), *outer], perfect=False)[0]
            beyond_elements += least_first > ceil_div(size, math.prod(counts[inside:]))
    assert exact_working == compared
    assert exact_first > 0.9 * compared
    assert beyond_tiles > 100
    assert beyond_elements > 100


def test_many_blocks_and_rows() -> None:
    """More blocks than are looked at one by one, and several rows at once, as each has them alone."""
    rng = random.Random(0)
    sizes = [(rng.randint(MOST_BLOCKS - 20, 2 * MOST_BLOCKS), rng.randint(2, 5), rng.randint(2, 9)) for _ in range(20)]
    for size, inner, outer in sizes:
        working, first = by_enumeration(size, (inner, outer), 0)
        assert bounds(size, (inner, outer), 0)[0] <= working
        assert bounds(size, (inner, outer), 0)[1] <= first
    size = 60
    blocks, inner, outer = (np.array(column) for column in zip(*(s for s in sizes), strict=True))
    blocks = blocks % 7 + 1
    together = instances_at_work(size, blocks, [inner, outer])
    each = zip(blocks.tolist(), inner.tolist(), outer.tolist(), strict=True)
    alone = [int(instances_at_work(size, *_one_row(b), list(_one_row(i, o)))[0]) for b, i, o in each]
    assert together.tolist() == alone


def test_blocks_are_dealt_out_whole() -> None:
    assert bounds(7, (4, 2), 0)[0] == 7, "one tile each for four, and three are left for the others"
    assert bounds(24, (4, 5), 1)[1] == 8, "six blocks of four over five instances"
    assert bounds(21, (4, 5), 1)[1] == 5, "of six blocks the last one has a single element"
