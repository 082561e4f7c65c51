"""Tiles of a perfect tiling. A tile, a product of loops and a choice of parallel loops are all one divisor per
dimension, that is, an exponent per dimension and prime. Their number is these exponents read as digits, so that

    number(a * b) = number(a) + number(b)        number(a / b) = number(a) - number(b)

and everything else about a tile is a look-up in a table of its size.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import lru_cache

import numpy as np

from ...ir import TilewrightError
from ..means import Means
from .columns import Flags, Floats, Ints, Rank
from .plain_question import PlainQuestion

Progressions = tuple[tuple[int, int], ...]


class NumberedTiles:
    """All tiles of one question."""

    def __init__(self, question: PlainQuestion, means: Means) -> None:
        self.products: dict[frozenset[int], Floats] = {}
        self.parts: dict[int, Ints] = {}
        self.axes = [(d, p, e) for d, n in enumerate(question.sizes) for p, e in _factors(n)] or [(0, 2, 0)]
        self.shape = tuple(e + 1 for _, _, e in self.axes)
        self.size = math.prod(self.shape)
        if sum(e.bit_length() + 1 for _, _, e in self.axes) >= 63:
            raise TilewrightError(
                "its dimensions have more prime factors than a tile's number has room for",
                where=question.problem.name,
                hint='take "exact"',
            )
        means.check_numbers(self.size * len(question.sizes))
        self.full = self.size - 1
        exponent = np.indices(self.shape).reshape(len(self.shape), -1)
        self.extent = np.ones((len(question.sizes), self.size), np.int64)
        self.code, self.guard = np.zeros(self.size, np.int64), 0
        shift = 0
        for (d, p, e), own in zip(self.axes, exponent, strict=True):
            self.extent[d] *= p**own
            self.code += own << shift
            shift += int(e).bit_length() + 1
            self.guard |= 1 << (shift - 1)
        self.count = self.product(range(len(question.sizes)))
        self.ranks = {rank: self._distinct(rank) for t in question.tensors for rank in t.ranks}
        self.words = [
            np.prod([np.ones(self.size), *(self.ranks[r] for r in t.ranks)], axis=0) for t in question.tensors
        ]

    def divides(self, *parts: Ints) -> Flags:
        """Whether the product of some tiles divides the whole: two at most."""
        whole = self.code[self.full] | self.guard
        for part in parts:
            whole = whole - self.code[part]
        return np.asarray((whole & self.guard) == self.guard)

    def code_divides(self, tiles: Ints, whole: int) -> Flags:
        """tiles -> whether they divide one."""
        return np.asarray((((self.code[whole] | self.guard) - self.code[tiles]) & self.guard) == self.guard)

    @property
    def own_strides(self) -> list[int]:
        """Per axis, the number of its prime."""
        out, stride = [], self.size
        for width in self.shape:
            stride //= width
            out.append(stride)
        return out

    def product(self, dims: Collection[int]) -> Floats:
        """tile -> product of its extents along some dimensions."""
        key = frozenset(dims)
        if key not in self.products:
            self.products[key] = np.prod([np.ones(self.size), *(self.extent[d] for d in sorted(key))], axis=0)
        return self.products[key]

    def multiples(self, tile: int) -> Ints:
        """All tiles that a tile divides."""
        where = np.unravel_index(tile, self.shape)
        box = np.arange(self.size).reshape(self.shape)[tuple(slice(i, None) for i in where)]
        return box.ravel()

    def along(self, d: int) -> Ints:
        """number -> that of its part along one dimension."""
        if d not in self.parts:
            self.parts[d] = self.numbers(np.where(np.arange(len(self.extent))[None, :] == d, self.extent.T, 1))
        return self.parts[d]

    def least_above(self, values: Floats) -> Floats:
        """tile -> the least value (of every column) among its multiples, itself included: one axis at a time."""
        out = values.reshape(*self.shape, -1)
        for axis in range(len(self.shape)):
            out = np.flip(np.minimum.accumulate(np.flip(out, axis), axis), axis)
        return out.reshape(self.size, -1)

    def steps(self, dims: Collection[int]) -> list[int]:
        """Axes of some dimensions."""
        return [axis for axis, (d, _, _) in enumerate(self.axes) if d in dims]

    def shifted(self, values: Floats, axis: int) -> Floats:
        """tile -> the values of that tile times the prime of an axis; infinite where there is none."""
        values = values.reshape(*self.shape, -1)
        out = np.full_like(values, np.inf)
        head = (slice(None),) * axis
        out[(*head, slice(None, -1))] = values[(*head, slice(1, None))]
        return out.reshape(self.size, -1)

    def numbers(self, extents: Ints) -> Ints:
        """extents (rows, dimensions) -> numbers."""
        out = np.zeros(len(extents), np.int64)
        stride = self.size
        for (d, p, e), width in zip(self.axes, self.shape, strict=True):
            stride //= width
            for power in range(1, e + 1):
                out += stride * (extents[:, d] % p**power == 0)
        return out

    def _distinct(self, rank: Rank) -> Floats:
        """tile -> elements that it touches along a rank: distinct sums, not the box."""
        if len(rank) == 1:
            return np.asarray(self.extent[rank[0][0]], np.float64)
        keys = self.extent[[d for d, _ in rank]].T
        kinds, back = np.unique(keys, axis=0, return_inverse=True)
        found: Floats = np.array(
            [distinct_sums(tuple((int(n), c) for n, (_, c) in zip(row, rank, strict=True))) for row in kinds], float
        )
        return np.asarray(found[back.ravel()])


@lru_cache(None)
def distinct_sums(progressions: Progressions) -> int:
    """How many different sums arithmetic progressions from 0 (terms, step) have, one term of each."""
    return sums(progressions).bit_count()


def sums(progressions: Progressions, mask: int = 1) -> int:
    """The sums of some numbers, which are the bits of an integer, and a term of each arithmetic progression from 0."""
    for n, step in progressions:
        done = 1
        while done < n:
            more = min(done, n - done)
            mask |= mask << (more * step)
            done += more
    return mask


def _factors(n: int) -> Iterator[tuple[int, int]]:
    p = 2
    while p * p <= n:
        e = 0
        while n % p == 0:
            n, e = n // p, e + 1
        if e:
            yield p, e
        p += 1
    if n > 1:
        yield n, 1
