"""Tile sizes of one dimension: which factors a loop may have, given what is left above it.

A chain of tiles grows from the inside out. Where `left` tiles remain, a loop of f trips leaves ceil(left / f). With
perfect tiling f divides what is left. With ragged tiling any f will do, but only the smallest f that leaves a given
number matters: a larger one makes every tile larger and saves nothing. (That holds as long as a tile's words grow
evenly with its size; where they do not, as with dilated windows, all factors are tried: `even_growth`. Of instances,
more may be better where they keep partial sums (`exact/batch.py`), or where the last round needs one of them only
(`exact/arrays.py`).)
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import Literal

from ..ir import Problem, ceil_div

Tiling = Literal["perfect", "ragged"]
TILINGS: tuple[Tiling, ...] = ("perfect", "ragged")


@lru_cache(maxsize=1 << 14)
def factors(left: int, tiling: Tiling, even: bool) -> tuple[int, ...]:
    """Trip counts worth trying where `left` tiles remain, in ascending order."""
    if tiling == "perfect":
        small = [f for f in range(1, isqrt(left) + 1) if left % f == 0]
        return (*small, *(left // f for f in reversed(small) if f * f != left))
    if not even:
        return tuple(range(1, left + 1))
    found = [1]
    while (tiles := ceil_div(left, found[-1])) > 1:
        found.append(ceil_div(left, tiles - 1))
    return tuple(found)


def even_growth(problem: Problem, dim: str) -> bool:
    """Whether the words of every tensor's tile grow by equal amounts with the tile along `dim`.

    So where `dim` is alone in its ranks, or where the others step by single elements (2p + r along p, not along r).
    """
    return all(
        coefficient == 1
        for tensor in problem.tensors
        for rank in tensor.ranks
        if any(d == dim for d, _ in rank)
        for other, coefficient in rank
        if other != dim
    )


def grow(tile: int, factor: int, size: int) -> int:
    """The tile that a loop of `factor` trips makes; a tile that covers the dimension is the dimension."""
    return min(tile * factor, size)


@lru_cache(maxsize=4096)
def grid(size: int, tiling: Tiling, even: bool) -> tuple[int, ...]:
    """Tile sizes that stand for all others when costs are bounded from below, in ascending order.

    Perfect: the divisors. Ragged: the smallest tile for each number of tiles.
    """
    return factors(size, tiling, even)
