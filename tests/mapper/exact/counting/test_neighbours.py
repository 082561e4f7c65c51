"""How many instances share a word of windows that lie side by side, against words that are written out."""

from __future__ import annotations

import random

import numpy as np

from longer import TIMES
from tilewright.mapper.exact.counting.rank_traffic import shared_by_neighbours


def test_no_intervals_share_more() -> None:
    """Of intervals at random places, so far apart at least, some of them missing, the last one shorter."""
    reached = 0
    for seed in range(400 * TIMES):
        rng = random.Random(seed)
        count, span, step = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 12)
        clipped = rng.randint(0, span - 1)
        bound = shared_by_neighbours(*(np.array([n]) for n in (count, span, step, clipped)))[0]
        first, words, any_of_them = 0, 0, set[int]()
        there = rng.randint(1, count)
        length = rng.randint(clipped + 1, span)
        for i in range(there):
            last = length - rng.randint(0, clipped) if i == there - 1 else length
            words += last
            any_of_them |= set(range(first, first + last))
            first += step + (rng.randint(0, 3) if rng.random() < 0.2 else 0)
        shared = words / len(any_of_them)
        assert shared <= bound * (1 + 1e-12), seed
        reached += shared == bound
    assert reached > 20
