"""Lower bounds on the lines that transfers touch, and on the cycles of banks, in memories that move whole lines.

The search charges words as if lines were packed without a gap, and more where tiles are known to leave gaps; the cost
model counts the lines of complete mappings.

A transfer has at most W different words along a rank. Where a line holds b neighbours along that rank, it holds at most
min(W, b) of these words, and one line of each of n banks together at most min(W, b n). So there are at least

    lines = words / (product over ranks of min(W, b))
    cycles of banks = words / (product over ranks of min(W, b n)) / ports

Where all tiles along a rank are known, the lines that they touch are counted (`line_ranks.py`).

Which lines instances that share transfers touch together is known once all fanouts are passed, and these lines are
counted then (`counted_gaps`): loops further out only repeat the positions of the tiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....arch import Architecture, Memory
from ....cost_models.cost import held_width_bits
from ....cost_models.layouts.choices import possible_layouts
from ....cost_models.layouts.transfers import Arrangement
from ....cost_models.ports import Port, ports_of
from ....ir import Problem, Tensor
from ...effort import AT_ONCE
from ...means import MOST_NUMBERS
from ..question.hierarchy import MAC, Hierarchy, MemoryBoundary
from ..rows import Floats, Ints, Rows, distinct, row_codes
from ..tiles.lattice import Lattice
from .fill_point import FillPoint
from .line_ranks import LinedRank, lined_rank
from .traffic import TrafficModel

_MOST_GAPS = MOST_NUMBERS
"""How many tiles times layouts are looked up one by one; beyond that, the least gap of any tile bounds them all."""


class LineGaps(NamedTuple):
    """Words that full lines have room for, per word that is wanted: 1 or more.

    sums   in the layout of partial sums
    words  in the layout of operands and finished outputs, which differs in the outermost memory alone
    """

    sums: Floats | float = 1.0
    words: Floats | float = 1.0

    def of_finished(self, words: Floats, wide: int, narrow: int) -> Floats:
        """Return the bits to add where finished words were charged with the gaps of partial sums; a finished word never
        takes more than a partial sum."""
        bits: Floats = words * (np.minimum(narrow * self.words, wide * self.sums) - narrow * self.sums)
        return bits


def _in_parts(columns: Sequence[Ints], ways: int, figure: Callable[[Ints], Floats]) -> Floats:
    """Return (figures, rows) figures of rows of some columns, worked out once for equal rows, and for a limited number
    of rows at a time.

    ways    layouts that are looked at for each row
    figure  takes the indices of rows
    """
    first, which = distinct(row_codes(columns))
    step = max(1, AT_ONCE // ways)
    parts = [figure(first[at : at + step]) for at in range(0, len(first), step)]
    found: Floats = np.concatenate(parts, axis=-1)[..., which] if parts else figure(first)
    return found


@dataclass(frozen=True)
class _LiesIn:
    """The layouts that a tensor may have in a memory.

    ways         each layout, with the width of its words in bits
    sums, words  per layout, whether partial sums may have it, and whether all other words may
    ports        lines that a bank moves in a cycle; 0: there are no banks
    """

    ranks: tuple[LinedRank, ...]
    ways: tuple[tuple[Arrangement, int], ...]
    sums: tuple[bool, ...]
    words: tuple[bool, ...]
    line_bits: int
    ports: int

    def least_gaps(self, of_ways: Floats) -> LineGaps:
        """Return the least gaps of any layout, and 1 at least, from the gaps (ways, ...) of each."""
        least = (np.maximum(of_ways[list(each)].min(axis=0), 1.0) for each in (self.sums, self.words))
        return LineGaps(*least)

    @property
    def has_banks(self) -> bool:
        return self.ports > 0

    @cached_property
    def line(self) -> Ints:
        """(ways, ranks) neighbours along each rank that one line holds."""
        return np.array([way.line for way, _ in self.ways], dtype=np.int64)

    @cached_property
    def spread(self) -> Ints:
        """(ways, ranks) neighbours along each rank that one line of every bank holds."""
        return self.line * np.array([way.banks for way, _ in self.ways], dtype=np.int64)

    def at_tiles(self, lattice: Lattice, whole: bool) -> LineGaps:
        """Bound `words_per_word` from below for the tiles of every cell of a lattice, to which the result broadcasts;
        `whole` is that of `LinedRank.at_tiles`."""
        along: list[dict[int, Floats | float]] = []
        for r, rank in enumerate(self.ranks):
            each = np.unique(self.line[:, r])
            along.append(dict(zip(each.tolist(), rank.at_tiles(each, lattice, whole), strict=True)))
        sums: Floats = np.full((1,) * len(lattice.shape), np.inf)
        words = sums
        of_ways = zip(self.line.tolist(), self.room.tolist(), self.sums, self.words, strict=True)
        for way, room, of_sums, of_words in of_ways:
            lines: Floats | float = room
            for values, per_line in zip(along, way, strict=True):
                lines = lines * values[per_line]
            sums = np.minimum(sums, lines) if of_sums else sums
            words = np.minimum(words, lines) if of_words else words
        return LineGaps(np.maximum(sums, 1.0), np.maximum(words, 1.0))

    @cached_property
    def least_of_all(self) -> LineGaps:
        """The least gaps where all words of the tensor pass, once or several times, along every rank but one."""
        return self._of_whole([np.array(rank.sizes[:1] if rank.is_plain else [0]) for rank in self.ranks])

    @cached_property
    def least(self) -> LineGaps:
        """The least gaps wherever tiles begin and end."""
        return self._of_whole([np.array([0])] * len(self.ranks))

    def _of_whole(self, tiles: Sequence[Ints]) -> LineGaps:
        found = self.words_per_word([np.array([rank.extent]) for rank in self.ranks], tiles)
        return LineGaps(*(float(np.min(least)) for least in self.least_gaps(found)))

    @cached_property
    def room(self) -> Floats:
        """(ways,) words that a line packed without a gap holds."""
        return self.line_bits / np.array([width for _, width in self.ways])

    def words_per_word(self, most: Sequence[Ints], tiles: Sequence[Ints]) -> Floats:
        """Bound from below (ways, rows) the gaps of each layout, by the most words of a transfer and the code of its
        tiles along each rank."""
        found: Floats = np.tile(self.room[:, None], len(most[0]))
        for r, rank in enumerate(self.ranks):
            each, which = np.unique(self.line[:, r], return_inverse=True)
            found *= rank.lines_per_word(each, most[r], tiles[r])[which]
        return found

    def cycles_per_word(self, most: Sequence[Ints]) -> Floats:
        """Bound from below (rows,) the cycles of the busiest bank per word that is wanted."""
        together = np.ones((len(self.ways), len(most[0])))
        for r in range(len(self.ranks)):
            together *= np.minimum(self.spread[:, r, None], most[r])
        cycles: Floats = 1.0 / (together.max(axis=0) * self.ports)
        return cycles


@dataclass(frozen=True)
class LineBounds:
    """Lower bounds on the lines that words take, and on how long these keep banks busy.

    lies  the layouts of a tensor in a memory, by (memory, tensor) as the hierarchy numbers them
    """

    hierarchy: Hierarchy
    lies: dict[tuple[int, int], _LiesIn]

    @classmethod
    def of(cls, problem: Problem, machine: Architecture, hierarchy: Hierarchy) -> LineBounds:
        """For a problem and a machine with lines, and the hierarchy in which they are searched."""
        return cls(
            hierarchy,
            {
                (m, t): _lies_in(problem, machine, hierarchy.problem.dim_names, memory, tensor)
                for m, memory in enumerate(reversed(machine.memories))
                for t, tensor in enumerate(problem.tensors)
                if memory.line_bits is not None
            },
        )

    def are_words(self, dim: int) -> bool:
        """Whether neighbours along a dimension never share a line and never differ in their bank: then lines along its
        ranks are counted like words, and what is proven of words while loops grow holds for lines."""
        return all(
            (lies.spread[:, r] == 1).all()
            for lies in self.lies.values()
            for r, rank in enumerate(lies.ranks)
            if dim in rank.dims
        )

    def bank_ports(self) -> tuple[Port, ...]:
        """Return the ports of each memory with banks, once for each tensor there, as they wait for the banks of that
        tensor."""
        waiting = [(self.hierarchy.memories[m], t) for (m, t), lies in self.lies.items() if lies.has_banks]
        return tuple(port.of_banks(t) for memory, t in waiting for port in ports_of(memory))

    def are_counted(self, boundary: MemoryBoundary) -> bool:
        """Whether the lines that a boundary touches in its outer memory are counted once all fanouts are passed, and
        only bounded before."""
        joined = any(self.hierarchy.joins(f, boundary) for f in range(len(self.hierarchy.fanouts)))
        return joined and (boundary.outer, boundary.tensor) in self.lies and not self._keeps_overlaps(boundary)

    def counted_gaps(
        self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint | None, served: Floats
    ) -> LineGaps:
        """Return (rows,) the words of the lines touched in the outer memory of a boundary, per word served, once all
        fanouts are passed.

        Lines along a rank are counted at every position of its tiles; lines that instances share count once. Loops
        further out only repeat these positions.
        """
        lies, repeats = self.lies[boundary.outer, boundary.tensor], model.repeats(rows, boundary, fill_point)
        lines, kept = (np.ones((len(lies.ways), len(rows))) for _ in range(2))
        for r, rank in enumerate(lies.ranks):
            if rank.dims:
                lengths, which = np.unique(lies.line[:, r], return_inverse=True)
                wanted, held = self._counted_along(rank, model, rows, boundary, fill_point, lengths)
                lines, kept = lines * wanted[which], kept * held[which]
        if fill_point is not None and fill_point.slide is not None:
            lines = lines - kept
        return lies.least_gaps(lines * lies.room[:, None] * (repeats / served))

    def _counted_along(
        self,
        rank: LinedRank,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        fill_point: FillPoint | None,
        lengths: Ints,
    ) -> tuple[Ints, Ints]:
        """Return (lengths, rows) the lines wanted along a rank, and those still held when the tile slides, for lines of
        each length in words."""
        names, inner = self.hierarchy.problem.dim_names, -1
        if fill_point is not None:
            inner = model.path.node_group_of(boundary.inner, boundary.tensor)
        dims = tuple((names[d], step) for d, step in zip(rank.dims, rank.steps, strict=True))
        per_line = tuple(lengths.tolist())
        wanted, held = model.ranks.lines(rows, dims, inner, fill_point, model.sharing(boundary), per_line)
        slides = fill_point is not None and fill_point.slide is not None and fill_point.slide[0] in rank.dims
        return wanted.T, (held if slides else wanted).T

    def words_per_word(
        self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int, fill_point: FillPoint | None
    ) -> LineGaps:
        """Bound from below (rows,) the words of the lines touched at one end of a boundary, charged as given, per word
        that is wanted."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return LineGaps()
        outside = memory == boundary.outer
        most, tiles = [], []
        for r, rank in enumerate(lies.ranks):
            most.append(np.minimum(self._most(rank, model, rows, boundary, outside), int(lies.line[:, r].max())))
            tiles.append(self._counted(rank, model, rows, boundary, outside, fill_point))

        def least(some: Ints) -> Floats:
            return np.stack(lies.least_gaps(lies.words_per_word([m[some] for m in most], [t[some] for t in tiles])))

        return LineGaps(*_in_parts([*most, *tiles], len(lies.ways), least))

    def cycles_per_word(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats | None:
        """Bound from below (rows,) the cycles of the busiest bank at one end of a boundary, per word that is wanted;
        None: there are no banks."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None or not lies.has_banks:
            return None
        outside = memory == boundary.outer
        most = [
            np.minimum(self._most(rank, model, rows, boundary, outside), int(lies.spread[:, r].max()))
            for r, rank in enumerate(lies.ranks)
        ]
        return _in_parts(most, len(lies.ways), lambda some: lies.cycles_per_word([m[some] for m in most]))

    def least_gaps(self, boundary: MemoryBoundary, memory: int) -> LineGaps:
        """Bound `words_per_word` from below at one end of a boundary, whatever tile charges it."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return LineGaps()
        return lies.least if self._keeps_overlaps(boundary) else lies.least_of_all

    def gaps_at_tiles(self, boundary: MemoryBoundary, memory: int, lattice: Lattice, passed: int) -> LineGaps:
        """Bound it by the tile that charges the boundary inside fanout `passed`, for every cell of a lattice, to which
        the result broadcasts; the tiles of all instances inside that fanout count as one tile."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return LineGaps()
        if self._keeps_overlaps(boundary) or len(lies.ways) * math.prod(lattice.shape) > _MOST_GAPS:
            return self.least_gaps(boundary, memory)
        outside = memory == boundary.outer
        whole = outside and any(self.hierarchy.joins(f, boundary) for f in range(passed, len(self.hierarchy.fanouts)))
        return lies.at_tiles(lattice, whole)

    def _keeps_overlaps(self, boundary: MemoryBoundary) -> bool:
        """Whether the inner memory keeps overlaps of tiles (`halo: exact`), so that a charge may bring less than the
        tile along several ranks."""
        is_operand = not self.hierarchy.problem.tensors[boundary.tensor].is_output
        return is_operand and boundary.inner != MAC and self.hierarchy.memories[boundary.inner].halo == "exact"

    def _most(self, rank: LinedRank, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, outside: bool) -> Ints:
        """Return (rows,) the most words that one transfer has along a rank."""
        tiles = [self._tile(dim, model, rows, boundary) for dim in rank.dims]
        found = rank.most_words(tiles, self._sharing(rank, rows, boundary, outside))
        return np.broadcast_to(found, len(rows))

    def _sharing(self, rank: LinedRank, rows: Rows, boundary: MemoryBoundary, outside: bool) -> Ints:
        """Return (rows,) how many instances with different tiles along a rank share a transfer, and so may share its
        lines."""
        shared = np.ones(len(rows), dtype=np.int64)
        for f in range(len(self.hierarchy.fanouts)) if outside else ():
            if self.hierarchy.joins(f, boundary):
                shared = shared * rows.arrays[f][:, list(rank.dims)].prod(axis=1)
        return shared

    def _counted(
        self,
        rank: LinedRank,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        outside: bool,
        fill_point: FillPoint | None,
    ) -> Ints:
        """Return (rows,) the code of the tiles along a rank where every line that they touch can be counted, and 0
        where not."""
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
        rank: LinedRank,
        model: TrafficModel,
        rows: Rows,
        boundary: MemoryBoundary,
        outside: bool,
        fill_point: FillPoint | None,
    ) -> tuple[Ints, Ints, Ints]:
        """Return (rows,) the numbers of instances with different tiles along a rank: those below the charge that share
        transfers, those further out that do, and those that do not share."""
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


def least_gaps(problem: Problem, machine: Architecture, memory: Memory, tensor: Tensor) -> LineGaps:
    """Bound from below the gaps that a tensor leaves in the lines of a memory, whatever the mapping."""
    lies = _lies_in(problem, machine, problem.dim_names, memory, tensor)
    return lies.least if any(each.halo == "exact" for each in machine.memories) else lies.least_of_all


def never_fills_lines(problem: Problem, machine: Architecture) -> bool:
    """Whether every mapping leaves gaps in the lines of the outermost memory, which all words of each tensor pass."""
    outermost = machine.memories[0]
    if outermost.line_bits is None:
        return False
    return any(min(least_gaps(problem, machine, outermost, tensor)) > 1 for tensor in problem.tensors)


def _lies_in(problem: Problem, machine: Architecture, names: Sequence[str], memory: Memory, tensor: Tensor) -> _LiesIn:
    width = held_width_bits(machine, memory, tensor)
    possible = possible_layouts(machine, memory, problem, tensor, width)
    # The outermost memory lays sums out in their own width until they are finished, though a line may hold as many.
    sums_width = machine.partial_width_bits(tensor) if tensor.is_output else width
    of_words = {(way.words, width) for way in possible}
    of_sums = {(way.sums, sums_width) for way in possible}
    ways = tuple(sorted(of_words | of_sums))
    assert memory.line_bits is not None
    return _LiesIn(
        tuple(lined_rank(rank, problem, names, machine.footprint == "box") for rank in tensor.ranks),
        ways,
        tuple(way in of_sums for way in ways),
        tuple(way in of_words for way in ways),
        memory.line_bits,
        memory.bank_ports if memory.banks is not None else 0,
    )
