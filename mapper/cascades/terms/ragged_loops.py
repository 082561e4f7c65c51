"""Shared loops whose tiles do not divide their dimension: the last step is shorter.

Only the outermost loop over a dimension may be so (docs/cascades.md: tiles nest exactly, and the last one alone may be
ragged). Everything inside it divides its tile. Visits below are alike but for the last one along the dimension, and
what they cost together is counted exactly: by the search of a branch (`exact/tiles/visits.py`), and for nodes above
splits by the cost model. Bounds take a shorter visit for its part of the others: every count of words or steps, of
fewer elements along dimensions that stand alone in their ranks, falls no faster than they do.

Which tiles: all, of dimensions up to some size; of larger ones, for every number of steps the smallest that is a
multiple of a *grain*: of 1, of the size of an axis of an array, or of all instances of an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ....arch import Architecture
from ....ir import Cascade, Operation, ceil_div
from ...effort import TREE_EFFORT
from .branch import Sizes
from .sharing import LoopAbove, SharedDim


class Over(NamedTuple):
    """A dimension of an operation whose visits are not all alike: the last one is shorter.

    dim    of the operation
    whole  elements of all visits
    loop   the shared loop that makes the last one shorter
    """

    dim: str
    whole: int
    loop: SharedDim


Overs = tuple[Over, ...]


class SharedTrips(NamedTuple):
    """Trips of a shared loop, and the elements of each of them, where the last one has fewer; None: it has not."""

    trips: int
    tile: int | None = None


@dataclass(frozen=True)
class RaggedLoops:
    """Which shared loops of one cascade may be ragged on one machine.

    searched  whether any is
    """

    cascade: Cascade
    arch: Architecture
    searched: bool

    def steps(self, dim: SharedDim, size: int) -> list[SharedTrips]:
        """Ragged loops over a dimension that no loop outside steps over."""
        if not self.searched or dim.uneven or not all(self._stands_alone(name, own) for name, own in dim.dims):
            return []
        if any(memory.block_bits for memory in self.arch.memories):  # a part of a visit may cost less than its part
            return []
        return [SharedTrips(ceil_div(size, tile), tile) for tile in ragged_tiles(size, self._grains)]

    def is_whole(self, dim: SharedDim, size: int) -> bool:
        """Whether no loop outside steps over a dimension of so many elements."""
        return all(self.cascade.operation(name).problem.sizes[own] == size for name, own in dim.dims)

    def _stands_alone(self, name: str, dim: str) -> bool:
        ranks = (rank for tensor in self.cascade.operation(name).problem.tensors for rank in tensor.ranks)
        return all(rank == ((dim, 1),) for rank in ranks if dim in {other for other, _ in rank})

    @property
    def _grains(self) -> tuple[int, ...]:
        axes = [axis.size for fanout in self.arch.fanouts for axis in fanout.axes]
        return tuple(sorted({1, *axes, *(fanout.instances for fanout in self.arch.fanouts)}))


@lru_cache(maxsize=1 << 10)
def ragged_tiles(size: int, grains: Sequence[int]) -> tuple[int, ...]:
    """Tiles that do not divide a dimension, descending."""
    if size <= TREE_EFFORT.some:
        found: Iterable[int] = range(2, size)
    else:
        found = {g * ceil_div(ceil_div(size, trips), g) for g in grains for trips in range(2, ceil_div(size, g) + 1)}
    return tuple(sorted((tile for tile in found if tile < size and size % tile), reverse=True))


def trips_of(over: Over, tile: int) -> int:
    """Visits along a dimension, of so many elements each but for the last."""
    return ceil_div(over.whole, tile)


def full_share(sizes: Sizes, overs: Overs) -> float:
    """What the mean visit is, at least, as a part of one that is not shorter."""
    tile = dict(sizes)
    return math.prod(one.whole / (trips_of(one, tile[one.dim]) * tile[one.dim]) for one in overs)


def below_loops(operation: Operation, sizes: Sizes, overs: Overs, loops: Sequence[LoopAbove]) -> Overs:
    """The dimensions whose visits are not all alike below some loops."""
    size = dict(sizes)
    new = (loop.dim for loop in loops if loop.tile is not None)
    return (*overs, *(Over(dim.of(operation.name), size[dim.of(operation.name)], dim) for dim in new))


def mean_visits(name: str, sizes: Sizes, overs: Overs, loops: Sequence[LoopAbove]) -> float:
    """Settings of some loops, in the mean over the visits of what stands around them, by one operation below."""
    tile, known = dict(sizes), {one.dim: one for one in overs}
    found = 1.0
    for loop in loops:
        dim = loop.dim.of(name)
        if dim in known:
            found *= trips_of(known[dim], tile[dim] // loop.trips) / trips_of(known[dim], tile[dim])
        else:
            found *= loop.trips
    return found
