"""What a memory with `halo: exact` is given at least, of perfect tiles along windows.

Such a memory keeps what a tile has in common with the one before it at every move, whichever loop makes it. Let n_1,
n_2, .. be the trips of all loops in time above a tile, from the first one on that moves it, and P_l = n_1 .. n_(l - 1).
When loop l steps, all inside it wrap, and a part g_l of the tile has to be given. So the part that is given per visit
is

    the sum over l of (1 - 1 / n_l) / P_l * g_l, and 1 / (n_1 n_2 ..) for the first visit.

Lemma. g_l depends on the tile, on how far the loops inside l reach along each dimension, and on the dimension of l:
extents of perfect tiles say all of that. A loop of n = p q trips gives what two loops of p and of q trips give one
after the other. A loop along no window gives all, and so does every loop outside it. A loop that does not move the
tensor may stand anywhere, and what it adds lies between what it gives itself and what the rest gives. So the least over
all orders of primes, one after the other, ended by a loop along no window, or by one that does not move the tensor, or
by none, is never above the part that is given: it is a shortest path over extents (`least`).

Where instances with windows of their own stand further out, they move tiles without a loop in time, and nothing is
known but that all distinct words come in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from ....arch import Footprint
from ....cost_models.sets import Move, moved_along_rank
from ....ir import Problem, Tensor
from ...tilings import prime_exponents
from ..rows import Floats, Ints, distinct, row_codes

Extents = tuple[int, ...]
"""Per dimension along windows."""


class KeptHalo:
    """The halo of one tensor: dims are those along windows."""

    def __init__(self, problem: Problem, tensor: Tensor, footprint: Footprint) -> None:
        names = {dim for rank in tensor.ranks if len(rank) > 1 for dim, _ in rank}
        self.dims = [d for d, dim in enumerate(problem.dim_names) if dim in names]
        self.sizes = tuple(problem.dims[d][1] for d in self.dims)
        place = {problem.dim_names[d]: i for i, d in enumerate(self.dims)}
        inside = [rank for rank in tensor.ranks if {dim for dim, _ in rank} <= names]
        self.ranks = [(tuple(place[dim] for dim, _ in rank), tuple(c for _, c in rank)) for rank in inside]
        self.footprint: Footprint = footprint
        self.may_stay = any(size > 1 and dim not in tensor.dims for dim, size in problem.dims)
        self.least = lru_cache(maxsize=1 << 18)(self._least)

    def given(self, tile: Extents, steps: Sequence[int]) -> float:
        """The part of a tile that is given after a move by so many elements along each dimension."""
        kept = 1.0
        for places, coefficients in self.ranks:
            extents, moved = tuple(tile[i] for i in places), tuple(steps[i] for i in places)
            kept *= _kept(coefficients, extents, moved, self.footprint)
        return 1 - kept

    def _least(self, tile: Extents, begun: Extents, reached: Extents) -> float:
        """The part of a tile that is given per visit at least.

        begun    extents of the tile and the instances directly above it
        reached  and of all loops up to now
        """
        wraps = [below - after for below, after in zip(begun, reached, strict=True)]
        found = self.given(tile, wraps) if self.may_stay and any(wraps) else 1.0
        for i, (extent, size) in enumerate(zip(reached, self.sizes, strict=True)):
            if extent < size:
                steps = [*wraps[:i], wraps[i] + extent, *wraps[i + 1 :]]
                given = self.given(tile, steps)
                for p in prime_exponents(size // extent):
                    above = (*reached[:i], extent * p, *reached[i + 1 :])
                    found = min(found, (1 - 1 / p) * given + self.least(tile, begun, above) / p)
        return found

    def part_of_slide(self, tile: Extents, begun: Extents, i: int, trips: int) -> float:
        """What is given at least where a tile slides along a dimension first, by a loop of so many trips, as part of
        what it would be given if no other loop kept anything."""
        steps = [0] * len(tile)
        steps[i] = begun[i]
        slid = (1 - 1 / trips) * self.given(tile, steps)
        above = (*begun[:i], begun[i] * trips, *begun[i + 1 :])
        return (slid + self.least(tile, begun, above) / trips) / (slid + 1 / trips)

    def parts_of_slides(self, tiles: Ints, begun: Ints, d: int, above: Ints) -> Floats:
        """(rows,) the same, of tiles and what they begin with, (rows, dims), below loops along a dimension that make so
        much of it."""
        i = self.dims.index(d)
        columns = [*tiles[:, self.dims].T, *begun[:, self.dims].T, above]
        first, which = distinct(row_codes(columns))
        keys = np.column_stack([column[first] for column in columns]).tolist()
        n = len(self.dims)
        found = [self.part_of_slide(tuple(k[:n]), tuple(k[n:-1]), i, k[-1] // k[n + i]) for k in keys]
        return np.array(found)[which]

    @cached_property
    def at_tiles(self) -> Floats:
        """The least part per visit by tile, one axis for each dimension: its divisors, ascending."""
        axes = [[f for f in range(1, size + 1) if size % f == 0] for size in self.sizes]
        found = np.empty([len(axis) for axis in axes])
        for place in np.ndindex(*found.shape):
            tile = tuple(axis[at] for axis, at in zip(axes, place, strict=True))
            found[place] = self.least(tile, tile, tile)
        return found


@lru_cache(maxsize=1 << 16)
def _kept(
    coefficients: tuple[int, ...], extents: tuple[int, ...], steps: tuple[int, ...], footprint: Footprint
) -> float:
    """The part of a tile along a rank that it has in common with the one before it."""
    moves = tuple((Move(0, extent, step, extent),) for extent, step in zip(extents, steps, strict=True))
    wanted, held = moved_along_rank(coefficients, moves, footprint)
    return held / wanted
