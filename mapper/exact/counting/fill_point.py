"""Where boundaries are charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rows import MANY_ROWS, Index, Ints, Kinds, Rows, distinct, row_codes, taken


@dataclass(frozen=True)
class FilledKinds(Kinds):
    """Rows, one for each of those that differ in something, with the charge of each."""

    fill_point: FillPoint


@dataclass(frozen=True, eq=False)
class FillPoint:
    """Where a boundary is charged.

    band    the band whose loop moves the tensor
    tile   (rows, dims) elements below that loop, loops that the tensor stays over included
    slide  dimension index of that loop if the tile slides along it, and (rows,) the tile above the loop
    at_end  whether no loop of the mapping moves the tensor: it comes with every visit
    """

    band: int
    tile: Ints
    slide: tuple[int, Ints] | None = None
    at_end: bool = False
    _kinds: list[tuple[Rows, dict[tuple[int, ...], FilledKinds]]] = field(default_factory=list, repr=False)

    def take(self, index: Index) -> FillPoint:
        slide = None if self.slide is None else (self.slide[0], taken(self.slide[1], index))
        return FillPoint(self.band, taken(self.tile, index), slide, self.at_end)

    def kinds(self, rows: Rows, dims: Sequence[int]) -> FilledKinds:
        """The rows that differ along some dimensions, in what they are or where they are charged."""
        if len(rows) < MANY_ROWS:
            return FilledKinds(rows, np.arange(len(rows)), self)
        if not self._kinds or self._kinds[-1][0] is not rows:
            self._kinds[:] = [(rows, {})]
        known, key = self._kinds[-1][1], tuple(dims)
        if key not in known:
            first, which = distinct(self._codes(rows, key))
            known[key] = FilledKinds(rows.take(first), which, self.take(first))
        return known[key]

    def _codes(self, rows: Rows, dims: tuple[int, ...]) -> Ints:
        """(rows,) one number from 0 on for all that is known along some dimensions."""
        if len(dims) > 1:
            return row_codes([self.kinds(rows, (d,)).which for d in dims])
        (d,) = dims
        columns = [rows.kinds(d).which, self.tile[:, d]]
        if self.slide is not None and self.slide[0] == d:
            columns.append(self.slide[1])
        return row_codes(columns)
