"""Where the accesses of a mapping stand along each dimension, and how large the tiles there are: those at the edge of a
ragged dimension are smaller than the others.

A tile is told by its loops: it is all that they touch while the other loops stand still. Along a dimension, every index
has digits, one for each loop; the tile of an index are those that differ from it in the digits of the tile's loops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ir import Loop, Mapping

TileLoops = frozenset[int]
"""Where the loops of a tile stand in the nest."""

Extents = dict[str, int]
"""Of a tile, by dimension."""


@dataclass(frozen=True)
class Positions:
    """All positions of one mapping."""

    mapping: Mapping

    @cached_property
    def loops(self) -> dict[str, list[tuple[int, int]]]:
        """Place and trips of the loops of each dimension, outermost first."""
        found: dict[str, list[tuple[int, int]]] = {dim: [] for dim in self.mapping.problem.dim_names}
        for place, item in enumerate(self.mapping.nest.items):
            if isinstance(item, Loop) and item.trips > 1:
                found[item.dim].append((place, item.trips))
        return found

    @cached_property
    def spatial(self) -> frozenset[int]:
        """Where loops over instances stand."""
        items = enumerate(self.mapping.nest.items)
        return frozenset(i for i, item in items if isinstance(item, Loop) and item.is_spatial)

    @cached_property
    def ragged(self) -> frozenset[str]:
        """Dimensions whose last tiles are smaller."""
        sizes = self.mapping.problem.sizes
        return frozenset(dim for dim, loops in self.loops.items() if math.prod(t for _, t in loops) != sizes[dim])

    def full(self, tile: TileLoops) -> Extents:
        """The extents of the largest tile of some loops."""
        sizes = self.mapping.problem.sizes
        return {
            dim: min(math.prod(trips for place, trips in loops if place in tile), sizes[dim])
            for dim, loops in self.loops.items()
        }

    def total(self, access: TileLoops, figure: Callable[..., float], tiles: Sequence[TileLoops]) -> float:
        """The sum of a figure over all accesses; it is given the extents of some tiles there.

        access  loops that pass while one access serves
        """
        total = 0.0
        for count, extents in self._kinds((access, *tiles)):
            total += count / math.prod(extents[0].values()) * figure(*extents[1:])
        return total

    def _kinds(self, tiles: Sequence[TileLoops]) -> Iterator[tuple[int, list[Extents]]]:
        """How many points have tiles of which extents."""
        dims = self.mapping.problem.dim_names
        along = [self._along(dim, tiles) for dim in dims]
        for kinds in itertools.product(*along):
            count = math.prod(number for number, _ in kinds)
            yield count, [{dim: kind[1][i] for dim, kind in zip(dims, kinds, strict=True)} for i in range(len(tiles))]

    def _along(self, dim: str, tiles: Sequence[TileLoops]) -> list[tuple[int, tuple[int, ...]]]:
        """The same along one dimension."""
        size = self.mapping.problem.sizes[dim]
        if dim not in self.ragged:
            return [(size, tuple(self.full(tile)[dim] for tile in tiles))]
        extents = np.stack([self._extents(dim, tile) for tile in tiles])
        kinds, counts = np.unique(extents, axis=1, return_counts=True)
        return [(int(count), tuple(kind)) for count, kind in zip(counts, kinds.T.tolist(), strict=True)]

    def _extents(self, dim: str, tile: TileLoops) -> np.ndarray:
        """(size,) extent of the tile of every index."""
        index = np.arange(self.mapping.problem.sizes[dim])
        fixed, below = np.zeros_like(index), 1
        for place, trips in reversed(self.loops[dim]):
            digit = index // below % trips
            if place not in tile:
                fixed += digit * below
            below *= trips
        _, which, counts = np.unique(fixed, return_inverse=True, return_counts=True)
        found: np.ndarray = counts[which]
        return found
