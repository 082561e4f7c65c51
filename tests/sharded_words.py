"""What shardings mean: which words of a row every device has, word by word."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tilewright.ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Placement, Sharding, Split

Coordinates = tuple[int, ...]


def devices(sizes: Sequence[int]) -> list[Coordinates]:
    return list(itertools.product(*map(range, sizes)))


def has(placement: Placement, place: int, word: int) -> bool:
    """Whether the devices at a place along an axis have a word, or an addend of it."""
    assert placement != SPREAD
    if not isinstance(placement, Deal):
        assert placement in (REPLICATED, PARTIAL)
        return True
    start, at = place * placement.block, word % placement.period
    return start - placement.low <= at < start + placement.block + placement.high


def words_of(sharding: Sharding, device: Coordinates, total: int) -> set[int]:
    return {word for word in range(total) if all(has(one, j, word) for one, j in zip(sharding, device, strict=True))}


def points_of(size: int, dim: str, split: Split, device: Coordinates, sizes: Sequence[int]) -> range:
    """The points of a dimension that a device does: the outer axes deal first, the inner ones their blocks."""
    start, end, whole = 0, size, size
    for axis in reversed(range(len(split))):
        if split[axis] == dim:
            whole = -(-whole // sizes[axis])
            start += device[axis] * whole
            end = min(end, start + whole)
    return range(min(start, end), end)


def blocks_of(dims: Mapping[str, int], split: Split, device: Coordinates, sizes: Sequence[int]) -> dict[str, range]:
    return {dim: points_of(size, dim, split, device, sizes) for dim, size in dims.items()}
