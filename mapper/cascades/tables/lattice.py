"""Tiles whose sizes divide those of a problem, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...exact.rows import Flags, Floats, Ints
from ...tilings import factors, prime_exponents


@dataclass(frozen=True)
class TileLattice:
    """All tiles of a problem of some sizes. The number of a tile: its divisors' places, the last dimension fastest."""

    sizes: tuple[int, ...]

    @cached_property
    def divisors(self) -> list[Ints]:
        """Per dimension, ascending."""
        return [np.array(factors(size, "perfect", True), dtype=np.int64) for size in self.sizes]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Divisors per dimension."""
        return tuple(len(divisors) for divisors in self.divisors)

    @property
    def count(self) -> int:
        """Of tiles."""
        return math.prod(self.shape)

    @cached_property
    def divides(self) -> list[Flags]:
        """Per dimension, (divisors, divisors): whether the first one divides the second."""
        return [divisors % divisors[:, None] == 0 for divisors in self.divisors]

    @cached_property
    def stands(self) -> list[Flags]:
        """Per dimension, (divisors, 2 x divisors): whether what has to divide a size does, and what has to equal it."""
        return [np.concatenate([divides.T, np.eye(len(divides), dtype=bool)], 1) for divides in self.divides]

    def places(self, dim: int, sizes: Ints) -> Ints:
        """The places of some divisors of a dimension."""
        return np.searchsorted(self.divisors[dim], sizes)

    def place(self, tile: tuple[int, ...]) -> tuple[int, ...]:
        """The places of one tile's sizes."""
        return tuple(places[size] for places, size in zip(self._places, tile, strict=True))

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{size: place for place, size in enumerate(each.tolist())} for each in self.divisors]

    def numbers(self, places: list[Ints]) -> Ints:
        """Of tiles, by the places of their sizes."""
        number = np.zeros_like(places[0])
        for count, place in zip(self.shape, places, strict=True):
            number = number * count + place
        return number

    @cached_property
    def tiles(self) -> Ints:
        """(dims, tiles) their sizes."""
        return np.array([each.take(at) for each, at in zip(self.divisors, crossed(list(self.shape)), strict=True)])

    def next_smaller(self, values: Floats) -> Floats:
        """(dims, tiles) the least value of all tiles that are smaller by one prime factor along a dimension; infinite
        where there is none."""
        found = np.full((len(self.sizes), *self.shape), np.inf)
        for d, size in enumerate(self.sizes):
            along, own = np.moveaxis(found[d], d, 0), np.moveaxis(values.reshape(self.shape), d, 0)
            for prime in prime_exponents(size):
                for place, smaller in _steps(size, prime):
                    np.minimum(along[place, ...], own[smaller, ...], out=along[place, ...])
        return found.reshape(len(self.sizes), -1)

    def least_of_divisors(self, values: Floats) -> Floats:
        """(tiles,) the least value of all tiles that divide a tile."""
        found = values.reshape(self.shape).copy()
        for d in range(len(self.sizes)):
            along = np.moveaxis(found, d, 0)
            for prime in prime_exponents(self.sizes[d]):
                for place, smaller in _steps(self.sizes[d], prime):
                    np.minimum(along[place, ...], along[smaller, ...], out=along[place, ...])
        return found.ravel()


@lru_cache(maxsize=1024)
def _steps(size: int, prime: int) -> tuple[tuple[int, int], ...]:
    """Places of divisors that have a prime, ascending, and of those with one fewer."""
    divisors = factors(size, "perfect", True)
    place = {divisor: i for i, divisor in enumerate(divisors)}
    return tuple((i, place[divisor // prime]) for i, divisor in enumerate(divisors) if divisor % prime == 0)


@lru_cache(maxsize=1024)
def chains(size: int, count: int) -> Ints:
    """(chains, count) trips of so many nested loops whose product divides a size."""
    found = (
        [()]
        if not count
        else [
            (trips, *rest)
            for trips in factors(size, "perfect", True)
            for rest in chains(size // trips, count - 1).tolist()
        ]
    )
    return np.array(found, dtype=np.int64).reshape(len(found), count)


def crossed(counts: list[int]) -> list[Ints]:
    """Indices of all combinations of one of each of some lists, the last one fastest."""
    grid = np.indices(counts).reshape(len(counts), -1) if counts else np.zeros((0, 1), dtype=np.int64)
    return [grid[i] for i in range(len(counts))]
