"""Attempts to plan below a height: the search begun again and again, with other tastes, and what it has learned kept.

A search that has gone astray early would look for very long where nothing is to be found. So it gets some decisions,
and is begun again. First with the *orders* of MiniMalloc: the lowest block next, and among those by how full its
fullest section is, how long it lives and how large it is, in three orders. Then with tastes, some chance, and the
weights of sections at which it has come to an end before, which are then decided first; these get more decisions from
time to time (1, 1, 2, 1, 1, 2, 4, ... times a number).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import Enum

import numpy as np

from ..means import Means
from . import packing
from .sections import Sections
from .work import FULL, HEAD, STOP, USED, WEIGHT, Work, start_again, work_of

TASTES = (
    (1.0, 0.0, 1e5, 4.0, 2, packing.BY_SCORE),
    (0.2, 1.0, 0.4, 4.0, 2, packing.BY_SCORE),
    (1.0, 0.0, 1e5, 4.0, 1, packing.BY_SCORE),
    (0.05, 0.5, 0.2, 4.0, 2, packing.BY_SCORE),
    (1.0, 0.0, 1e3, 4.0, 1, packing.BY_SCORE),
    (0.2, 1.0, 0.4, 4.0, 1, packing.BY_SCORE),
)
"""See `packing.search`: low blocks first, or both low ones and those of tight sections. Where blocks lie loosely, rules
that look one way alone get further in the same time; where they are tight, both ways are needed."""

ORDERS = (
    ((0.0, 0.0, 0.0, 0.0, 1, packing.LOWEST_AND_FULLEST), ("life", "area")),
    ((0.0, 0.0, 0.0, 0.0, 1, packing.LOWEST), ("life", "area")),
    ((0.0, 0.0, 0.0, 0.0, 1, packing.LOWEST_AND_FULLEST), ("area", "life")),
)
"""Tastes that take the lowest block, and by what blocks are preferred then. Rules that look both ways find hardly more
here, in twice the time."""

ORDER_AT_LEAST = 6
"""Each order gets so many times the decisions of the shortest attempt, at least; all of them half of what there are."""

FORGETTING = 0.95
"""What is left of a weight at the next beginning."""

LONGEST_SLICE = 0.05
"""Seconds between looks at the clock."""


class AttemptOutcome(Enum):
    """How an attempt ends."""

    FITS = "fits"
    NOTHING_FITS = "nothing fits"
    UNKNOWN = "unknown"


class Attempts:
    """All attempts on the same blocks; what is random is the same every time."""

    def __init__(self, sections: Sections, means: Means) -> None:
        self.sections = sections
        self.work: Work = work_of(sections, means)
        self.means = means
        self.decisions = 0
        self._begun = 0
        self._chance = np.random.default_rng(0)
        self._slice = 64
        self._preferences = _preferences(sections)
        self._first = max(300, len(sections.size))

    def offsets(self) -> list[int]:
        """Of the plan that the last attempt has found, in bytes."""
        return [int(head) * self.sections.unit for head in self.work.blocks[:-1, HEAD]]

    def below(self, height: int, decisions: int) -> AttemptOutcome:
        """Look for a plan of at most so many bytes, with about so many decisions."""
        room = self._room(height)
        if room is None:
            return AttemptOutcome.NOTHING_FITS
        stop = self.decisions + decisions
        each = max(ORDER_AT_LEAST * self._first, decisions // 2 // len(ORDERS))
        for taste, keys in ORDERS:
            outcome = self._once(room, each, taste, _ranked(self.sections, keys))
            if outcome is not AttemptOutcome.UNKNOWN or self.means.expired:
                return outcome
        while True:
            outcome = self._by_chance(room)
            if outcome is not AttemptOutcome.UNKNOWN or self.decisions >= stop or self.means.expired:
                return outcome

    def in_order(self, height: int, taste: Sequence[float], keys: Sequence[str], decisions: int) -> AttemptOutcome:
        """The same with one of the orders alone."""
        room = self._room(height)
        if room is None:
            return AttemptOutcome.NOTHING_FITS
        return self._once(room, decisions, taste, _ranked(self.sections, keys))

    def _by_chance(self, room: tuple[int, np.ndarray]) -> AttemptOutcome:
        """With the next taste and some chance; weights are kept, and fade."""
        self._begun += 1
        taste = TASTES[self._begun % len(TASTES)]
        kind = self._preferences[int(self._chance.integers(len(self._preferences)))]
        preference = kind * self._chance.uniform(0.7, 1.3, len(kind))
        outcome = self._once(room, self._first * luby(self._begun), taste, preference)
        weight = self.work.tightness[:, WEIGHT]
        weight[:] = 1 + FORGETTING * (weight - 1)
        return outcome

    def _room(self, height: int) -> tuple[int, np.ndarray] | None:
        """Return the height in units, and for each block the least room between its end and that height, as its place
        is aligned or fixed; None if a block does not fit."""
        unit, sections = self.sections.unit, self.sections
        sizes = np.array([block.size for block in sections.blocks], np.int64)
        latest = (height - sizes) // (unit * sections.step) * sections.step
        is_fixed = sections.fixed >= 0
        if (latest < np.maximum(sections.fixed, 0)).any():
            return None
        ceiling = (latest + sections.size).max()
        ends = np.where(is_fixed, sections.fixed, latest) + sections.size
        return int(ceiling), ceiling - ends

    def _once(
        self, room: tuple[int, np.ndarray], decisions: int, taste: Sequence[float], preference: np.ndarray
    ) -> AttemptOutcome:
        units, spare = room
        start_again(self.work, np.maximum(self.sections.fixed, 0), spare)
        counters = self.work.counters
        found = packing.OPEN
        while found == packing.OPEN and counters[USED] < decisions and not counters[FULL]:
            counters[STOP] = min(decisions, counters[USED] + self._slice)
            begun, before = time.perf_counter(), int(counters[USED])
            found = packing.search(self.work, units, np.array(taste, float), preference)
            each = (time.perf_counter() - begun) / max(1, int(counters[USED]) - before)
            self._slice = int(max(1, min(2 * self._slice, LONGEST_SLICE / max(each, 1e-9))))
            if self.means.expired:
                break
        self.decisions += int(counters[USED])
        return {packing.SOLVED: AttemptOutcome.FITS, packing.IMPOSSIBLE: AttemptOutcome.NOTHING_FITS}.get(
            found, AttemptOutcome.UNKNOWN
        )


def luby(number: int) -> int:
    """The sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ..., from number 1 (Luby, Sinclair and Zuckerman, 1993)."""
    power = number.bit_length()
    return 1 << (power - 1) if number == (1 << power) - 1 else luby(number - (1 << (power - 1)) + 1)


def _ranked(sections: Sections, keys: Sequence[str]) -> np.ndarray:
    """Blocks from 0 to 1 by the first key, then the next; of equal ones the first is preferred."""
    life = np.array([block.upper - block.lower for block in sections.blocks], np.int64)
    values = {"life": life, "area": life * sections.size}
    falling = np.lexsort([-values[key] for key in reversed(keys)])
    ranks = np.empty(len(falling))
    ranks[falling] = np.linspace(1, 0, len(falling))
    return ranks


def _preferences(sections: Sections) -> Sequence[np.ndarray]:
    """Ways to prefer blocks, each from 0 to 1: long ones, long and large ones, large ones, those of full sections."""
    life = (sections.end - sections.start).astype(float)
    size = sections.size.astype(float)
    full = np.array(sections.bytes_live(), float)
    fullest = np.array([full[s:e].max() for s, e in zip(sections.start, sections.end, strict=True)])
    time_live = np.array([block.upper - block.lower for block in sections.blocks], float)
    return [values / values.max() for values in (life, life * size, fullest * 1000 + life, size, time_live)]
