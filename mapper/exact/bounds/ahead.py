"""Bounds on what follows a tile, as tables are looked up for rows: by the tile, and by what arrays make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..hierarchy import Block, MemoryBoundary, State
from ..rows import Floats, Ints


class AroundBlock(NamedTuple):
    """Bounds on what follows a tile, with loops directly inside an array that charge some boundaries.

    charged  these
    loops    the dimensions that the outermost of these loops may have, and the others
    near     what they cost, by the tile
    far      all the rest, by what this array, and those that follow it directly, make of the tile
    """

    charged: tuple[MemoryBoundary, ...]
    loops: Block
    near: Floats
    far: Floats


class AroundBlocks(tuple[AroundBlock, ...]):
    """All choices of what the loops directly inside an array charge."""

    __slots__ = ()

    @property
    def nbytes(self) -> int:
        return sum(choice.near.nbytes + choice.far.nbytes for choice in self)


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

Ahead = tuple[Floats | None, Floats | None]
"""Bounds on what follows a tile, to be added: by the tile, and by what the arrays of the fanouts that follow make of
it."""


@dataclass(frozen=True)
class Growing:
    """Bounds on what follows, per number of dimensions of a growing tile that are decided, from 0 on.

    tables   several where different things may come next: then each of them bounds one of these
    fanouts  how many follow
    block    the state in which loops directly inside an array come next: the tables are for each of their choices, by
             outermost loops; None: something else comes
    """

    tables: list[list[Ahead]]
    fanouts: int = 0
    block: State | None = None

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for tables in self.tables for pair in tables for table in pair if table is not None)
