"""How the nonzero words of a tensor are distributed: what is known of a tile before its words are.

A tile stands for all tiles of its size that a mapping makes of the tensor; they start at multiples of it. What is
asked of a density is the chance of every number of nonzero words in a tile (`nonzeros`), and from it the mean, the
chance that the tile is empty, and the most that it can hold. All are exact but for the rounding of floats.

Sources: the hypergeometric tile and the tile of even density are those of Sparseloop (Wu et al., "Sparseloop: An
Analytical Approach To Sparse Tensor Accelerator Modeling", MICRO 2022); N:M is that of NVIDIA's A100
(Mishra et al., "Accelerating Sparse Deep Neural Networks", 2021).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...ir import TilewrightError, ceil_div

Occupancy = Mapping[int, float]
"""Chances of every possible number of nonzero words."""

EXACT = 2048
"""Words of a tensor up to which chances come from whole numbers; beyond it from logarithms."""

Shape = Sequence[int]
"""Extents of a tile, one per rank of the tensor."""


@dataclass(frozen=True)
class TileWords:
    """What is known of the nonzero words of a tile.

    mean, empty  words on average, and the chance that there is none
    least, most  words that there can be; where tiles at a ragged edge are smaller, the least is that of a whole tile
                 with as many zeros as any has
    """

    mean: float
    empty: float
    least: int
    most: int

    @classmethod
    def of(cls, occupancy: Occupancy) -> TileWords:
        return cls(mean(occupancy), empty(occupancy), min(occupancy), max(occupancy))


class Density(Protocol):
    """What is known of the places of a tensor's nonzero words."""

    def __hash__(self) -> int: ...

    def nonzeros(self, tile: Shape, tensor: Shape) -> Occupancy:
        """The chances of the numbers of nonzero words in a tile of a tensor."""
        ...

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        """The same in brief, for tiles of any size."""
        ...


def mean(occupancy: Occupancy) -> float:
    """Nonzero words on average."""
    return math.fsum(count * chance for count, chance in occupancy.items())


def empty(occupancy: Occupancy) -> float:
    """The chance that there is no nonzero word."""
    return occupancy.get(0, 0.0)


@dataclass(frozen=True)
class Uniform:
    """Any set of as many words is as likely as any other: tiles are hypergeometric.

    fraction  of nonzero words, more than 0; of a tensor of n words, the next whole number of them
    """

    fraction: float

    def nonzeros(self, tile: Shape, tensor: Shape) -> Occupancy:
        words = math.prod(tensor)
        return hypergeometric(words, self._nonzeros(words), math.prod(tile))

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        every = math.prod(tensor)
        return _drawn(every, self._nonzeros(every), math.prod(tile))

    def _nonzeros(self, words: int) -> int:
        return max(1, math.ceil(self.fraction * words - 1e-9))


@dataclass(frozen=True)
class Structured:
    """Of every block of m neighbours along a rank n are stored, any n of them; blocks are independent of each other.

    Where m does not divide the rank, the last block is padded: as many of its words are stored, as far as they lie in
    the tensor.

    kept, block  n and m
    rank         position of the rank among those of the tensor
    """

    kept: int
    block: int
    rank: int

    def nonzeros(self, tile: Shape, tensor: Shape) -> Occupancy:
        extent, along = tile[self.rank], tensor[self.rank]
        lines = math.prod(tile) // extent
        starts = range(0, along, extent)
        total: dict[int, float] = {}
        for start in starts:
            line = self._along(start, min(start + extent, along), along)
            for count, chance in _repeated(line, lines).items():
                total[count] = total.get(count, 0.0) + chance / len(starts)
        return total

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        extent, along = tile[self.rank], tensor[self.rank]
        lines, tiles = math.prod(tile) // extent, ceil_div(along, extent)
        every = _lines_of_blocks(self.kept, self.block, extent, along)
        return TileWords(
            mean=lines * math.fsum(times * line.mean for line, _, times in every) / tiles,
            empty=math.fsum(times * line.empty**lines for line, _, times in every) / tiles,
            least=lines * (min(extent, along) - max(words - line.least for line, words, _ in every)),
            most=lines * max(line.most for line, _, _ in every),
        )

    def _along(self, start: int, stop: int, along: int) -> Occupancy:
        """The chances of a line of words from `start` to `stop`."""
        found: Occupancy = {0: 1.0}
        for block in range(start // self.block, -(-stop // self.block)):
            first, last = block * self.block, min((block + 1) * self.block, along)
            words = min(stop, last) - max(start, first)
            held = min(self.kept, last - first)
            found = _sum(found, hypergeometric(last - first, held, words))
        return found


@dataclass(frozen=True)
class Banded:
    """Nonzero where the indices of two ranks differ by no more than a width, and zero elsewhere.

    width  the furthest diagonal that is kept; 0 is the main one alone
    ranks  positions of the two ranks
    """

    width: int
    ranks: tuple[int, int] = (0, 1)

    def nonzeros(self, tile: Shape, tensor: Shape) -> Occupancy:
        return Measured(self.mask(tensor)).nonzeros(tile, tensor)

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        return Measured(self.mask(tensor)).words(tile, tensor)

    def mask(self, tensor: Shape) -> npt.NDArray[np.bool_]:
        """Where the nonzero words are."""
        index = np.indices(tuple(tensor), sparse=True)
        first, second = (index[rank] for rank in self.ranks)
        return np.broadcast_to(np.abs(first - second) <= self.width, tuple(tensor))


@dataclass(frozen=True, eq=False)
class Measured:
    """The nonzero words of a given array.

    values  the array, or a mask of it, in the shape of the tensor
    """

    values: npt.NDArray[np.generic]

    def nonzeros(self, tile: Shape, tensor: Shape) -> Occupancy:
        if self.values.shape != tuple(tensor):
            raise TilewrightError(
                f"an array of shape {self.values.shape} for a tensor of shape {tuple(tensor)}",
                where="density",
                hint="give the array as the layer has it, ranks in the same order",
            )
        counts = _counted(np.asarray(self.values != 0, dtype=np.int64), tile)
        found, times = np.unique(counts, return_counts=True)
        return {int(count): float(time) / counts.size for count, time in zip(found, times, strict=True)}

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        known = TileWords.of(self.nonzeros(tile, tensor))
        zeros = int(_counted(np.asarray(self.values == 0, dtype=np.int64), tile).max())
        return replace(known, least=math.prod(map(min, tile, tensor)) - zeros)


def _counted(flags: npt.NDArray[np.int64], tile: Shape) -> npt.NDArray[np.int64]:
    """The sum of flags in every tile of an array."""
    for rank, extent in enumerate(tile):
        flags = np.add.reduceat(flags, range(0, flags.shape[rank], extent), axis=rank)
    return flags


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


@lru_cache(maxsize=4096)
def _lines_of_blocks(kept: int, block: int, extent: int, along: int) -> tuple[tuple[TileWords, int, int], ...]:
    """The lines of `extent` words that a rank of blocks is cut into, their words, and how often each occurs: those are
    alike that begin at the same place of a block and end in a block of the same length."""
    found: Counter[tuple[int, int, int]] = Counter()
    for start in range(0, along, extent):
        stop = min(start + extent, along)
        last = (stop - 1) // block * block
        found[start % block, stop - start, min(block, along - last)] += 1
    return tuple((_line_of_blocks(kept, block, *line), line[1], times) for line, times in found.items())


def _line_of_blocks(kept: int, block: int, first: int, words: int, last: int) -> TileWords:
    """What is known of a line that begins at a place of a block; its last block has `last` words. Blocks between hold
    what all of them do."""
    stop = first + words
    blocks = ceil_div(stop, block)
    if blocks == 1:
        return _drawn(last, min(kept, last), words)
    begins = _drawn(block, kept, block - first)
    ends = _drawn(last, min(kept, last), stop - (blocks - 1) * block)
    between = (blocks - 2) * kept
    return TileWords(
        mean=begins.mean + between + ends.mean,
        empty=0.0 if between else begins.empty * ends.empty,
        least=begins.least + between + ends.least,
        most=begins.most + between + ends.most,
    )


def _drawn(words: int, nonzeros: int, tile: int) -> TileWords:
    """What is known of a hypergeometric tile, in brief: any set of so many of the words is as likely as any other."""
    none = 0.0
    if words <= EXACT:
        none = math.comb(words - nonzeros, tile) / math.comb(words, tile)
    elif tile <= words - nonzeros:
        none = math.exp(_log_choose(words - nonzeros, tile) - _log_choose(words, tile))
    return TileWords(tile * nonzeros / words, none, max(0, tile + nonzeros - words), min(tile, nonzeros))


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
