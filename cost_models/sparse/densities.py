"""How the nonzero words of a tensor are distributed: what is known of a tile before its words are.

A tile stands for all tiles of its size that a mapping makes of the tensor; they start at multiples of it. What is
asked of a density is how many nonzero words a tile has on average, the chance that it is empty, and the least and the
most that it can hold. All are exact but for the rounding of floats.

Sources: the hypergeometric tile and the tile of even density are those of Sparseloop (Wu et al., "Sparseloop: An
Analytical Approach To Sparse Tensor Accelerator Modeling", MICRO 2022); N:M is that of NVIDIA's A100
(Mishra et al., "Accelerating Sparse Deep Neural Networks", 2021).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...ir import TilewrightError, ceil_div

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


class Density(Protocol):
    """What is known of the places of a tensor's nonzero words."""

    def __hash__(self) -> int: ...

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        """What is known of the nonzero words in a tile of a tensor."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Any set of as many words is as likely as any other: tiles are hypergeometric.

    fraction  of nonzero words, more than 0; of a tensor of n words, the next whole number of them
    """

    fraction: float

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


@dataclass(frozen=True)
class Banded:
    """Nonzero where the indices of two ranks differ by no more than a width, and zero elsewhere.

    width  the furthest diagonal that is kept; 0 is the main one alone
    ranks  positions of the two ranks
    """

    width: int
    ranks: tuple[int, int] = (0, 1)

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

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        if self.values.shape != tuple(tensor):
            raise TilewrightError(
                f"an array of shape {self.values.shape} for a tensor of shape {tuple(tensor)}",
                where="density",
                hint="give the array as the layer has it, ranks in the same order",
            )
        counts = _counted(np.asarray(self.values != 0, dtype=np.int64), tile)
        found, times = np.unique(counts, return_counts=True)
        chances = {int(count): float(time) / counts.size for count, time in zip(found, times, strict=True)}
        zeros = int(_counted(np.asarray(self.values == 0, dtype=np.int64), tile).max())
        return TileWords(
            mean=math.fsum(count * chance for count, chance in chances.items()),
            empty=chances.get(0, 0.0),
            least=math.prod(map(min, tile, tensor)) - zeros,
            most=max(chances),
        )


def _counted(flags: npt.NDArray[np.int64], tile: Shape) -> npt.NDArray[np.int64]:
    """The sum of flags in every tile of an array."""
    for rank, extent in enumerate(tile):
        flags = np.add.reduceat(flags, range(0, flags.shape[rank], extent), axis=rank)
    return flags


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
