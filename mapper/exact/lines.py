"""Memories with lines, as the search sees them: it costs words packed without a gap, which is a bound, and more where
tiles are known to leave gaps; the cost model counts the lines of complete mappings.

Of the words of a transfer, along each rank at most W different ones, a line holds min(W, b), where b fit into it, and
a bank moves them in one go if min(W, b n) of them lie in as many lines and banks as there are. So there are at least

    lines = words / (product over ranks of min(W, b))
    cycles of banks = words / (product over ranks of min(W, b n)) / ports

and of tiles of a rank with one dimension, the lines that all of them touch are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...arch import Architecture, Memory
from ...cost_models.cost import held_width_bits
from ...cost_models.layouts.choices import possible_layouts
from ...cost_models.layouts.transfers import Arrangement
from ...cost_models.ports import Port
from ...ir import Problem, Rank, Tensor
from .hierarchy import MAC, Hierarchy, MemoryBoundary
from .rows import Floats, Ints, Rows, distinct, row_codes
from .traffic import TrafficModel

_AT_ONCE = 1 << 18
"""Numbers that are worked out at once, about."""


@dataclass(frozen=True)
class _Rank:
    """One rank of a tensor.

    dims         its dimensions in the search's problem, as numbers
    coefficient  of its only dimension; 0: it has several, or counts gaps
    size         of that dimension
    """

    dims: tuple[int, ...]
    coefficient: int
    size: int

    def lines_per_word(self, per_line: int, most: Ints, tile: Ints) -> Floats:
        """Lines over words, at least.

        most  words of one transfer along the rank, at most
        tile  of the only dimension, where all tiles count; else 0
        """
        least: Floats = 1.0 / np.minimum(most, per_line)
        if not self.coefficient:
            return least
        return np.maximum(least, lines_of_tiles(self.size, self.coefficient, per_line)[tile])


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

    @cached_property
    def line(self) -> Ints:
        """(ways, ranks) words of a line."""
        return np.array([way.line for way, _ in self.ways], dtype=np.int64)

    @cached_property
    def spread(self) -> Ints:
        """(ways, ranks) words in different lines or banks."""
        return self.line * np.array([way.banks for way, _ in self.ways], dtype=np.int64)

    @cached_property
    def room(self) -> Floats:
        """(ways,) words of a line that is packed without a gap."""
        return self.line_bits / np.array([width for _, width in self.ways])

    def words_per_word(self, most: Sequence[Ints], tiles: Sequence[Ints]) -> Floats:
        """(rows,) words of full lines over words that are wanted, at least."""
        found = np.tile(self.room[:, None], len(most[0]))
        for r, rank in enumerate(self.ranks):
            each, which = np.unique(self.line[:, r], return_inverse=True)
            along = np.array([rank.lines_per_word(int(b), most[r], tiles[r]) for b in each])
            found *= along[which]
        return np.maximum(found.min(axis=0), 1.0)

    def cycles_per_word(self, most: Sequence[Ints]) -> Floats:
        """(rows,) cycles of the busiest bank over words that are wanted, at least."""
        together = np.ones((len(self.ways), len(most[0])))
        for r in range(len(self.ranks)):
            together *= np.minimum(self.spread[:, r, None], most[r])
        return 1.0 / (together.max(axis=0) * self.ports)


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

    def bank_ports(self) -> tuple[Port, ...]:
        """Ports for what waits for the banks of a memory, tensor by tensor: in both directions together, if these share
        one."""
        found = []
        for (m, t), lies in self.lies.items():
            memory = self.hierarchy.memories[m]
            ways = ((True, False), (False, True)) if memory.ports_are_apart else ((True, True),)
            found += [Port(memory, *way, 1.0, waits_for=t) for way in ways if lies.ports]
        return tuple(found)

    def words_per_word(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats:
        """(rows,) words of the lines that pass at one end of a boundary, over those that are wanted; 1 or more."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None:
            return np.ones(len(rows))
        outside = memory == boundary.outer
        most, tiles = [], []
        for r, rank in enumerate(lies.ranks):
            words, tile = self._along(rank, model, rows, boundary, outside)
            most.append(np.minimum(words, int(lies.line[:, r].max())))
            tiles.append(tile)
        first, which = distinct(row_codes([*most, *tiles]))
        step = max(1, _AT_ONCE // len(lies.ways))
        parts = [
            lies.words_per_word([m[some] for m in most], [t[some] for t in tiles])
            for some in (first[at : at + step] for at in range(0, len(first), step))
        ]
        found: Floats = np.concatenate(parts)[which] if parts else np.ones(0)
        return found

    def cycles_per_word(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats | None:
        """(rows,) cycles of the busiest bank at one end of a boundary over words that are wanted, at least; None: it
        has no banks."""
        lies = self.lies.get((memory, boundary.tensor))
        if lies is None or not lies.ports:
            return None
        outside = memory == boundary.outer
        most = [
            np.minimum(self._along(rank, model, rows, boundary, outside)[0], int(lies.spread[:, r].max()))
            for r, rank in enumerate(lies.ranks)
        ]
        first, which = distinct(row_codes(most))
        step = max(1, _AT_ONCE // len(lies.ways))
        parts = [
            lies.cycles_per_word([m[some] for m in most])
            for some in (first[at : at + step] for at in range(0, len(first), step))
        ]
        found: Floats = np.concatenate(parts)[which] if parts else np.ones(0)
        return found

    def _along(
        self, rank: _Rank, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, outside: bool
    ) -> tuple[Ints, Ints]:
        """(rows,) words of one transfer along a rank, at most; and the tile of its only dimension, where all tiles
        count: not where instances share a transfer, and not where words of it are held already."""
        most = np.ones(len(rows), dtype=np.int64)
        # Instances that share a transfer may share its lines.
        joined = [f for f in range(len(self.hierarchy.fanouts)) if outside and self.hierarchy.joins(f, boundary)]
        for dim in rank.dims:
            shared = np.prod([rows.arrays[f][:, dim] for f in joined], axis=0) if joined else 1
            most = most * np.minimum(
                self._tile(dim, model, rows, boundary) * shared,
                self.hierarchy.problem.sizes[self.hierarchy.problem.dim_names[dim]],
            )
        is_operand = not self.hierarchy.problem.tensors[boundary.tensor].is_output
        keeps = is_operand and boundary.inner != MAC and self.hierarchy.memories[boundary.inner].halo == "exact"
        if not rank.coefficient or keeps:
            return most, np.zeros(len(rows), dtype=np.int64)
        (dim,) = rank.dims
        tile = self._tile(dim, model, rows, boundary)
        if joined:
            tile = np.where(np.prod([rows.arrays[f][:, dim] for f in joined], axis=0) > 1, 0, tile)
        return most, tile

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
    dims = tuple(names.index(dim) for dim, _ in kept)
    if len(kept) != 1:
        return _Rank(dims, 0, 0)
    ((dim, coefficient),) = kept
    if hierarchy.arch.footprint == "box" and coefficient > 1:
        return _Rank(dims, 0, 0)
    return _Rank(dims, coefficient, problem.sizes[dim])


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
