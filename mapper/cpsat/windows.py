"""Ranks that sum several dimensions (`2p + r`): words wanted and kept, by the chains of the rank's dimensions.

A chain is the trips of one dimension in every slot. All sets here are bit sets in whole numbers: bit x of the number
says whether x is in the set.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...ir import Problem, Rank
from .slots import Places

Chain = tuple[int, ...]


def chains(size: int, most: Sequence[int]) -> Iterator[Chain]:
    """All ways to write a size as a product of one factor per slot, each at most `most`."""
    if not most:
        if size == 1:
            yield ()
        return
    for trips in range(1, min(size, most[0]) + 1):
        if size % trips == 0:
            for rest in chains(size // trips, most[1:]):
                yield (trips, *rest)


def limits(problem: Problem, places: Places, dim: str) -> tuple[int, ...]:
    """The most trips that a dimension can have in every slot."""
    size = problem.sizes[dim]
    return tuple(
        size if not slot.is_spatial else slot.array_axis.size if slot.array_axis.allows(problem, dim) else 1
        for slot in places.slots
    )


@dataclass(frozen=True)
class View:
    """The instances at a node, and how they are counted.

    position  of the node
    joined    spatial slots whose instances are served by one read
    counted   the other spatial slots above it whose instances are counted one by one
    """

    position: int
    joined: tuple[int, ...]
    counted: tuple[int, ...]


def wanted(places: Places, view: View, rank: Rank, state: Sequence[Chain]) -> int:
    """Words along a rank that are wanted over the whole run, by all instances that are counted."""
    moved = (*places.temporal_above(view.position), *view.counted)
    times = math.prod(chain[s] for chain in state for s in moved)
    return times * _union(_coefficients(rank), _tiles(view, state), _offsets(view, state)).bit_count()


def kept(places: Places, view: View, rank: Rank, state: Sequence[Chain], slot: int, dim: int) -> int:
    """Of the words wanted, those that are held already, when the loop over rank[dim] in a slot moves innermost.

    An instance holds the tile that it had one step of that loop before; a word that several joined instances want
    is saved when all of them hold it. 0 if the rank has a loop further in, so that this one is not innermost.
    """
    between = [s for s in places.temporal_above(view.position) if s > slot]
    trips = state[dim][slot]
    if trips == 1 or any(chain[s] > 1 for chain in state for s in between):
        return 0
    coefficients, tiles, offsets = _coefficients(rank), _tiles(view, state), _offsets(view, state)
    shift = coefficients[dim] * math.prod(state[dim][slot + 1 :])
    new = _new(coefficients, tiles, offsets, shift)
    held = (_union(coefficients, tiles, offsets) & ~new).bit_count()
    moved = (*places.temporal_above(view.position), *view.counted)
    times = math.prod(chain[s] for chain in state for s in moved)
    return times // trips * (trips - 1) * held


def tile_words(rank: Rank, position: int, state: Sequence[Chain]) -> int:
    """Words along a rank of the tile below a position."""
    tiles = tuple(math.prod(chain[position:]) for chain in state)
    return _sums(_coefficients(rank), tiles).bit_count()


def _coefficients(rank: Rank) -> tuple[int, ...]:
    return tuple(c for _, c in rank)


def _tiles(view: View, state: Sequence[Chain]) -> tuple[int, ...]:
    return tuple(math.prod(chain[view.position :]) for chain in state)


def _offsets(view: View, state: Sequence[Chain]) -> tuple[tuple[int, ...], ...]:
    """Per dimension, the first indices of the joined instances."""
    found = []
    for chain in state:
        steps = ([v * math.prod(chain[s + 1 :]) for v in range(chain[s])] for s in view.joined)
        found.append(tuple(sorted(sum(values) for values in itertools.product(*steps))))
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _sums(coefficients: tuple[int, ...], tiles: tuple[int, ...]) -> int:
    """The set of sums of a tile."""
    reached = 1
    for coefficient, tile in zip(coefficients, tiles, strict=True):
        reached = _spread(reached, [coefficient * x for x in range(tile)])
    return reached


@lru_cache(maxsize=1 << 16)
def _union(coefficients: tuple[int, ...], tiles: tuple[int, ...], offsets: tuple[tuple[int, ...], ...]) -> int:
    """The set of sums that any joined instance wants."""
    return _everywhere(_sums(coefficients, tiles), coefficients, offsets)


@lru_cache(maxsize=1 << 16)
def _new(
    coefficients: tuple[int, ...], tiles: tuple[int, ...], offsets: tuple[tuple[int, ...], ...], shift: int
) -> int:
    """The set of sums that any joined instance wants and did not hold before its tile moved by `shift`."""
    tile = _sums(coefficients, tiles)
    return _everywhere(tile & ~(tile >> shift), coefficients, offsets)


def _everywhere(tile: int, coefficients: tuple[int, ...], offsets: tuple[tuple[int, ...], ...]) -> int:
    for coefficient, starts in zip(coefficients, offsets, strict=True):
        tile = _spread(tile, [coefficient * start for start in starts])
    return tile


def _spread(members: int, shifts: Sequence[int]) -> int:
    """The union of a set's copies, each moved by one of the shifts."""
    reached = 0
    for shift in shifts:
        reached |= members << shift
    return reached
