"""Which tiles a mapping is made of: those of the whole problem, or, in a branch of a tree, those of one visit.

Loops of a tree outside a branch cut some of its dimensions. Tiles inside divide the tile of a visit along these; and
where that does not divide the dimension, the last visit is shorter. So words are counted over the whole dimension, of
which ceil(size / tile) tiles are made at every level, and mappings end with the tile of a visit: what waits there is
charged at every visit anew.

Visits may also be uneven by more than the last one: some make more, in several passes over the tile. The dimension then
has the positions of all of them together, or what as many even ones would make if that is less, and tiles are counted
pass by pass (`UnevenVisits`).

In a visit that makes little, loops of the tile may come down to one trip: tensors may stay there then that move in the
others. Such *short* visits are none of those that rows are counted by. What they cost at least is known before, and
what they cost is counted of whole mappings (`exploring/found.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....cost_models.cascades import VisitSizes
from ....ir import Problem, ceil_div
from ...tilings import Tiling, factors
from ..rows import Flags


def size_of_visits(made: VisitSizes, tile: int) -> int:
    """The size of a dimension that stands for visits of a tile that make so many positions each: no more than these
    make, and no more than what as many even visits make, so that bounds are none too high."""
    return min(
        sum(positions * times for positions, times in made), tile * sum(times for number, times in made if number)
    )


def short_visits(made: VisitSizes, tile: int) -> tuple[VisitSizes, VisitSizes]:
    """Visits that make something, by how many positions: those in which no loop over a tile with perfect tiles inside
    comes down to one trip, and those in which one may."""
    largest = max((part for part in factors(tile, "perfect", True) if part < tile), default=0)
    lasting = tuple((positions, times) for positions, times in made if positions > largest)
    return lasting, tuple((positions, times) for positions, times in made if 0 < positions <= largest)


def most_that_divide(positions: int, tile: int) -> int:
    """The most of some positions of a tile that its perfect tiles inside divide too, as far as these are smaller: cut
    to so many, every mapping of the tile is one with perfect tiles."""
    parts = factors(tile, "perfect", True)
    return next(n for n in range(positions, 0, -1) if all(n % part == 0 for part in parts if part < n))


@dataclass(frozen=True)
class UnevenVisits:
    """Visits along a dimension that are not alike: no loop of the tile of one visit comes down to one trip in any of
    them. Those that make nothing are none.

    made    positions of each
    passes  over the tile: a visit that makes more has several
    first   of each visit the first, which is the largest: what does not move along the dimension stays over the others
    """

    made: VisitSizes
    passes: VisitSizes
    first: VisitSizes

    @classmethod
    def of(cls, made: VisitSizes, tile: int) -> UnevenVisits:
        """Those of visits that make so many positions each, by a tile."""
        made = tuple((positions, times) for positions, times in made if positions)
        full = sum(times * (positions // tile) for positions, times in made)
        rest = ((positions % tile, times) for positions, times in made if positions % tile)
        return cls(made, ((tile, full), *rest), tuple((min(positions, tile), times) for positions, times in made))

    def at_work(self, instances: int, tile: int) -> float:
        """Instances of an array that have work along the dimension in the mean, each on a part of a tile, at least."""
        parts = [part for part in range(1, tile // instances + 1) if tile % (instances * part) == 0]
        return min(
            sum(times * ceil_div(n, part) for n, times in visits)
            / sum(times * ceil_div(n, part * instances) for n, times in visits)
            for part in parts
            for visits in (self.passes, self.first)
        )


@dataclass(frozen=True)
class VisitTiles:
    """Visit tiles say, for each dimension of a problem, which tiles a mapping is made of.

    problem  that of one visit: sizes are of its tile
    tilings  of the loops inside it
    loops_outside  how many loops over visits there are that are not all alike
    uneven  visits that are not alike; None where all but the last are
    """

    problem: Problem
    tilings: tuple[Tiling, ...]
    loops_outside: int
    uneven: tuple[UnevenVisits | None, ...]

    @classmethod
    def of(
        cls, problem: Problem, tiling: Tiling, cut: Mapping[str, int], made: Mapping[str, VisitSizes] | None = None
    ) -> VisitTiles:
        """Those of a problem some of whose dimensions are cut outside, into tiles of so many elements; along some,
        visits make what is said."""
        dims = tuple((dim, cut.get(dim, size)) for dim, size in problem.dims)
        tilings: tuple[Tiling, ...] = tuple("perfect" if dim in cut else tiling for dim in problem.dim_names)
        outside = sum(one != other for one, other in zip(dims, problem.dims, strict=True))
        uneven = tuple(UnevenVisits.of(made[dim], tile) if made and dim in made else None for dim, tile in dims)
        return cls(Problem(problem.name, dims, problem.tensors), tilings, outside, uneven)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.problem.dims)

    @cached_property
    def perfect(self) -> Flags:
        """(dims,) where tiles divide."""
        return np.array([tiling == "perfect" for tiling in self.tilings])

    @property
    def counted(self) -> Tiling:
        """How words are counted: as for perfect tiles only where nothing is ragged, outside or inside."""
        sizes = zip(self.sizes, self.tilings, strict=True)
        ragged = self.loops_outside > 0 or any(size > 1 and tiling == "ragged" for size, tiling in sizes)
        return "ragged" if ragged else "perfect"
