"""Trip counts of one dimension over a row of slots, drawn so that every way to cover the dimension is equally likely.

From the inside out: where `left` tiles remain, a loop of f trips leaves ceil(left / f), and f must divide `left` if
the tiling is perfect. The slot outside all others takes what remains, so every beginning can be completed. The ways
to go on depend on `left` alone, and `left` is one of about 2 sqrt(size) numbers: they are counted once and kept.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from ...ir import ceil_div
from ..tilings import Tiling, factors

MostTrips = tuple[int, ...]
"""The most trips of each slot, innermost first, without the outermost slot, which takes what remains."""


class _Step(NamedTuple):
    """Trip counts that leave the same number of tiles: `first`, `first + 1`, ..., `options` of them."""

    first: int
    options: int
    left: int


class _Choices(NamedTuple):
    """What the innermost of some slots may do.

    ways   per step, chains that go on from any one of its trip counts
    up_to  chains of this step and all before it
    """

    steps: tuple[_Step, ...]
    ways: tuple[int, ...]
    up_to: tuple[int, ...]


def draw_chain(rng: random.Random, size: int, limits: MostTrips, tiling: Tiling) -> tuple[int, ...]:
    """Trip counts innermost first, one per limit and then the outermost slot's: a uniform draw among all chains."""
    chain: list[int] = []
    left = size
    for slot in range(len(limits)):
        if left == 1:
            return (*chain, *[1] * (len(limits) - slot + 1))
        choices = _choices(left, limits[slot:], tiling)
        pick = rng.randrange(choices.up_to[-1])
        chosen = bisect_right(choices.up_to, pick)
        before = choices.up_to[chosen - 1] if chosen else 0
        step = choices.steps[chosen]
        chain.append(step.first + (pick - before) // choices.ways[chosen])
        left = step.left
    return (*chain, left)


def count_chains(size: int, limits: MostTrips, tiling: Tiling) -> int:
    """How many chains `draw_chain` chooses from."""
    return _choices(size, limits, tiling).up_to[-1] if limits else 1


@lru_cache(maxsize=1 << 16)
def _choices(left: int, limits: MostTrips, tiling: Tiling) -> _Choices:
    steps = tuple(_steps(left, limits[0], tiling))
    ways = tuple(count_chains(step.left, limits[1:], tiling) for step in steps)
    return _Choices(steps, ways, tuple(accumulate(s.options * w for s, w in zip(steps, ways, strict=True))))


def _steps(left: int, most: int, tiling: Tiling) -> Iterator[_Step]:
    """All trip counts up to `most`, ascending, those that leave the same number of tiles together."""
    if tiling == "perfect":
        yield from (_Step(f, 1, left // f) for f in factors(left, tiling, True) if f <= most)
        return
    first = 1
    while first <= min(left, most):
        after = ceil_div(left, first)
        last = left if after == 1 else ceil_div(left, after - 1) - 1
        yield _Step(first, min(last, most) - first + 1, after)
        first = last + 1
