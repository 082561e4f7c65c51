"""Words along a rank of several dimensions, for one setting of the loops: whole numbers in, whole numbers out."""

from __future__ import annotations

import math
from functools import lru_cache

from ...arch import Footprint
from ...cost_models.moves import rank_words
from ...ir import Digit, ceil_div


@lru_cache(maxsize=1 << 14)
def fewest_sums(coefficients: tuple[int, ...], sizes: tuple[int, ...], counts: tuple[int, ...]) -> int:
    """The fewest distinct sums of two arithmetic progressions with so many elements, for any tile that stands between
    neighbours.

    Sums a*i + b*j are equal along one direction only: (b, -a) / gcd(a, b).
    """
    one, other = counts
    apart = [
        [c * tile for tile in range(1, (size - 1) // max(n - 1, 1) + 1)] or [c]
        for c, size, n in zip(coefficients, sizes, counts, strict=True)
    ]
    equal = 0
    for a in apart[0]:
        for b in apart[1]:
            common = math.gcd(a, b)
            equal = max(equal, max(one - b // common, 0) * max(other - a // common, 0))
    return one * other - equal


@lru_cache(maxsize=1 << 17)
def rank_total(
    coefficients: tuple[int, ...],
    sizes: tuple[int, ...],
    key: tuple[int, ...],
    joined: tuple[bool, ...],
    moving: int | None,
    footprint: Footprint,
) -> tuple[int, int]:
    """Words wanted along a rank by the instances below a charge, in all their places; and held when it slides.

    key  per dimension: tile of the inner block, tile below the charge, (trips, tile) of each fanout outermost first,
         tile above the charging loop
    """
    width = 3 + 2 * len(joined)
    positions = range(2, 2 + len(joined))
    digits, tiles = [], []
    for d, size in enumerate(sizes):
        tile, below, *spread, above = key[d * width : (d + 1) * width]
        spatial = [Digit(p, spread[2 * i], spread[2 * i + 1], True) for i, p in enumerate(positions)]
        if moving == d:
            time = [Digit(0, ceil_div(size, above), above, False), Digit(1, ceil_div(above, below), below, False)]
        else:
            time = [Digit(0, ceil_div(size, below), below, False)]
        digits.append(tuple(x for x in (*time, *spatial) if x.trips > 1))
        tiles.append(tile)
    shared = frozenset(p for p, join in zip(positions, joined, strict=True) if join)
    wanted, _ = rank_words(coefficients, sizes, tuple(digits), tuple(tiles), None, shared, footprint)
    if moving is None or not any(x.position == 1 for x in digits[moving]):
        return wanted, 0
    return wanted, rank_words(coefficients, sizes, tuple(digits), tuple(tiles), 1, shared, footprint)[1]


@lru_cache(maxsize=1 << 16)
def every_step_total(
    coefficients: tuple[int, ...], sizes: tuple[int, ...], key: tuple[int, ...], shapes: tuple[tuple[bool, ...], ...]
) -> int:
    """Words that all steps want along a rank, in each of them once.

    key     (trips, tile) of every loop, dimension by dimension, outermost first
    shapes  per dimension, whether each of its loops is one of instances that share
    """
    values = iter(key)
    digits, shared = [], set()
    for flags in shapes:
        found = []
        for position, joined in enumerate(flags):
            found.append(Digit(position, next(values), next(values), joined))
            shared |= {position} if joined else set()
        digits.append(tuple(x for x in found if x.trips > 1))
    # A single element is its own box.
    return rank_words(coefficients, sizes, tuple(digits), (1,) * len(sizes), None, frozenset(shared), "exact")[0]
