"""Lower bounds on the lines that tiles touch along one rank of a tensor, per word in these tiles."""

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
    """One rank of a tensor in a memory with lines.

    dims    its dimensions in the search's problem, as numbers
    sizes   their sizes
    steps   their coefficients
    is_box  whether words between those that are wanted count as well
    """

    dims: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    is_box: bool

    @property
    def is_plain(self) -> bool:
        """Whether the rank has one dimension, and no words between those that are wanted count."""
        return len(self.dims) == 1 and not (self.is_box and self.steps[0] > 1)

    def most_words(self, tiles: Sequence[Ints], shared: Ints | int = 1) -> Ints:
        """Bound from above the words of one transfer along the rank that `shared` instances with different tiles
        share."""
        if self.is_box:
            words = 1 + sum((c * (tile - 1) for c, tile in zip(self.steps, tiles, strict=True)), np.int64(0))
        else:
            words = math.prod(tiles, start=np.int64(1))
        return np.minimum(words * shared, self.extent)

    @property
    def extent(self) -> int:
        """The number of places along the rank, from the first index to the last."""
        return 1 + sum(c * (size - 1) for c, size in zip(self.steps, self.sizes, strict=True))

    @property
    def is_window(self) -> bool:
        """Whether the rank has two dimensions; the lines of its windows are counted then."""
        return len(self.dims) == 2

    def tile_codes(self, tiles: Sequence[Ints]) -> Ints:
        """Return one number for each combination of tiles of its dimensions."""
        if self.is_window:
            return tiles[0] * (self.sizes[1] + 1) + tiles[1]
        return tiles[0]

    def lines_per_word(self, per_line: Ints, most: Ints, code: Ints) -> Floats:
        """Bound from below (lengths, rows) the lines touched per word, for each number of words that a line holds along
        the rank.

        most  words of one transfer along the rank, at most
        code  of the tiles, where the lines of all of them are counted; else 0
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
        """Return the code of tiles of a window that slide along one of its dimensions, each up to its end."""
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
        """Bound from below the lines touched per word, for the tiles of every cell of a lattice and each number of
        words that a line holds.

        whole  tiles may lie anywhere, but together they touch every line
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
    """Return a rank of a tensor with those of its dimensions that are among the names and have several elements."""
    kept = [(dim, c) for dim, c in rank if dim in names and problem.sizes[dim] > 1]
    return LinedRank(
        tuple(names.index(dim) for dim, _ in kept),
        tuple(problem.sizes[dim] for dim, _ in kept),
        tuple(c for _, c in kept),
        is_box,
    )


@lru_cache(maxsize=1024)
def lines_of_tiles(size: int, coefficient: int, per_line: int) -> Floats:
    """Return (tiles,) the lines that all tiles along a dimension touch, per element, by the size of a tile; 0 for size
    0.

    A tile touches one line more than it has pairs of neighbours in different lines.
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
    """Return the lines that all tiles of a window along two dimensions touch, per word in them, for each number of
    words that a line holds; 0 where a line is so short that it may lie between two words of a tile.

    ends  up to which tiles slide, and take only what is new: larger than the tile for one of the dimensions at most.
          Where tiles have gaps, which new words may fill, a line counts once on the way
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
    """Return (first dimension, second dimension) the place along the rank of each pair of indices."""
    found: Ints = steps[0] * indices[0][:, None] + steps[1] * indices[1]
    return found


def _words(sizes: tuple[int, ...], steps: tuple[int, ...], is_box: bool, tiles: tuple[int, ...]) -> int:
    """Count the words of all tiles of a window, each tile's distinct ones (`sets.distinct_sums`)."""
    low, high = zip(*map(_tiles, sizes, tiles), strict=True)
    if is_box:
        return int((_sums(steps, high) - _sums(steps, low) + 1).sum())
    p, r = (high[0] - low[0] + 1)[:, None], high[1] - low[1] + 1
    a, b = (step // math.gcd(*steps) for step in steps)
    return int((p * r - np.maximum(p - b, 0) * np.maximum(r - a, 0)).sum())
