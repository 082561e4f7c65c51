"""What loops directly inside an array charge: in which orders, and what it costs at least, for rows of which the arrays
and the tile below these loops are known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..counting.traffic import TrafficModel
from ..hierarchy import Block, MemoryBoundary
from ..lattice import Lattice
from ..rows import Floats, Ints, Rows
from ..table_memo import TableMemo
from .ahead import FirstCharge
from .boundary_costs import BoundaryBounds
from .loop_charges import LoopCharges

FIRST_WORDS = "first words"
"""Kind of tables."""


def orders_of(
    choice: frozenset[MemoryBoundary], moved: Mapping[int, frozenset[MemoryBoundary]]
) -> Iterator[tuple[FirstCharge, ...]]:
    """All orders in which the loops of a block may charge some boundaries, and nothing else.

    moved  per dimension, the waiting boundaries that a loop over it moves

    Lemma. A loop inside the first one that moves a boundary moves nothing but what was charged before. What one loop
    charges at once is charged no better than one after the other: more loops may stand inside the second charge.
    """
    for order in itertools.permutations(sorted(choice)):
        earlier = (frozenset(order[:i]) for i in range(len(order)))
        free = (tuple(d for d, moves in moved.items() if moves <= before) for before in earlier)
        yield tuple(sorted(itertools.starmap(FirstCharge, zip(order, free, strict=True))))


class BelowBlock(NamedTuple):
    """Rows above whose tiles loops directly inside an array come next.

    arrays  of the rows
    tiles   (rows, dims) below these loops
    most    (rows, dims) the largest tiles above them
    """

    block: Block
    model: TrafficModel
    arrays: Rows
    tiles: Ints
    most: Ints


class ChargesInside:
    """Costs of boundaries, each charged by the first of the loops that moves it, inside all fanouts.

    boundaries  over the lattice, for any arrays, in all columns of rows
    """

    def __init__(self, lattice: Lattice, boundaries: BoundaryBounds, moves: LoopCharges, memo: TableMemo) -> None:
        self.lattice = lattice
        self.boundaries = boundaries
        self.moves = moves
        self.memo = memo

    def roughly(self, charge: FirstCharge, rows: BelowBlock) -> Floats:
        """(columns, rows) at least, wherever the windows of instances lie."""
        words = self._fewest_words(charge.boundary, _largest(charge, rows.tiles, rows.most))
        for d in self._sliding(charge, rows):
            words = np.minimum(words, self._fewest_words(charge.boundary, _largest(charge, rows.tiles, rows.most, d)))
        shared = rows.model.most_shared(rows.arrays, charge.boundary)
        costs: Floats = self.boundaries.book(charge.boundary, 0, words, shared)[0]
        return costs

    def by_windows(self, charge: FirstCharge, rows: BelowBlock) -> Floats:
        """The same, where it is looked at how far apart the windows of instances lie, which takes longer.

        Where the tile slides along a loop, instances stand as far apart as that loop reaches: over two tiles at least.
        The longer it is, the fewer words pass, and the fewer instances share them; so loops that reach beyond a window
        are looked at apart from shorter ones.
        """
        boundary, tiles, slides = charge.boundary, rows.tiles, list[tuple[int, Ints, Ints]]()
        for d in self._sliding(charge, rows):
            least = np.minimum(2 * tiles[:, d], self.lattice.sizes[d])
            beyond = rows.model.reach(boundary, d, tiles)
            slides.append((d, least, np.minimum(rows.most[:, d], beyond - 1)))
            slides.append((d, np.maximum(least, beyond), rows.most[:, d]))
        words = self._fewest_words(boundary, _largest(charge, tiles, rows.most))
        apart = [(d, least) for d, least, _ in slides]
        still, *slid = rows.model.most_shared_if_slid(rows.arrays, boundary, tiles, apart)
        served = words / still
        for (d, least, reach), shared in zip(slides, slid, strict=True):
            most = rows.most.copy()
            most[:, d] = np.maximum(reach, tiles[:, d])
            found = self._fewest_words(boundary, _largest(charge, tiles, most, d))
            found = np.where(least <= reach, found, np.inf)
            words, served = np.minimum(words, found), np.minimum(served, found / shared)
        costs: Floats = self.boundaries.book(boundary, 0, words, words / served)[0]
        return costs

    def _sliding(self, charge: FirstCharge, rows: BelowBlock) -> Iterator[int]:
        """Dimensions of the loops along which the tile may slide."""
        return filter(rows.block.may_have, self.moves.sliding(charge.boundary))

    def _fewest_words(self, boundary: MemoryBoundary, tiles: Ints) -> Floats:
        """(rows,) words of a boundary that is charged at tiles no larger than some, (rows, dims), at least."""
        words = self.memo.of(
            (FIRST_WORDS, boundary), lambda: self.lattice.within(self.boundaries.words_at_tiles(boundary))
        )
        found: Floats = words.reshape(-1)[self.lattice.cell(tiles)]
        return found


def _largest(charge: FirstCharge, tiles: Ints, most: Ints, *along: int) -> Ints:
    """(rows, dims) the largest tile at which a charge may be, that slides along some dimension or none."""
    charged, dims = tiles.copy(), [*charge.free, *along]
    charged[:, dims] = most[:, dims]
    return charged
