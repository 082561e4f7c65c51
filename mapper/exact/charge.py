"""Where crossings are charged, and which rows differ in what a count along some dimensions looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .rows import Ints, Rows, distinct, row_codes


@dataclass(frozen=True)
class Kinds:
    """Rows, one for each of those that differ along some dimensions.

    which  (all rows,) which of them each row is like
    """

    rows: Rows
    charge: Charge
    which: Ints


@dataclass(frozen=True, eq=False)
class Charge:
    """Where a crossing is charged.

    gap    the gap whose loop moves the tensor
    tile   (rows, dims) elements below that loop, loops that the tensor stays over included
    slide  dimension index of that loop if the tile slides along it, and (rows,) the tile above the loop
    """

    gap: int
    tile: Ints
    slide: tuple[int, Ints] | None = None
    _kinds: list[tuple[Rows, dict[tuple[int, ...], Kinds]]] = field(default_factory=list, repr=False)

    def take(self, index: np.ndarray) -> Charge:
        slide = None if self.slide is None else (self.slide[0], self.slide[1][index])
        return Charge(self.gap, self.tile[index], slide)

    def kinds(self, rows: Rows, dims: Sequence[int]) -> Kinds:
        """The rows that differ along some dimensions. Many rows are combinations of few tiles and instances along each
        dimension, so that counts are made for few of them."""
        if not self._kinds or self._kinds[-1][0] is not rows:
            self._kinds[:] = [(rows, {})]
        known, key = self._kinds[-1][1], tuple(dims)
        if key not in known:
            first, which = distinct(self._codes(rows, key))
            known[key] = Kinds(rows.take(first), self.take(first), which)
        return known[key]

    def _codes(self, rows: Rows, dims: tuple[int, ...]) -> Ints:
        """(rows,) one number from 0 on for all that is known along some dimensions."""
        if len(dims) > 1:
            return row_codes([self.kinds(rows, (d,)).which for d in dims])
        (d,) = dims
        columns = [every[:, d] for every in (*rows.tiles, *rows.arrays, self.tile)]
        if self.slide is not None and self.slide[0] == d:
            columns.append(self.slide[1])
        return row_codes(columns)
