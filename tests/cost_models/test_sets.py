"""Distinct elements along a rank, against sets written out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.cost_models.sets import Move, distinct_sums, distinct_sums_of, moved_along_rank

coefficients = st.integers(1, 5)
extents = st.integers(1, 6)
moves = st.builds(Move, offset=st.integers(0, 8), extent=extents, shift=st.integers(-8, 8), old_extent=extents)


def sums(weights: Iterable[int], ranges: Iterable[range]) -> set[int]:
    """All values of `sum(weight * index)`, with each index in its range."""
    terms = [[weight * x for x in span] for weight, span in zip(weights, ranges, strict=True)]
    return {sum(point) for point in itertools.product(*terms)}


@settings(derandomize=True)
@given(st.lists(st.tuples(coefficients, extents), max_size=3))
def test_distinct_sums(dims: list[tuple[int, int]]) -> None:
    weights, sizes = tuple(w for w, _ in dims), tuple(n for _, n in dims)
    assert distinct_sums(weights, sizes) == len(sums(weights, [range(n) for n in sizes]))


@settings(derandomize=True)
@given(st.lists(st.tuples(coefficients, st.tuples(extents, extents)), min_size=1, max_size=3), st.booleans())
def test_distinct_sums_of_many_tiles(dims: list[tuple[int, tuple[int, int]]], is_box: bool) -> None:
    weights, columns = tuple(w for w, _ in dims), [np.array(sizes) for _, sizes in dims]
    reached = [sums(weights, map(range, row)) for row in zip(*(sizes for _, sizes in dims), strict=True)]
    counts = [1 + max(found) if is_box else len(found) for found in reached]
    assert distinct_sums_of(weights, columns, "box" if is_box else "exact").tolist() == counts


def test_distinct_sums_of_familiar_windows() -> None:
    assert distinct_sums((1, 1), (16, 3)) == 18
    assert distinct_sums((2, 1), (28, 1)) == 28, "a 1x1 window at stride 2 skips every other input"
    assert distinct_sums((2, 1), (4, 3)) == 9
    assert distinct_sums((1, 3), (2, 3)) == 6, "dilation 3 leaves holes between pairs"
    assert distinct_sums((), ()) == 1


@settings(derandomize=True)
@given(st.lists(st.tuples(coefficients, st.lists(moves, min_size=1, max_size=3)), min_size=2, max_size=3))
def test_moved_along_a_rank(dims: list[tuple[int, list[Move]]]) -> None:
    """The group is the product of its dimensions' moves; an element that all who want it hold needs no transfer."""
    weights = tuple(weight for weight, _ in dims)
    wanted: set[int] = set()
    missing: set[int] = set()
    for instance in itertools.product(*(found for _, found in dims)):
        new = sums(weights, [range(m.offset, m.offset + m.extent) for m in instance])
        held = sums(weights, [range(m.offset - m.shift, m.offset - m.shift + m.old_extent) for m in instance])
        wanted |= new
        missing |= new - held
    instances = tuple(tuple(found) for _, found in dims)
    assert moved_along_rank(weights, instances) == (len(wanted), len(wanted - missing))


@settings(derandomize=True)
@given(coefficients, st.integers(1, 4), extents, st.integers(0, 8))
def test_moved_along_a_rank_of_one_dimension(weight: int, instances: int, extent: int, tiles: int) -> None:
    """Instances hold disjoint tiles, which move by whole tiles or not at all."""
    shift = tiles * extent
    group = tuple(Move(i * extent, extent, shift, extent) for i in range(instances))
    words = instances * extent
    assert moved_along_rank((weight,), (group,)) == (words, words if shift == 0 else 0)


def test_moved_along_a_rank_of_a_sliding_window() -> None:
    # Windows of 3 that slide by 1: one new element each. Side by side, 012 and 123 become 123 and 234: the first
    # window lacks 3 and the second lacks 4, and of the four elements only 1 and 2 are held by all who want them.
    step, still = Move(1, 1, 1, 1), Move(0, 3, 0, 3)
    assert moved_along_rank((1, 1), ((step,), (still,))) == (3, 2)
    assert moved_along_rank((1, 1), ((step, Move(2, 1, 1, 1)), (still,))) == (4, 2)
