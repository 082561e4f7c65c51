"""Plans made at once: blocks in some order, each at the lowest address that is free for its whole life."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..means import Means
from .sections import AddressBlock

ORDERS: tuple[Callable[[AddressBlock], tuple[int, ...]], ...] = (
    lambda block: (-block.size, block.lower),
    lambda block: (-block.size * (block.upper - block.lower), block.lower),
    lambda block: (block.lower - block.upper, -block.size),
    lambda block: (block.lower, -block.size),
)
"""Large ones first; large and long ones; long ones; as they come."""


def greedy_offsets(blocks: Sequence[AddressBlock], means: Means) -> list[int]:
    """An offset for each block, in bytes: the lowest plan of those that the orders give, as many as there is time for,
    and the first in any case."""
    found: list[list[int]] = []
    for order in ORDERS:
        if not found or not means.expired:
            found.append(_first_fit(blocks, sorted(range(len(blocks)), key=lambda b: order(blocks[b]))))
    return min(found, key=lambda offsets: height_of(blocks, offsets))


def height_of(blocks: Sequence[AddressBlock], offsets: Sequence[int]) -> int:
    """Where the uppermost block ends, in bytes."""
    return max((offset + block.size for block, offset in zip(blocks, offsets, strict=True)), default=0)


def _first_fit(blocks: Sequence[AddressBlock], order: Sequence[int]) -> list[int]:
    begins = np.array([begin for block in blocks for begin, _ in block.lives], np.int64)
    ends = np.array([end for block in blocks for _, end in block.lives], np.int64)
    whose = np.array([b for b, block in enumerate(blocks) for _ in block.lives], np.int64)
    sizes = np.array([block.size for block in blocks], np.int64)
    offsets = np.array([block.offset or 0 for block in blocks], np.int64)
    placed = np.array([block.offset is not None for block in blocks], bool)
    for b in order:
        block = blocks[b]
        if block.offset is not None:
            continue
        together = np.zeros(len(whose), bool)
        for begin, end in block.lives:
            together |= (begins < end) & (ends > begin)
        live = np.unique(whose[together & placed[whose]])
        live = live[np.argsort(offsets[live], kind="stable")]
        # Free from the highest end so far up to the next beginning.
        highest = np.maximum.accumulate(np.concatenate([[0], offsets[live] + sizes[live]]))
        free = -(-highest // block.alignment) * block.alignment
        fits = np.append(offsets[live] - free[:-1] >= block.size, True)
        offsets[b] = free[int(np.argmax(fits))]
        placed[b] = True
    return [int(offset) for offset in offsets]
