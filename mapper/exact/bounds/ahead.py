"""Bounds on what follows a tile, as tables are looked up for rows: by the tile, and by what arrays make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..hierarchy import MemoryBoundary
from ..rows import Floats


class FirstCharge(NamedTuple):
    """A boundary that is charged by loops directly inside an array.

    free  dimensions of which loops may stand inside the one that charges it: those that move nothing which waits then
    """

    boundary: MemoryBoundary
    free: tuple[int, ...]


class AroundBlock(NamedTuple):
    """Bounds on what follows a tile, with loops directly inside an array that charge some boundaries.

    loops   dimensions that the outermost of the loops may have, and the others
    orders  these, in every order in which they may be charged
    near    what they cost, by the tile
    far     all the rest, by what this array, and those that follow it directly, make of the tile
    """

    loops: tuple[tuple[int, ...], tuple[int, ...]]
    orders: tuple[tuple[FirstCharge, ...], ...]
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
    """

    tables: list[list[Ahead]]
    fanouts: int = 0

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for tables in self.tables for pair in tables for table in pair if table is not None)
