"""Mappings cover their problem exactly; tiles and digits of a nest."""

from __future__ import annotations

import itertools
import math
import random
import re

import pytest

import longer
from generators import random_architecture, random_mapping, random_problem, tensor
from tilewright.ir import (
    Digit,
    LoopNest,
    Mapping,
    MappingError,
    Problem,
    ceil_div,
    digits_by_dimension,
    tile_below,
)

GEMM = Problem(
    "gemm",
    (("M", 5), ("N", 4), ("K", 1)),
    (tensor("A", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N")),
)
NEST = """\
DRAM keeps A W O
for M in 3
  for N in 2
    L1 keeps A
    parallel N in 2 on array.x
      for M in 2"""


def mapping(nest: str) -> Mapping:
    return Mapping(GEMM, LoopNest.parse(nest))


def test_text_and_value() -> None:
    found = mapping(NEST)
    assert str(found) == NEST
    assert len({found, mapping(NEST)}) == 1
    assert found != mapping(NEST.replace("for M in 2", "for M in 2\n for K in 1"))


@pytest.mark.parametrize(
    ("nest", "message"),
    [
        (
            "DRAM keeps A W O\nfor M in 5\nfor N in 4\nfor J in 2",
            "loop over unknown dimension 'J'\nhint: known: M, N, K",
        ),
        ("DRAM keeps A W O X\nfor M in 5\nfor N in 4", "DRAM keeps unknown tensor 'X'\nhint: known: A, W, O"),
        ("DRAM keeps A W O\nfor M in 5\nDRAM keeps W\nfor N in 4", "DRAM keeps W twice"),
        (
            "DRAM keeps A O\nfor M in 5\nfor N in 4",
            "no memory keeps tensor W\nhint: add a line such as 'DRAM keeps W' at the top",
        ),
        (
            "DRAM keeps A W O\nfor M in 5",
            "dimension N has 4 elements, and its loops are no loop\n"
            "hint: the outermost loop over N must have 4 trips, since the loops inside cover 1",
        ),
        (
            "DRAM keeps A W O\nfor M in 2\nfor N in 4\nfor M in 2",
            "dimension M has 5 elements, and its loops are 2 x 2\n"
            "hint: the outermost loop over M must have 3 trips, since the loops inside cover 2",
        ),
        (
            "DRAM keeps A W O\nfor M in 4\nfor N in 4\nfor M in 2",
            "dimension M has 5 elements, and its loops are 4 x 2\n"
            "hint: the outermost loop over M must have 3 trips, since the loops inside cover 2",
        ),
        (
            "DRAM keeps A W O\nfor M in 5\nfor N in 4\nfor K in 2",
            "dimension K has 1 elements, and its loops are 2\n"
            "hint: the outermost loop over K must have 1 trips, since the loops inside cover 1",
        ),
    ],
)
def test_refused(nest: str, message: str) -> None:
    with pytest.raises(MappingError, match="^" + re.escape(message) + "$"):
        mapping(nest)


def test_loops_of_one_trip_say_nothing() -> None:
    assert mapping("DRAM keeps A W O\nfor M in 1\nfor M in 5\nfor K in 1\nfor N in 4\nfor N in 1").problem is GEMM


def test_ceil_div() -> None:
    assert [ceil_div(n, 4) for n in range(10)] == [math.ceil(n / 4) for n in range(10)]


def test_tile_below() -> None:
    nest = LoopNest.parse(NEST)
    tiles = [tuple(tile_below(GEMM, nest, position).values()) for position in range(len(nest) + 1)]
    # Three nodes above everything; then below M in 3 (5, not 6), N in 2, the node of L1, N in 2, and M in 2.
    assert tiles == [(5, 4, 1)] * 4 + [(2, 4, 1), (2, 2, 1), (2, 2, 1), (2, 1, 1), (1, 1, 1)]


def test_digits_by_dimension() -> None:
    assert digits_by_dimension(GEMM, LoopNest.parse(NEST)) == {
        "M": (Digit(position=3, trips=3, tile=2, spatial=False), Digit(position=7, trips=2, tile=1, spatial=False)),
        "N": (Digit(position=4, trips=2, tile=2, spatial=False), Digit(position=6, trips=2, tile=1, spatial=True)),
        "K": (),
    }


def test_digits_reach_every_index_once() -> None:
    for seed in longer.seeds(200):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng)
        found = random_mapping(rng, problem, arch)
        for dim, digits in digits_by_dimension(problem, found.nest).items():
            values = itertools.product(*(range(d.trips) for d in digits))
            reached = sorted(sum(v * d.tile for v, d in zip(v, digits, strict=True)) for v in values)
            # Beyond the edge there may be indices of the last tile, which is ragged, but not a whole tile of them.
            assert reached == list(range(len(reached)))
            assert 0 <= len(reached) - problem.sizes[dim] < (digits[0].tile if digits else 1)
            below_first = digits[0].position + 1 if digits else 0
            assert tile_below(problem, found.nest, below_first)[dim] == (digits[0].tile if digits else 1)
