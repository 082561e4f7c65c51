"""Tile sizes of a nest: what one position covers, per dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from .nest import Loop, LoopNest
from .problem import Problem


def ceil_div(numerator: int, denominator: int) -> int:
    """Smallest whole number of `denominator`s that cover `numerator`."""
    return -(-numerator // denominator)


class Digit(NamedTuple):
    """A loop as a digit of its dimension's index: the index is the sum of value * tile over the digits."""

    position: int
    trips: int
    tile: int
    spatial: bool


def digits_by_dimension(problem: Problem, nest: LoopNest) -> dict[str, tuple[Digit, ...]]:
    """Return the loops of each dimension, outermost first, each with the tile (elements) that one trip covers."""
    below: dict[str, int] = dict.fromkeys(problem.dim_names, 1)
    digits: dict[str, list[Digit]] = {dim: [] for dim in problem.dim_names}
    for position in range(len(nest) - 1, -1, -1):
        item = nest.items[position]
        if isinstance(item, Loop):
            digits[item.dim].append(Digit(position, item.trips, below[item.dim], item.is_spatial))
            below[item.dim] *= item.trips
    return {dim: tuple(reversed(found)) for dim, found in digits.items()}


def tile_below(problem: Problem, nest: LoopNest, position: int) -> Mapping[str, int]:
    """Elements of each dimension that the loops at and below `position` touch, at most the whole dimension."""
    loops = [item for item in nest.items[position:] if isinstance(item, Loop)]
    return {dim: min(size, math.prod(loop.trips for loop in loops if loop.dim == dim)) for dim, size in problem.dims}
