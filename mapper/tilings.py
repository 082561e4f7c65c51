"""Tile sizes of one dimension: which factors a loop may have, given what is left above it.

A chain of tiles grows from the inside out. Where `left` tiles remain, a loop of f trips leaves ceil(left / f). With
perfect tiling f divides what is left. With ragged tiling any f will do, but of those that leave as many tiles mostly
the smallest alone matters: a larger one makes every tile larger and saves nothing (`ragged_trips`). That holds as long
as a tile's words grow evenly with its size; where they do not, as with dilated windows, all are tried
(`linear_growth`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isqrt, prod
from types import MappingProxyType
from typing import Literal

from ..ir import Problem, ceil_div

Tiling = Literal["perfect", "ragged"]
TILINGS: tuple[Tiling, ...] = ("perfect", "ragged")


def per_dim(tiling: Tiling | Sequence[Tiling], count: int) -> Sequence[Tiling]:
    """The tiling of each of so many dimensions, where it may be one for all."""
    return (tiling,) * count if isinstance(tiling, str) else tiling


DEFAULT_TILING: Tiling = "ragged"
"""Of searches that are not told otherwise, and know it."""


def tiling_for(known: Sequence[Tiling] = TILINGS) -> Tiling:
    """The tiling of a search that is not told which: the default where it is known, else what is known."""
    return DEFAULT_TILING if DEFAULT_TILING in known else known[0]


@lru_cache(maxsize=1 << 14)
def factors(left: int, tiling: Tiling, even: bool) -> tuple[int, ...]:
    """Trip counts worth trying where `left` tiles remain, in ascending order."""
    if tiling == "perfect":
        small = [f for f in range(1, isqrt(left) + 1) if left % f == 0]
        return (*small, *(left // f for f in reversed(small) if f * f != left))
    if not even:
        return tuple(range(1, left + 1))
    found = [1]
    while (tiles := ceil_div(left, found[-1])) > 1:
        found.append(ceil_div(left, tiles - 1))
    return tuple(found)


@lru_cache(maxsize=1 << 11)
def ragged_trips(left: int, most: int, spread: bool, loose_from: int = 0, alone: int = 0) -> tuple[int, ...]:
    """Return the trip counts worth trying, at most `most`, in ascending order, where `left` tiles remain and grow
    evenly.

    Of the trip counts that leave as many tiles, a larger one changes one thing: the last of these tiles gets smaller
    and the others larger. That pays only where the last tile counts for more than the others do.

    spread      The tiles are spread over instances inside: trips that divide `left` - 1 may pay too, since a last tile
                with one tile inside leaves all instances but the first idle.
    loose_from  An array further out may spread the last tile to its first instance, which does not have all of the
                others: all trip counts may pay that leave this many tiles or more. 0: there is no such array.
    alone       This many instances stand directly outside: the same, where the last round needs only the first of them.
                0: there is one instance.
    """
    found = set(factors(left, "ragged", True))
    if spread and left > 1:
        found.update(factors(left - 1, "perfect", True))
    if loose_from:
        found.update(range(1, min(most + 1, ceil_div(left, loose_from - 1))))
    if alone:
        found.update(f for f in range(1, min(most, left - 1) + 1) if (ceil_div(left, f) - 1) % alone == 0)
    return tuple(sorted(f for f in found if f <= most))


FEW_TILES = 300
"""Sizes of tiles of a problem, counted as numbers of tiles along each dimension and multiplied, up to which nothing is
left aside that has to be argued about."""


def has_few_tiles(problem: Problem) -> bool:
    """Whether a ragged problem is so small that all of its loops can be tried."""
    if any(size > FEW_TILES**2 for _, size in problem.dims):  # about 2 sqrt(size) tiles
        return False
    return prod(len(factors(size, "ragged", True)) for _, size in problem.dims) <= FEW_TILES


def linear_growth(problem: Problem, dim: str) -> bool:
    """Whether the words of every tensor's tile grow by equal amounts with the tile along `dim`.

    So where `dim` is alone in its ranks, or where the others step by single elements (2p + r along p, not along r);
    not where zeros of padding are no words.
    """
    return all(
        coefficient == 1 and stored is None
        for tensor in problem.tensors
        for rank, stored in tensor.stored_ranks
        if any(d == dim for d, _ in rank)
        for other, coefficient in rank
        if other != dim
    )


def grow(tile: int, factor: int, size: int) -> int:
    """The tile that a loop of `factor` trips makes; a tile that covers the dimension is the dimension."""
    return min(tile * factor, size)


@lru_cache(maxsize=4096)
def grid(size: int, tiling: Tiling, even: bool) -> tuple[int, ...]:
    """Tile sizes that stand for all others when costs are bounded from below, in ascending order.

    Perfect: the divisors. Ragged: the smallest tile for each number of tiles.
    """
    return factors(size, tiling, even)


@lru_cache(maxsize=4096)
def prime_exponents(number: int) -> Mapping[int, int]:
    """How often each prime divides a positive whole number, the least prime first."""
    found: dict[int, int] = {}
    prime = 2
    while number > 1:
        if prime * prime > number:
            prime = number
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
        prime += 1
    return MappingProxyType(found)


@lru_cache(maxsize=4096)
def rounded_up(size: int, least: int = 0) -> int:
    """The number with most divisors of those up to a 32nd above a size, if these are more than twice its own and the
    size is above the least."""

    def divisors(number: int) -> int:
        return prod(1 + exponent for exponent in prime_exponents(number).values())

    best = max(range(size, size + min(size // 32, 1024) + 1), key=divisors)
    return best if size > least and divisors(best) > 2 * divisors(size) else size
