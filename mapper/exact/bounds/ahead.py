"""Bounds on what follows a tile, as tables are looked up for rows: by the tile, and by what arrays make of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..rows import Floats


@dataclass(frozen=True)
class Growing:
    """Bounds on what follows, per number of dimensions of a growing tile that are decided, from 0 on; None: nothing.

    near     by the tile
    far      to be added: by what the arrays of the fanouts that follow make of the tile
    fanouts  how many follow
    """

    near: list[Floats | None]
    far: list[Floats | None]
    fanouts: int = 0

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for table in (*self.near, *self.far) if table is not None)
