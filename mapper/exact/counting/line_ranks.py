"""Lines along one rank of a tensor: how many those of its tiles touch over the words in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....ir import Problem, Rank
from ..rows import Floats, Ints
from ..tiles.lattice import Lattice


@dataclass(frozen=True)
class LinedRank:
    """One rank of a tensor.

    dims    its dimensions in the search's problem, as numbers
    sizes   of these
    steps   their coefficients
    is_box  whether words between those that are wanted count as well
    """

    dims: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    is_box: bool

    @property
    def is_plain(self) -> bool:
        """Whether tiles are those of one dimension, without words between them."""
        return len(self.dims) == 1 and not (self.is_box and self.steps[0] > 1)

    def most_words(self, tiles: Sequence[Ints], shared: Ints | int = 1) -> Ints:
        """Words of one transfer along the rank, at most, for so many instances with tiles of its dimensions."""
        if self.is_box:
            words = 1 + sum((c * (tile - 1) for c, tile in zip(self.steps, tiles, strict=True)), np.int64(0))
        else:
            words = math.prod(tiles, start=np.int64(1))
        return np.minimum(words * shared, self.extent)

    @property
    def extent(self) -> int:
        """Indices along the rank, from the least to the largest."""
        return 1 + sum(c * (size - 1) for c, size in zip(self.steps, self.sizes, strict=True))

    @property
    def is_window(self) -> bool:
        """Whether lines of its tiles are counted, those of two dimensions."""
        return len(self.dims) == 2

    def tile_codes(self, tiles: Sequence[Ints]) -> Ints:
        """One number for each tile of its dimensions."""
        if self.is_window:
            return tiles[0] * (self.sizes[1] + 1) + tiles[1]
        return tiles[0]

    def lines_per_word(self, per_line: Ints, most: Ints, code: Ints) -> Floats:
        """(lines, rows) lines over words, at least, for lines of so many words along the rank.

        most  words of one transfer along the rank, at most
        code  of the tiles, where all tiles count; else 0
        """
        least: Floats = 1.0 / np.minimum(most, per_line[:, None])
        if self.is_plain:
            tiles = np.array([lines_of_tiles(self.sizes[0], self.steps[0], int(b))[code] for b in per_line])
            least = np.maximum(least, tiles)
        elif self.is_window:
            known, which = np.unique(code, return_inverse=True)
            windows = [self._of_windows(int(one), per_line) for one in known]
            least = np.maximum(least, np.array(windows).reshape(len(known), len(per_line)).T[:, which])
        return least

    def sliding(self, code: Ints, i: int, end: Ints) -> Ints:
        """The code of tiles of a window that slide along one of its dimensions, up to some end each."""
        return code + (1 + 2 * end + i) * math.prod(size + 1 for size in self.sizes)

    def _of_windows(self, code: int, per_line: Ints) -> tuple[float, ...]:
        if not code:
            return (0.0,) * len(per_line)
        slide, code = divmod(code, math.prod(size + 1 for size in self.sizes))
        tiles = divmod(code, self.sizes[1] + 1)
        ends = list(tiles)
        if slide:
            end, i = divmod(slide - 1, 2)
            ends[i] = end
        return lines_of_windows(self.sizes, self.steps, self.is_box, tiles, tuple(ends), tuple(per_line.tolist()))

    def at_tiles(self, per_line: Ints, lattice: Lattice, whole: bool) -> list[Floats | float]:
        """Lines over words, at least, for the tiles of every cell of a lattice, for lines of so many words.

        whole  of tiles that may be anywhere: no line is touched by none of them
        """
        if not self.dims:
            return [1.0] * len(per_line)
        if whole:
            code = np.array(self.sizes[:1] if self.is_plain else [0])
            return [float(lines) for lines in self.lines_per_word(per_line, np.array([self.extent]), code)[:, 0]]
        tiles = np.meshgrid(*(lattice.tiles[d] for d in self.dims), indexing="ij")
        flat = [each.ravel() for each in tiles]
        found = self.lines_per_word(per_line, self.most_words(flat), self.tile_codes(flat))
        return [self._least(lattice, values.reshape(tiles[0].shape)) for values in found]

    def _least(self, lattice: Lattice, values: Floats) -> Floats:
        return lattice.along(self.dims, lattice.least_in_cells(values, self.dims))


def lined_rank(rank: Rank, problem: Problem, names: Sequence[str], is_box: bool) -> LinedRank:
    """A rank of a tensor of a problem, of whose dimensions some are known, by their place among the names."""
    kept = [(dim, c) for dim, c in rank if dim in names and problem.sizes[dim] > 1]
    return LinedRank(
        tuple(names.index(dim) for dim, _ in kept),
        tuple(problem.sizes[dim] for dim, _ in kept),
        tuple(c for _, c in kept),
        is_box,
    )


@lru_cache(maxsize=1024)
def lines_of_tiles(size: int, coefficient: int, per_line: int) -> Floats:
    """(tiles,) by the tile along a dimension, lines that all of its tiles touch, over the size; of tile 0, nothing.

    A tile touches a line more than there are between neighbours of it that lie in different lines.
    """
    line = np.arange(size) * coefficient // per_line
    changes = np.concatenate([[0], np.diff(line)]) > 0
    inside = [int(changes.sum()) - int(changes[tile::tile].sum()) for tile in range(1, size + 1)]
    tiles = -(-size // np.arange(1, size + 1))
    return np.concatenate([[0.0], (np.array(inside) + tiles) / size])


@lru_cache(maxsize=1 << 16)
def lines_of_windows(
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
    is_box: bool,
    tiles: tuple[int, ...],
    ends: tuple[int, ...],
    per_line: tuple[int, ...],
) -> tuple[float, ...]:
    """Lines that all tiles of a window along two dimensions touch, over the words in them; for lines of so many words,
    0 where these are so few that a line may lie between two of them.

    ends  up to which tiles slide, and take only what is new: larger than the tile for one of the dimensions at most.
          Of tiles with gaps, which what is new may fill, no line is counted more than once on the way
    """
    if tiles != ends and not (is_box or _is_gapless(sizes, steps, tiles)):
        return lines_of_windows(sizes, steps, is_box, ends, ends, per_line)
    low, high = zip(*map(_tiles, sizes, tiles), strict=True)
    first, last = _sums(steps, low), _sums(steps, high)
    for i, (size, tile, end) in enumerate(zip(sizes, tiles, ends, strict=True)):
        if end > tile:  # all but the first tile of a row take what lies beyond the last word of the one before
            before = [high[0], high[1]]
            before[i] = low[i] - 1
            slides = np.arange(0, size, tile) % end > 0
            first = np.where(slides[:, None] if i == 0 else slides, np.maximum(first, _sums(steps, before) + 1), first)
    length = np.array(per_line)
    lines = np.maximum(last[..., None] // length - first[..., None] // length + 1, 0) * (last >= first)[..., None]
    dense = is_box | (length >= max(steps))
    return tuple(np.where(dense, lines.sum(axis=(0, 1)) / _words(sizes, steps, is_box, ends), 0.0).tolist())


def _is_gapless(sizes: tuple[int, ...], steps: tuple[int, ...], tiles: tuple[int, ...]) -> bool:
    """Whether all words between the first and the last of every tile belong to it."""
    for i, other in ((0, 1), (1, 0)):
        low, high = _tiles(sizes[i], tiles[i])
        if steps[i] == 1 and (tiles[other] == 1 or int((high - low).min()) + 1 >= steps[other]):
            return True
    return False


def _tiles(size: int, tile: int) -> tuple[Ints, Ints]:
    """The first and the last index of every tile of a dimension."""
    low = np.arange(0, size, tile)
    return low, np.minimum(low + tile, size) - 1


def _sums(steps: tuple[int, ...], indices: Sequence[Ints]) -> Ints:
    """(first dimension, second dimension) where indices of both lie along the rank."""
    found: Ints = steps[0] * indices[0][:, None] + steps[1] * indices[1]
    return found


def _words(sizes: tuple[int, ...], steps: tuple[int, ...], is_box: bool, tiles: tuple[int, ...]) -> int:
    """Words of all tiles of a window: distinct ones of each (`sets.distinct_sums`)."""
    low, high = zip(*map(_tiles, sizes, tiles), strict=True)
    if is_box:
        return int((_sums(steps, high) - _sums(steps, low) + 1).sum())
    p, r = (high[0] - low[0] + 1)[:, None], high[1] - low[1] + 1
    a, b = (step // math.gcd(*steps) for step in steps)
    return int((p * r - np.maximum(p - b, 0) * np.maximum(r - a, 0)).sum())
