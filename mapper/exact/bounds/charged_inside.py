"""What loops directly inside an array charge at least, for rows whose arrays are known.

Such loops stand below the fanout, and what they charge is shared over its instances: by how many, each row's own arrays
and tiles say. A boundary is charged by the first of the loops that moves it, at the tile below that loop; where the
tile slides along it, at the tile that the loop comes to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..hierarchy import Block, MemoryBoundary
from ..lattice import Lattice
from ..rows import Floats, Ints
from ..table_memo import TableMemo
from .boundary_costs import BoundaryBounds
from .loop_charges import LoopCharges

FIRST_WORDS = "first words"
"""The kind of tables here."""


class BlockReach(NamedTuple):
    """The tiles, (rows, dims), below and above loops directly inside an array, as far as they are known.

    below, most_below  from the smallest along each dimension to the largest: below these loops
    least, most        above them
    """

    below: Ints
    most_below: Ints
    least: Ints
    most: Ints

    def take(self, index: Ints) -> BlockReach:
        return BlockReach(*(tiles[index] for tiles in self))

    def parts(self, d: int, smallest: Ints) -> tuple[BlockReach, Ints]:
        """Once for each range of tiles above along a dimension, and which row each was; `smallest`: of each range,
        ascending."""
        first = np.searchsorted(smallest, self.least[:, d], side="right") - 1
        last = np.searchsorted(smallest, self.most[:, d], side="right") - 1
        counts = last - first + 1
        which = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        parts = self.take(which)
        parts.least[:, d] = np.maximum(parts.least[:, d], smallest[place])
        parts.most[:, d] = np.minimum(parts.most[:, d], np.append(smallest[1:] - 1, parts.most.max(initial=1))[place])
        return parts, which


MostShared = Callable[[Sequence[int]], list[Floats]]
"""(rows,) instances that may share a word, at most: of a tile, and of one that slides along each of some dimensions."""


class ChargedInside:
    """By the words of tiles on one lattice.

    boundaries  what boundaries cost for any arrays, in all columns of rows
    """

    def __init__(self, lattice: Lattice, boundaries: BoundaryBounds, moves: LoopCharges, memo: TableMemo) -> None:
        self.lattice = lattice
        self.boundaries = boundaries
        self.moves = moves
        self.memo = memo

    def least(self, boundary: MemoryBoundary, loops: Block, reach: BlockReach, shared: MostShared) -> Floats:
        """(columns, rows) least cost of a boundary that some of the loops charges, inside all fanouts.

        loops   the dimensions that they may have
        shared  asked for the dimensions along which the tile may slide
        """
        charged = reach.most_below.copy()
        free = [d for d in loops.inner if d not in self.moves.moving[boundary.tensor]]
        charged[:, free] = reach.most[:, free]
        slides = list(filter(loops.may_have, self.moves.hierarchy.sliding(boundary)))
        still, *slid = shared(slides)
        cost = self._served(boundary, charged, still)
        for d, own in zip(slides, slid, strict=True):
            tiles = charged.copy()
            tiles[:, d] = reach.most[:, d]
            cost = np.minimum(cost, self._served(boundary, tiles, own))
        return cost

    def _served(self, boundary: MemoryBoundary, tiles: Ints, shared: Floats) -> Floats:
        """(columns, rows) least cost of a boundary whose charged tile is no larger than one, (rows, dims), along any
        dimension, and whose words no more than so many instances share."""
        words = self.memo.of(
            (FIRST_WORDS, boundary), lambda: self.lattice.within(self.boundaries.words_at_tiles(boundary))
        )
        found: Floats = self.boundaries.book(boundary, 0, words.reshape(-1)[self.lattice.cell(tiles)], shared)[0]
        return found
