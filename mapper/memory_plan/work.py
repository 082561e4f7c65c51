"""The arrays that a search for addresses works on, made once for all its attempts: few and wide, since machine code
that takes many arrays takes long to make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..means import Means
from .sections import Sections

HEAD, TAIL, PLACED, SIZE, STEP, START, END, NEAR, RANK, FULLEST = range(10)
"""Columns of `blocks`: how far a block's lower end is above the floor at least, and its upper end below the ceiling; 1:
the head is its offset, for good; size and alignment; its first section and the one after the last; where in `others`
those begin that are live with it; for the rules; how many units are open in the fullest of its sections, when the open
blocks last fell into groups."""

FIRST, STALE, SLACK, LIVE, LINKED, FRONT = range(6)
"""Columns of `sections`: where its blocks begin in `orders`; 1: something has changed; units that every order of its
blocks leaves free, at least; changes of the number of open blocks, and of those that reach on into the next section;
from FRONT on, for each of the orders, where its open blocks begin, or before."""

WEIGHT, SHARE = range(2)
"""Columns of `tightness`: how often attempts came to an end in a section, what was long ago counting less; slack over
that, of a goal."""

GOAL, BEGIN, STOP_AT, OPEN_BEFORE, BLOCK, TRAIL = range(6)
"""Columns of `choices`: the goal, its bounds, and its open choices; the block; the trail before. Of `goals`: 0, or 1
for one that is solved when those above are; then the same."""

USED, STOP, MARK, CHOICES, GOALS, FULL = range(6)
"""Entries of `counters`: decisions made; how many there may be; entries of the trail; open choices; open goals; 1: the
trail was full, and what looked impossible may not be."""


class Work(NamedTuple):
    """Of n blocks in S sections, in units; all of int64, but for `tightness`.

    blocks     (n + 1, 10)
    sections   (S + 1, 9)
    others     blocks that are live with a block, of all blocks
    orders     (4, members) blocks of all sections, placed ones first: by rising heads, tails, and ends of either
    tightness  (S, 2) floats
    trail      (T, 3) block, column, and what was there before
    choices    (n, 6)
    goals      (3n + 4, 4)
    rules      (4, n) numbers that a rule notes
    counters   (6,)
    """

    blocks: np.ndarray
    sections: np.ndarray
    others: np.ndarray
    orders: np.ndarray
    tightness: np.ndarray
    trail: np.ndarray
    choices: np.ndarray
    goals: np.ndarray
    rules: np.ndarray
    counters: np.ndarray


def work_of(sections: Sections, means: Means) -> Work:
    """Arrays for some sections; OutOfMeans if they would take too much memory."""
    count = len(sections.size)
    means.check_numbers(len(sections.members) + len(sections.others))
    blocks = np.zeros((count + 1, 10), np.int64)
    blocks[:-1, SIZE], blocks[:-1, STEP] = sections.size, sections.step
    blocks[:-1, START], blocks[:-1, END], blocks[:, NEAR] = sections.start, sections.end, sections.near
    table = np.zeros((sections.count + 1, FRONT + 4), np.int64)
    table[:, FIRST] = sections.first
    trail = max(10_000 + 20 * count, min(2_000_000, means.memory_limit // 128))  # entries of 24 bytes
    return Work(
        blocks,
        table,
        sections.others,
        np.stack([sections.members] * 4),
        np.ones((sections.count, 2)),
        np.zeros((trail, 3), np.int64),
        np.zeros((count, 6), np.int64),
        np.zeros((3 * count + 4, 4), np.int64),
        np.zeros((4, count), np.int64),
        np.zeros(6, np.int64),
    )


def start_again(work: Work, heads: np.ndarray, tails: np.ndarray) -> None:
    """Forget everything but the weights of sections. `heads`, `tails` (n,): units that each block is above the floor,
    and below the ceiling, at least; together they leave a block of a fixed offset one place."""
    work.counters[:] = 0
    work.blocks[:-1, PLACED] = 0
    work.blocks[:-1, HEAD] = heads
    work.blocks[:-1, TAIL] = tails
    work.sections[:-1, STALE] = 1
    work.sections[:, FRONT:] = work.sections[:, FIRST, None]
    work.goals[0] = 0, 0, len(work.tightness), 0
    work.counters[GOALS] = 1
