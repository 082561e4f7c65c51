"""Memories with lines, as the search sees them: it costs words packed without a gap, which is a bound, and more where
tiles are known to leave gaps; the cost model counts the lines of complete mappings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...arch import Architecture, Memory
from ...cost_models.cost import held_width_bits
from ...cost_models.layouts.choices import possible_layouts
from ...ir import Problem, Rank
from .hierarchy import MAC, Hierarchy, MemoryBoundary
from .rows import Floats, Ints, Rows
from .traffic import TrafficModel


@dataclass(frozen=True)
class _Rank:
    """One rank of a tensor.

    dim       its dimension in the search's problem, as a number; None: none, or several
    per_line  its indices that a line holds
    lines     per tile of that dimension, the lines that all tiles touch, over the words of the dimension
    """

    dim: int | None
    per_line: int
    lines: Floats


@dataclass(frozen=True)
class LineBounds:
    """How many lines words take at least, by memory and tensor, as numbers of the hierarchy.

    kinds  what a line may hold: the ranks, for each layout that the tensor may have there; and words of a full line
    """

    hierarchy: Hierarchy
    kinds: dict[tuple[int, int], list[tuple[tuple[_Rank, ...], float]]]

    @classmethod
    def of(cls, problem: Problem, machine: Architecture, hierarchy: Hierarchy) -> LineBounds:
        """For a problem and a machine with lines, and the hierarchy in which they are searched."""
        kinds = {}
        for m, memory in enumerate(reversed(machine.memories)):
            for t, tensor in enumerate(problem.tensors):
                if memory.line_bits is not None:
                    # The outermost memory lays sums out in their own width until they are finished.
                    widths = {held_width_bits(machine, memory, tensor), machine.partial_width_bits(tensor)}
                    kinds[m, t] = [
                        (
                            tuple(
                                _rank(rank, per_line, problem, hierarchy)
                                for rank, per_line in zip(tensor.ranks, box, strict=True)
                            ),
                            memory.line_bits / width,
                        )
                        for width in widths
                        for box in possible_layouts(memory, problem, tensor, width)
                    ]
        return cls(hierarchy, kinds)

    def words_per_word(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, memory: int) -> Floats:
        """(rows,) words of the lines that pass at one end of a boundary, over those that are wanted; 1 or more."""
        found = np.full(len(rows), np.inf)
        for ranks, per_line in self.kinds.get((memory, boundary.tensor), ()):
            lines = np.ones(len(rows))
            for rank in ranks:
                lines = lines * self._along(rank, model, rows, boundary, memory == boundary.outer)
            found = np.minimum(found, lines * per_line)
        return np.maximum(np.where(np.isinf(found), 1.0, found), 1.0)

    def _along(self, rank: _Rank, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, outside: bool) -> Floats:
        """(rows,) lines per word along one rank, at least."""
        least = np.full(len(rows), 1.0 / rank.per_line)
        is_operand = not self.hierarchy.problem.tensors[boundary.tensor].is_output
        keeps_overlaps = boundary.inner != MAC and self.hierarchy.memories[boundary.inner].halo == "exact"
        if rank.dim is None or (is_operand and keeps_overlaps):
            return least
        tile = self._tile(rank.dim, model, rows, boundary)
        found: Floats = rank.lines[tile]
        if outside:
            # Instances that share a transfer may share its lines.
            joined = [f for f in range(len(self.hierarchy.fanouts)) if self.hierarchy.joins(f, boundary)]
            together = np.prod([rows.arrays[f][:, rank.dim] for f in joined], axis=0) if joined else 1
            found = np.where(together > 1, least, found)
        return found

    def _tile(self, dim: int, model: TrafficModel, rows: Rows, boundary: MemoryBoundary) -> Ints:
        if boundary.inner == MAC:
            return np.ones(len(rows), dtype=np.int64)
        return rows.tiles[model.path.node_group_of(boundary.inner, boundary.tensor)][:, dim]


def _rank(rank: Rank, per_line: int, problem: Problem, hierarchy: Hierarchy) -> _Rank:
    names = hierarchy.problem.dim_names
    kept = [(dim, c) for dim, c in rank if dim in names and problem.sizes[dim] > 1]
    if len(kept) != 1:
        return _Rank(None, per_line if kept else 1, np.ones(1))
    ((dim, coefficient),) = kept
    if hierarchy.arch.footprint == "box" and coefficient > 1:
        return _Rank(None, per_line * coefficient, np.ones(1))
    return _Rank(names.index(dim), per_line, lines_of_tiles(problem.sizes[dim], coefficient, per_line))


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
