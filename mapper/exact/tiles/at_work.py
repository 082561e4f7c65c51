"""Which instances of nested arrays ever have work along a ragged dimension, and how much the first one has, whatever
tiles and loops are chosen.

Tiles nest exactly: what an instance is given at one setting of the loops outside is a multiple of what the arrays
inside it cover together, a *block*; only the last block of a dimension may be shorter. So an array deals out blocks,
never single elements of them.

Lemma. Cut the tiles of the innermost of some nested arrays into blocks. At one setting of the loops in time, and at one
place in these tiles, each instance has one block at most, no two have the same, and the first instance, whose indices
are all 0, has the earliest: it has one whenever another has. So of b blocks the first of n instances has r >= b / n. If
the last block of the dimension is among them, no other instance has one at that setting, and b <= n (r - 1) + 1: with
r = ceil(b / n) only if b = n (r - 1) + 1. With more than ceil(b / n), as many are whole beside the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ..rows import Ints, ceil_div_array, distinct, row_codes
from .instances import tiles_needed

MOST_BLOCKS = 64
"""Blocks up to which all ways to deal them out are looked at; with more of them some way leaves about as many instances
without work as tiles leave at most."""


def instances_at_work(size: int, block: Ints, counts: Sequence[Ints]) -> Ints:
    """(rows,) instances of some nested arrays that ever have work along a ragged dimension, at least.

    block   (rows,) elements that the arrays inside them cover
    counts  per array, innermost first, (rows,) its instances
    """
    blocks = ceil_div_array(size, block)
    found = tiles_needed([np.ones_like(blocks), *counts], perfect=False)
    nested = np.sum([count > 1 for count in counts], axis=0) > 1
    few = np.flatnonzero((blocks <= MOST_BLOCKS) & nested)
    if len(few):
        columns = [column[few] for column in (blocks, *counts)]
        first, which = distinct(row_codes(columns))
        rows = zip(*(column[first].tolist() for column in columns), strict=True)
        least = np.array([_least_at_work(*row) for row in rows], dtype=np.int64)
        found[few] = np.maximum(found[few], least[which])
    return found


@lru_cache(maxsize=1 << 16)
def _least_at_work(blocks: int, *counts: int) -> int:
    """The least number of instances with work, over all tiles; 0: no tiles leave work for some instance of each."""
    several = [count for count in counts if count > 1]
    return min((_at_work(blocks, several, tiles) for tiles in _nested_tiles(blocks, several)), default=0)


def _nested_tiles(blocks: int, counts: Sequence[int], unit: int = 1) -> Iterator[tuple[int, ...]]:
    """The tiles of one instance of each of some arrays, innermost first, in blocks: multiples of what the array inside
    covers, of which each array needs all its instances."""
    if not counts:
        yield ()
        return
    own, *outer = counts
    for tile in range(unit, (blocks - 1) // (own - 1) + 1, unit):
        for further in _nested_tiles(blocks, outer, tile * own):
            yield (tile, *further)


def _at_work(blocks: int, counts: Sequence[int], tiles: Sequence[int]) -> int:
    """Instances whose first block is one of so many: those of an array with a whole tile have work for all inside them,
    and the one after them has what is left."""
    if not counts:
        return 1
    *inner, own = counts
    inside = int(np.prod(inner, dtype=np.int64))
    whole, rest = divmod(blocks, tiles[-1])
    if whole >= own:
        return own * inside
    return whole * inside + (_at_work(rest, inner, tiles[:-1]) if rest else 0)


def first_has(size: int | Ints, block: Ints, instances: Ints) -> Ints:
    """(rows,) elements of a ragged dimension that the first of some instances works on, at least. Or, with a size for
    each of several dimensions, (rows, dims).

    block      (rows,) elements that the arrays inside these instances cover, no more than there are
    instances  (rows,) how many there are along the dimension
    """
    blocks = ceil_div_array(size, block)
    more = ceil_div_array(blocks, instances) - 1
    last = np.where(more * instances == blocks - 1, size - (blocks - 1) * block, block)
    found: Ints = more * block + last
    return found
