"""Where loops of a growing mapping may pay that are longer than leaves as many tiles (`tilings.ragged_trips`): with
ragged tiles, below and above arrays. Arrays are decided before any tile, so each row knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....ir import Problem
from ...tilings import Tiling, factors, ragged_trips
from ..rows import Ints

NEVER = np.iinfo(np.int64).max


def trip_rules(problem: Problem, inside: Sequence[Ints], outside: Sequence[Ints], count: int, adjacent: bool) -> Ints:
    """Tabulate (rows, dims, 4) the arguments `spread`, `loose_from`, `alone` and `shared` of `trips_tried` for one
    band: they say where longer loops may pay.

    inside    per fanout that has been passed, (rows, dims) instances
    outside   per fanout to come, innermost first
    count     rows
    adjacent  whether no other loop in time can stand between this band and the first fanout to come
    """
    one = np.ones((count, len(problem.dims)), dtype=np.int64)
    dealt_inside = np.prod([one, *inside], axis=0, dtype=np.int64)
    dealt_out = np.prod([dealt_inside, *outside], axis=0, dtype=np.int64)
    alone = np.where(outside[0] > 1, outside[0], 0) if adjacent and outside else 0 * one
    fewest = np.min([NEVER * one, *(np.where(n > 1, n, NEVER) for n in outside[adjacent:])], axis=0)
    loose_from = np.where(fewest == NEVER, 0, fewest + 1)
    shared = np.zeros_like(one)
    for dims in windows_of(problem):
        shared[:, dims] |= (dealt_out[:, dims].prod(axis=1, keepdims=True) > 1).astype(np.int64)
    return np.stack([(dealt_inside > 1).astype(np.int64), loose_from, alone, shared], axis=2)


def windows_of(problem: Problem) -> list[list[int]]:
    """Dimensions that share words along some rank, by their indices."""
    index = {dim: d for d, dim in enumerate(problem.dim_names)}
    ranks = {rank for tensor in problem.tensors for rank in tensor.ranks if len(rank) > 1}
    return [[index[dim] for dim, _ in rank] for rank in sorted(ranks)]


def trips_tried(
    left: int,
    most: int,
    tiling: Tiling,
    even: bool,
    spread: int = 0,
    loose_from: int = 0,
    alone: int = 0,
    shared: int = 0,
) -> Sequence[int]:
    """Trips worth trying where `left` tiles remain, in ascending order.

    most    of which there is room
    even    whether tiles grow evenly (`tilings.linear_growth`), and no constraint may ask for longer loops
    shared  whether a window along this dimension is dealt out to an array: how many words its instances share depends
            on the size of every tile

    The others are those of `tilings.ragged_trips`.
    """
    if tiling == "perfect":
        return factors(left, tiling, even)
    if not even or shared:
        return range(1, min(left, most) + 1)
    return ragged_trips(left, min(left, most), bool(spread), loose_from, alone)
