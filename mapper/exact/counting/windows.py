"""Words along a rank, and lines that they lie in, for one setting of the loops: whole numbers in, whole numbers out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from ....arch import Footprint
from ....cost_models.moves import RankLoops, rank_lines, rank_words
from ....ir import Digit, Stored, ceil_div

LoopKind = Literal["time", "together", "apart"]
"""A loop in time; one of instances that are served together; one of instances that are not."""


@lru_cache(maxsize=1 << 14)
def fewest_sums(coefficients: tuple[int, ...], sizes: tuple[int, ...], counts: tuple[int, ...]) -> int:
    """The fewest distinct sums of two arithmetic progressions with so many elements, for any tile that stands between
    neighbours.

    Sums a*i + b*j are equal along one direction only: (b, -a) / gcd(a, b). Of such directions that some tiles have, the
    shortest makes most of them equal.
    """
    one, other = counts
    first, second = coefficients
    most = [max((size - 1) // max(n - 1, 1), 1) for size, n in zip(sizes, counts, strict=True)]
    equal = 0
    for a in range(1, other):
        for b in range(1, one):
            times = math.lcm(first // math.gcd(first, a), second // math.gcd(second, b))
            if times * a <= first * most[0] and times * b <= second * most[1]:
                equal = max(equal, (one - b) * (other - a))
                break
    return one * other - equal


@lru_cache(maxsize=1 << 17)
def rank_total(
    coefficients: tuple[int, ...],
    sizes: tuple[int, ...],
    key: tuple[int, ...],
    kinds: tuple[LoopKind, ...],
    sliding: tuple[int, int] | None,
    footprint: Footprint,
    stored: Stored | None = None,
) -> tuple[int, int]:
    """Words wanted along a rank at all settings of the loops above a node, and held when its tile slides.

    key      per dimension: the node's tile, then (trips, tile) of every loop, outermost first
    kinds    of these loops, the same along every dimension
    sliding  the dimension along which the tile slides, and which of its loops makes it
    stored   the words that count; None: all do
    """
    above = _loops_above(coefficients, sizes, key, kinds, footprint)._replace(stored=stored)
    wanted, _ = rank_words(above, None)
    moving = _stepping(above, sliding)
    return wanted, 0 if moving is None else rank_words(above, moving)[1]


def tiles_total(
    coefficients: tuple[int, ...], sizes: Sequence[int], tiles: Sequence[int], footprint: Footprint, stored: Stored
) -> int:
    """Words along a rank that all tiles of some size want together, each on its own, of those that are stored."""
    key = tuple(x for size, tile in zip(sizes, tiles, strict=True) for x in (tile, ceil_div(size, tile), tile))
    return rank_total(coefficients, tuple(sizes), key, ("time",), None, footprint, stored)[0]


@lru_cache(maxsize=1 << 17)
def rank_total_lines(
    coefficients: tuple[int, ...],
    sizes: tuple[int, ...],
    key: tuple[int, ...],
    kinds: tuple[LoopKind, ...],
    sliding: tuple[int, int] | None,
    footprint: Footprint,
    per_line: tuple[int, ...],
) -> tuple[int, ...]:
    """Lines that the same words lie in, wanted and held, for lines of several numbers of words, one after the other;
    arguments as those of `rank_total`."""
    above = _loops_above(coefficients, sizes, key, kinds, footprint)
    wanted, held = rank_lines(above, per_line), [0] * len(per_line)
    moving = _stepping(above, sliding)
    if moving is not None:
        held = [rank_words(above, moving, b)[1] for b in per_line]
    return tuple(itertools.chain.from_iterable(zip(wanted, held, strict=True)))


def _loops_above(
    coefficients: tuple[int, ...],
    sizes: tuple[int, ...],
    key: tuple[int, ...],
    kinds: tuple[LoopKind, ...],
    footprint: Footprint,
) -> RankLoops:
    """The loops that a key stands for."""
    width = 1 + 2 * len(kinds)
    digits, tiles = [], []
    for d in range(len(sizes)):
        tile, *loops = key[d * width : (d + 1) * width]
        along = (Digit(i, loops[2 * i], loops[2 * i + 1], kind != "time") for i, kind in enumerate(kinds))
        digits.append(tuple(x for x in along if x.trips > 1))
        tiles.append(tile)
    together = frozenset(i for i, kind in enumerate(kinds) if kind == "together")
    return RankLoops(coefficients, sizes, tuple(digits), tuple(tiles), together, footprint)


def _stepping(above: RankLoops, sliding: tuple[int, int] | None) -> int | None:
    """The loop along which a tile slides; None: there is none, or it makes one step."""
    if sliding is None or not any(x.position == sliding[1] for x in above.digits[sliding[0]]):
        return None
    return sliding[1]
