"""Where boundaries are charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rows import MANY_ROWS, Index, Ints, Kinds, Rows, distinct, row_codes, taken


@dataclass(frozen=True)
class FilledKinds(Kinds):
    """Rows that stand for all rows that are alike along some dimensions, with the charge of each."""

    fill_point: FillPoint


@dataclass(frozen=True, eq=False)
class FillPoint:
    """A fill point says where a boundary is charged: at which tile, below which loop.

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
        """Pick one of all rows that are alike along some dimensions, in what they are and where they are charged."""
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
        """Number (rows,) all that is known along some dimensions: rows with the same number are alike there."""
        if len(dims) > 1:
            return row_codes([self.kinds(rows, (d,)).which for d in dims])
        (d,) = dims
        columns = [rows.kinds(d).which, self.tile[:, d]]
        if self.slide is not None and self.slide[0] == d:
            columns.append(self.slide[1])
        return row_codes(columns)
