"""Bounds on what follows a tile, as tables are looked up for rows: by the tile, and by what arrays make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..hierarchy import Block, MemoryBoundary, State
from ..rows import Floats


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
