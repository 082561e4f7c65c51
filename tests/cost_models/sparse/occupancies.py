"""The chances of every number of nonzero words in a tile, from the definitions of densities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from tilewright.cost_models.sparse.densities import (
    EXACT,
    Banded,
    Density,
    Measured,
    Shape,
    Structured,
    TileWords,
    Uniform,
)

Occupancy = Mapping[int, float]
"""Chances of every possible number of nonzero words."""


def mean(occupancy: Occupancy) -> float:
    """Nonzero words on average."""
    return math.fsum(count * chance for count, chance in occupancy.items())


def empty(occupancy: Occupancy) -> float:
    """The chance that there is no nonzero word."""
    return occupancy.get(0, 0.0)


def brief(occupancy: Occupancy) -> TileWords:
    return TileWords(mean(occupancy), empty(occupancy), min(occupancy), max(occupancy))


def nonzeros(density: Density, tile: Shape, tensor: Shape) -> Occupancy:
    """The chances of the numbers of nonzero words in a tile of a tensor; Sparseloop's own density says it itself."""
    if isinstance(density, Uniform):
        words = math.prod(tensor)
        return hypergeometric(words, max(1, math.ceil(density.fraction * words - 1e-9)), math.prod(tile))
    if isinstance(density, Structured):
        return _of_blocks(density, tile, tensor)
    if isinstance(density, Banded):
        return nonzeros(Measured(density.mask(tensor)), tile, tensor)
    if isinstance(density, Measured):
        counts = np.asarray(density.values != 0, dtype=np.int64)
        for rank, extent in enumerate(tile):
            counts = np.add.reduceat(counts, range(0, counts.shape[rank], extent), axis=rank)
        found, times = np.unique(counts, return_counts=True)
        return {int(count): float(time) / counts.size for count, time in zip(found, times, strict=True)}
    found_there: Occupancy = density.nonzeros(tile, tensor)  # type: ignore[attr-defined]
    return found_there


def _of_blocks(density: Structured, tile: Shape, tensor: Shape) -> Occupancy:
    extent, along = tile[density.rank], tensor[density.rank]
    lines = math.prod(tile) // extent
    starts = range(0, along, extent)
    total: dict[int, float] = {}
    for start in starts:
        line = _along(density, start, min(start + extent, along), along)
        for count, chance in _repeated(line, lines).items():
            total[count] = total.get(count, 0.0) + chance / len(starts)
    return total


def _along(density: Structured, start: int, stop: int, along: int) -> Occupancy:
    """The chances of a line of words from `start` to `stop`."""
    found: Occupancy = {0: 1.0}
    for block in range(start // density.block, -(-stop // density.block)):
        first, last = block * density.block, min((block + 1) * density.block, along)
        words = min(stop, last) - max(start, first)
        held = min(density.kept, last - first)
        found = _sum(found, hypergeometric(last - first, held, words))
    return found


@cache
def hypergeometric(words: int, nonzeros: int, tile: int) -> Occupancy:
    """Chances of k nonzero words in a tile: C(nonzeros, k) C(words - nonzeros, tile - k) / C(words, tile)."""
    least, most = max(0, tile + nonzeros - words), min(tile, nonzeros)
    if words <= EXACT:
        every = math.comb(words, tile)
        return {
            k: math.comb(nonzeros, k) * math.comb(words - nonzeros, tile - k) / every for k in range(least, most + 1)
        }
    known = _log_choose(words, tile)
    return {
        k: chance
        for k in range(least, most + 1)
        if (chance := math.exp(_log_choose(nonzeros, k) + _log_choose(words - nonzeros, tile - k) - known))
    }


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _sum(one: Occupancy, other: Occupancy) -> Occupancy:
    """Of two tiles that know nothing of each other."""
    if len(one) == 1 and len(other) == 1:
        (a, p), (b, q) = *one.items(), *other.items()
        return {a + b: p * q}
    total: dict[int, float] = {}
    for a, p in one.items():
        for b, q in other.items():
            total[a + b] = total.get(a + b, 0.0) + p * q
    return total


def _repeated(line: Occupancy, lines: int) -> Occupancy:
    """Of so many lines that know nothing of each other, by squaring."""
    found: Occupancy = {0: 1.0}
    while lines:
        if lines % 2:
            found = _sum(found, line)
        line, lines = _sum(line, line) if lines > 1 else line, lines // 2
    return found
