"""How many instances share a word of windows that lie side by side, against words that are written out."""

from __future__ import annotations

import random

import numpy as np

import longer
from tilewright.mapper.exact.counting.rank_traffic import shared_by_neighbours


def test_no_intervals_share_more() -> None:
    """Of intervals at random places, so far apart at least, some of them missing, the last one shorter."""
    reached = 0
    for seed in longer.seeds(400):
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
    assert longer.occurs(reached > 20)


def test_no_windows_share_more_of_what_is_new() -> None:
    """Windows of two dimensions that slide along one, spread along the other, with all that is left at its end."""
    compared = reached = 0
    for seed in longer.seeds(600):
        rng = random.Random(seed)
        tile, size, wide, c = rng.randint(1, 5), rng.randint(2, 12), rng.randint(1, 7), rng.randint(1, 2)
        apart, moved = tile * rng.randint(1, 2), rng.randint(1, wide)
        tiles = [range(first, min(first + tile, size)) for first in range(0, size, apart)]
        clipped = 0 if size % tile == 0 else c * (tile - 1)
        if c > wide:  # it would have gaps
            continue
        at = [[{c * r + p for r in each for p in range(start, start + wide)} for start in (0, moved)] for each in tiles]
        new = [after - before for before, after in at]
        span, count = c * (tile - 1) + wide, len(tiles) + rng.randint(0, 1)
        bound = shared_by_neighbours(*(np.array([n]) for n in (count, span, c * apart, clipped)), moves=True)[0]
        for words in (new, [before for before, _ in at]):
            shared = sum(map(len, words)) / len(set().union(*words))
            assert shared <= bound * (1 + 1e-12), seed
            reached += shared == bound
            compared += 1
    assert longer.occurs(compared > 800)
    assert longer.occurs(reached > 20)
