"""Functions of extents, worked out once for each: a tile's extents along some dimensions are their places among the
divisors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from .columns import Floats, Ints
from .lattice import NumberedTiles

Keys = list[tuple[int, Ints]]
"""Dimensions, each with tiles (rows) whose extents along it are meant."""


class LookUps:
    """All look-ups of one question."""

    def __init__(self, lattice: NumberedTiles) -> None:
        self.lattice = lattice
        self.known: dict[object, Known] = {}

    @cached_property
    def divisors(self) -> list[list[int]]:
        return [np.unique(extent).tolist() for extent in self.lattice.extent]

    @cached_property
    def places(self) -> list[Ints]:
        """Per dimension: tile -> the place of its extent among the divisors."""
        return [
            np.searchsorted(divisors, extent)
            for divisors, extent in zip(self.divisors, self.lattice.extent, strict=True)
        ]

    def of(
        self, name: object, keys: Keys, function: Callable[[list[int]], float], last: tuple[Ints, int] | None = None
    ) -> Floats:
        """(rows,) a function of extents; `name` says which function it is. `last`: another argument, and its largest
        value."""
        dims = tuple(d for d, _ in keys)
        if (name, dims) not in self.known:
            values = [self.divisors[d] for d in dims] + ([] if last is None else [list(range(last[1] + 1))])
            self.known[name, dims] = Known(values)
        return self.known[name, dims].of(
            [self.places[d][tiles] for d, tiles in keys] + ([] if last is None else [last[0]]), function
        )


class Known:
    """Values of one function by the places of its arguments, worked out when first asked for."""

    def __init__(self, divisors: list[list[int]]) -> None:
        self.divisors = divisors
        size = math.prod(map(len, divisors))
        self.dense = np.full(size, np.nan) if size < 1 << 18 else None
        self.values: dict[int, float] = {}

    def of(self, places: list[Ints], function: Callable[[list[int]], float]) -> Floats:
        code = places[0]
        for place, divisors in zip(places[1:], self.divisors[1:], strict=True):
            code = code * len(divisors) + place
        if self.dense is not None:
            out = self.dense[code]
            new = np.isnan(out)
            if new.any():
                for each in np.unique(code[new]).tolist():
                    self.dense[each] = function(self._extents(each))
                out = self.dense[code]
            return out
        each, back = np.unique(code, return_inverse=True)
        for number in each.tolist():
            if number not in self.values:
                self.values[number] = function(self._extents(number))
        return np.array([self.values[number] for number in each.tolist()])[back.ravel()]

    def _extents(self, code: int) -> list[int]:
        found = []
        for divisors in reversed(self.divisors):
            code, place = divmod(code, len(divisors))
            found.append(divisors[place])
        return found[::-1]
