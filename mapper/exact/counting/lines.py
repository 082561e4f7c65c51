"""Memories with lines, as the search sees them: it costs words packed without a gap, which is a bound, and more where
tiles are known to leave gaps; the cost model counts the lines of complete mappings.

Of the words of a transfer, along each rank at most W different ones, a line holds min(W, b), where b fit into it, and
a bank moves them in one go if min(W, b n) of them lie in as many lines and banks as there are. So there are at least

    lines = words / (product over ranks of min(W, b))
    cycles of banks = words / (product over ranks of min(W, b n)) / ports

and of tiles of a rank with one dimension, the lines that all of them touch are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ....arch import Architecture, Memory
from ....cost_models.cost import held_width_bits
from ....cost_models.layouts.choices import possible_layouts
from ....cost_models.layouts.transfers import Arrangement
from ....cost_models.ports import Port
from ....ir import Problem, Rank, Tensor
from ..hierarchy import MAC, Hierarchy, MemoryBoundary
from ..lattice import Lattice
from ..rows import Floats, Ints, Rows, distinct, row_codes
from .fill_point import FillPoint
from .traffic import TrafficModel

_AT_ONCE = 1 << 18
"""Numbers that are worked out at once, about."""
_MOST_GAPS = 1 << 24
"""Tiles times layouts for which it is looked up what each takes; where there are more, the least of all holds."""


@dataclass(frozen=True)
class _Rank:
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
            windows = np.array([self._of_windows(int(one), per_line) for one in known])
            least = np.maximum(least, windows.T[:, which])
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


def _in_parts(columns: Sequence[Ints], ways: int, figure: Callable[[Ints], Floats]) -> Floats:
    """(rows,) a figure of some columns, asked once for rows that are alike, and for few at once.

    ways    that are looked at for each row
    figure  takes the numbers of rows
    """
    first, which = distinct(row_codes(columns))
    step = max(1, _AT_ONCE // ways)
    parts = [figure(first[at : at + step]) for at in range(0, len(first), step)]
    found: Floats = np.concatenate(parts)[which] if parts else np.ones(0)
    return found


@dataclass(frozen=True)
class _LiesIn:
    """A tensor in a memory.

    ways   in which it may lie there, and the width of a word in bits
    ports  lines that a bank moves in a cycle; 0: there are no banks
    """

    ranks: tuple[_Rank, ...]
    ways: tuple[tuple[Arrangement, int], ...]
    line_bits: int
    ports: int

    @property
    def has_banks(self) -> bool:
        return self.ports > 0

    @cached_property
    def line(self) -> Ints:
        """(ways, ranks) words of a line."""
        return np.array([way.line for way, _ in self.ways], dtype=np.int64)

    @cached_property
    def spread(self) -> Ints:
        """(ways, ranks) words in different lines or banks."""
        return self.line * np.array([way.banks for way, _ in self.ways], dtype=np.int64)

    def at_tiles(self, lattice: Lattice, whole: bool) -> Floats:
        """`words_per_word` for the tiles of every cell of a lattice, to which it can be broadcast; `whole` as for a
        rank."""
        along: list[dict[int, Floats | float]] = []
        for r, rank in enumerate(self.ranks):
            each = np.unique(self.line[:, r])
            along.append(dict(zip(each.tolist(), rank.at_tiles(each, lattice, whole), strict=True)))
        found: Floats = np.full((1,) * len(lattice.shape), np.inf)
        for way, room in zip(self.line.tolist(), self.room.tolist(), strict=True):
            lines: Floats | float = room
            for values, per_line in zip(along, way, strict=True):
                lines = lines * values[per_line]
            found = np.minimum(found, lines)
        return np.maximum(found, 1.0)

    @cached_property
    def least_of_all(self) -> float:
        """The same where all words of a tensor pass, once or several times, along every rank but one."""
        tiles = [np.array(rank.sizes[:1] if rank.is_plain else [0]) for rank in self.ranks]
        return float(self.words_per_word([np.array([rank.extent]) for rank in self.ranks], tiles)[0])

    @cached_property
    def least(self) -> float:
        """Words of full lines over words that are wanted, at least, wherever tiles begin and end."""
        most = [np.array([rank.extent]) for rank in self.ranks]
        return float(self.words_per_word(most, [np.array([0])] * len(self.ranks))[0])

    @cached_property
    def room(self) -> Floats:
        """(ways,) words of a line that is packed without a gap."""
        return self.line_bits / np.array([width for _, width in self.ways])

    def words_per_word(self, most: Sequence[Ints], tiles: Sequence[Ints]) -> Floats:
        """(rows,) words of full lines over words that are wanted, at least."""
        found: Floats = np.tile(self.room[:, None], len(most[0]))
        for r, rank in enumerate(self.ranks):
            each, which = np.unique(self.line[:, r], return_inverse=True)
            found *= rank.lines_per_word(each, most[r], tiles[r])[which]
        least: Floats = np.maximum(found.min(axis=0), 1.0)
        return least

    def cycles_per_word(self, most: Sequence[Ints]) -> Floats:
        """(rows,) cycles of the busiest bank over words that are wanted, at least."""
        together = np.ones((len(self.ways), len(most[0])))
        for r in range(len(self.ranks)):
            together *= np.minimum(self.spread[:, r, None], most[r])
        cycles: Floats = 1.0 / (together.max(axis=0) * self.ports)
        return cycles


@dataclass(frozen=True)
class LineBounds:
    """How many lines words take at least, and how long these keep banks busy, by memory and tensor, as numbers of the
    hierarchy."""

    hierarchy: Hierarchy
    lies: dict[tuple[int, int], _LiesIn]

    @classmethod
    def of(cls, problem: Problem, machine: Architecture, hierarchy: Hierarchy) -> LineBounds:
        """For a problem and a machine with lines, and the hierarchy in which they are searched."""
        return cls(
            hierarchy,
            {
                (m, t): _lies_in(problem, machine, hierarchy, memory, tensor)
                for m, memory in enumerate(reversed(machine.memories))
                for t, tensor in enumerate(problem.tensors)
                if memory.line_bits is not None
            },
        )

    def are_words(self, dim: int) -> bool:
        """Whether no line holds two neighbours along a dimension, and no others lie in different banks: then lines are
        counted along its ranks as words are, and what holds of words as its loops grow holds of lines."""
        return all(
            (lies.spread[:, r] == 1).all()
            for lies in self.lies.values()
            for r, rank in enumerate(lies.ranks)
            if dim in rank.dims
        )

    def bank_ports(self) -> tuple[Port, ...]:
        """Ports for what waits for the banks of a memory, tensor by tensor: in both directions together, if these share
        one."""
        found = []
        for (m, t), lies in self.lies.items():
            memory = self.hierarchy.memories[m]
            ways = ((True, False), (False, True)) if memory.ports_are_apart else ((True, True),)
            found += [Port(memory, *way, 1.0, waits_for=t) for way in ways if lies.has_banks]
        return tuple(found)

    def words_per_word(
        self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int, fill_point: FillPoint | None
    ) -> Floats:
        """(rows,) words of the lines that pass at one end of a boundary, charged as given, over those that are wanted;
        1 or more."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return np.ones(len(rows))
        outside = memory == boundary.outer
        most, tiles = [], []
        for r, rank in enumerate(lies.ranks):
            most.append(np.minimum(self._most(rank, model, rows, boundary, outside), int(lies.line[:, r].max())))
            tiles.append(self._counted(rank, model, rows, boundary, outside, fill_point))
        return _in_parts(
            [*most, *tiles],
            len(lies.ways),
            lambda some: lies.words_per_word([m[some] for m in most], [t[some] for t in tiles]),
        )

    def cycles_per_word(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats | None:
        """(rows,) cycles of the busiest bank at one end of a boundary over words that are wanted, at least; None: it
        has no banks."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None or not lies.has_banks:
            return None
        outside = memory == boundary.outer
        most = [
            np.minimum(self._most(rank, model, rows, boundary, outside), int(lies.spread[:, r].max()))
            for r, rank in enumerate(lies.ranks)
        ]
        return _in_parts(most, len(lies.ways), lambda some: lies.cycles_per_word([m[some] for m in most]))

    def least_gaps(self, boundary: MemoryBoundary, memory: int) -> float:
        """`words_per_word` at one end of a boundary, whatever tile it is charged at."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return 1.0
        return lies.least if self._keeps_overlaps(boundary) else lies.least_of_all

    def gaps_at_tiles(self, boundary: MemoryBoundary, memory: int, lattice: Lattice, passed: int) -> Floats | float:
        """The same, for the tiles of every cell of a lattice, to which it can be broadcast; charged inside fanout
        `passed`: what the instances inside it take together is one tile."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return 1.0
        if self._keeps_overlaps(boundary) or len(lies.ways) * math.prod(lattice.shape) > _MOST_GAPS:
            return self.least_gaps(boundary, memory)
        outside = memory == boundary.outer
        whole = outside and any(self.hierarchy.joins(f, boundary) for f in range(passed, len(self.hierarchy.fanouts)))
        return lies.at_tiles(lattice, whole)

    def _keeps_overlaps(self, boundary: MemoryBoundary) -> bool:
        """Whether what passes is not all of a tile along every rank but one."""
        is_operand = not self.hierarchy.problem.tensors[boundary.tensor].is_output
        return is_operand and boundary.inner != MAC and self.hierarchy.memories[boundary.inner].halo == "exact"

    def _most(self, rank: _Rank, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, outside: bool) -> Ints:
        """(rows,) words of one transfer along a rank, at most."""
        tiles = [self._tile(dim, model, rows, boundary) for dim in rank.dims]
        found = rank.most_words(tiles, self._sharing(rank, rows, boundary, outside))
        return np.broadcast_to(found, len(rows))

    def _sharing(self, rank: _Rank, rows: Rows, boundary: MemoryBoundary, outside: bool) -> Ints:
        """(rows,) instances that share a transfer, and may share its lines, with different tiles along a rank."""
        shared = np.ones(len(rows), dtype=np.int64)
        for f in range(len(self.hierarchy.fanouts)) if outside else ():
            if self.hierarchy.joins(f, boundary):
                shared = shared * rows.arrays[f][:, list(rank.dims)].prod(axis=1)
        return shared

    def _counted(
        self,
        rank: _Rank,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        outside: bool,
        fill_point: FillPoint | None,
    ) -> Ints:
        """(rows,) the code of the tiles along a rank whose lines can be counted, all of them; 0: none can."""
        none = np.zeros(len(rows), dtype=np.int64)
        if self._keeps_overlaps(boundary) or not (rank.is_plain or rank.is_window):
            return none
        tiles = [self._tile(dim, model, rows, boundary) for dim in rank.dims]
        below, beyond, alone = self._instances(rank, model, rows, boundary, outside, fill_point)
        if fill_point is not None:
            # No loop in time over the rank stands between the node and the charge: what all instances below it take
            # together is one tile.
            tiles = [np.where(below > 1, fill_point.tile[:, d], tile) for d, tile in zip(rank.dims, tiles, strict=True)]
        if rank.is_plain:
            # Wherever the tiles of instances lie, no line of the rank is touched by none of them.
            return np.where(beyond > 1, rank.sizes[0], tiles[0])
        counted = (beyond == 1) & ((below == 1) | ((alone == 1) & (not rank.is_box)))
        if fill_point is not None and fill_point.slide is not None and fill_point.slide[0] in rank.dims:
            dim, end = fill_point.slide
            i = rank.dims.index(dim)
            counted &= (below == 1) & (fill_point.tile[:, dim] == tiles[i])
            return np.where(counted, rank.sliding(rank.tile_codes(tiles), i, np.minimum(end, rank.sizes[i])), none)
        return np.where(counted, rank.tile_codes(tiles), none)

    def _instances(
        self,
        rank: _Rank,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        outside: bool,
        fill_point: FillPoint | None,
    ) -> tuple[Ints, Ints, Ints]:
        """(rows,) instances with different tiles along a rank: those below the charge that share transfers, those
        further out that do, and those below it that do not."""
        below, beyond, alone = (np.ones(len(rows), dtype=np.int64) for _ in range(3))
        for f in range(len(self.hierarchy.fanouts)) if outside else ():
            if not self.hierarchy.between(f, boundary):
                continue
            count = rows.arrays[f][:, list(rank.dims)].prod(axis=1)
            is_below = fill_point is not None and f < len(model.path.bands) and model.path.bands[f] <= fill_point.band
            if not self.hierarchy.joins(f, boundary):
                alone = alone * count
            elif is_below:
                below = below * count
            else:
                beyond = beyond * count
        return below, beyond, alone

    def _tile(self, dim: int, model: TrafficModel, rows: Rows, boundary: MemoryBoundary) -> Ints:
        if boundary.inner == MAC:
            return np.ones(len(rows), dtype=np.int64)
        tile: Ints = rows.tiles[model.path.node_group_of(boundary.inner, boundary.tensor)][:, dim]
        return tile


def _lies_in(problem: Problem, machine: Architecture, hierarchy: Hierarchy, memory: Memory, tensor: Tensor) -> _LiesIn:
    width = held_width_bits(machine, memory, tensor)
    ways = possible_layouts(machine, memory, problem, tensor, width)
    # The outermost memory lays sums out in their own width until they are finished.
    different = {(way.words, width) for way in ways} | {
        (way.sums, machine.partial_width_bits(tensor)) for way in ways if way.sums != way.words
    }
    assert memory.line_bits is not None
    return _LiesIn(
        tuple(_rank(rank, problem, hierarchy) for rank in tensor.ranks),
        tuple(sorted(different)),
        memory.line_bits,
        memory.bank_ports if memory.banks is not None else 0,
    )


def _rank(rank: Rank, problem: Problem, hierarchy: Hierarchy) -> _Rank:
    names = hierarchy.problem.dim_names
    kept = [(dim, c) for dim, c in rank if dim in names and problem.sizes[dim] > 1]
    return _Rank(
        tuple(names.index(dim) for dim, _ in kept),
        tuple(problem.sizes[dim] for dim, _ in kept),
        tuple(c for _, c in kept),
        hierarchy.arch.footprint == "box",
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
