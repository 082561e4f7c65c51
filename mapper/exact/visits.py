"""Which tiles a mapping is made of: those of the whole problem, or, in a branch of a tree, those of one visit.

Loops of a tree outside a branch cut some of its dimensions. Tiles inside divide the tile of a visit along these; and
where that does not divide the dimension, the last visit is shorter. So words are counted over the whole dimension, of
which ceil(size / tile) tiles are made at every level, and mappings end with the tile of a visit: what waits there is
charged at every visit anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ir import Problem
from ..tilings import Tiling
from .rows import Flags


@dataclass(frozen=True)
class VisitTiles:
    """Per dimension of a problem.

    problem  that of one visit: sizes are of its tile
    tilings  of the loops inside it
    loops_outside  how many loops over visits there are of which the last one is shorter
    """

    problem: Problem
    tilings: tuple[Tiling, ...]
    loops_outside: int

    @classmethod
    def of(cls, problem: Problem, tiling: Tiling, cut: Mapping[str, int]) -> VisitTiles:
        """Those of a problem some of whose dimensions are cut outside, into tiles of so many elements."""
        dims = tuple((dim, cut.get(dim, size)) for dim, size in problem.dims)
        tilings: tuple[Tiling, ...] = tuple("perfect" if dim in cut else tiling for dim in problem.dim_names)
        outside = sum(one != other for one, other in zip(dims, problem.dims, strict=True))
        return cls(Problem(problem.name, dims, problem.tensors), tilings, outside)

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
