"""Plans made at once: blocks in some order, each at the lowest address that is free for its whole life."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .buffers import live_together
from .sections import AddressBlock

ORDERS: tuple[Callable[[AddressBlock], tuple[int, ...]], ...] = (
    lambda block: (-block.size, block.lower),
    lambda block: (-block.size * (block.upper - block.lower), block.lower),
    lambda block: (block.lower - block.upper, -block.size),
    lambda block: (block.lower, -block.size),
)
"""Large ones first; large and long ones; long ones; as they come."""


def greedy_offsets(blocks: Sequence[AddressBlock]) -> list[int]:
    """An offset for each block, in bytes: the lowest plan of those that the orders give."""
    plans = [_first_fit(blocks, sorted(range(len(blocks)), key=lambda b: order(blocks[b]))) for order in ORDERS]
    return min(plans, key=lambda offsets: height_of(blocks, offsets))


def height_of(blocks: Sequence[AddressBlock], offsets: Sequence[int]) -> int:
    """Where the uppermost block ends, in bytes."""
    return max((offset + block.size for block, offset in zip(blocks, offsets, strict=True)), default=0)


def _first_fit(blocks: Sequence[AddressBlock], order: Sequence[int]) -> list[int]:
    offsets = [block.offset or 0 for block in blocks]
    placed = [b for b in order if blocks[b].offset is not None]
    for b in order:
        block = blocks[b]
        if block.offset is not None:
            continue
        live = [c for c in placed if live_together(blocks[c].lives, block.lives)]
        offset = 0
        for start, end in sorted((offsets[c], offsets[c] + blocks[c].size) for c in live):
            if start - offset >= block.size:
                break
            offset = max(offset, -(-end // block.alignment) * block.alignment)
        offsets[b] = offset
        placed.append(b)
    return offsets
