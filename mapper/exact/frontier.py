"""What is still open, by its bound: placements, choices of arrays, and batches of partial mappings."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .arrays.array_choices import ArrayChoices
from .batch import Batch
from .bounds.bounds import Bounds
from .found import BestFound
from .placements import OpenPlacement

Open = OpenPlacement | ArrayChoices | Batch
"""Rows are sorted by their bounds. `depth` says how far something has grown, `nbytes` how much memory it takes."""


@dataclass
class Frontier:
    """A queue, lowest bound first; of equal bounds the one that has grown furthest, since where time steps alone decide
    most bounds are equal; and then the one that came first.

    Where memory runs out, the highest bounds are let go of. The lowest of these is remembered: nothing is proven beyond
    it, unless a better mapping is found that is below it.

    best      what has been found: what cannot be better is not queued
    most      bytes that may be queued
    let_go    nothing that was let go of is below this
    working_on  the bound of what has been taken and is not done
    begun     whether anything was ever pushed
    focus     rows with these bounds are taken before all others: their tables are there
    """

    best: BestFound
    most: float = math.inf
    let_go: float = math.inf
    working_on: float = math.inf
    begun: bool = False
    focus: Bounds | None = None
    _queue: list[tuple[float, float, int, Open]] = field(default_factory=list)
    _near: list[tuple[float, float, int, Open]] = field(default_factory=list)
    _tickets: Iterator[int] = field(default_factory=itertools.count)
    _nbytes: int = 0
    _in_work: Open | None = None
    _lowest_let_go: Open | None = None

    def push(self, bound: float, item: Open) -> None:
        """Queue what may lead to something better."""
        if bound < self.best.cutoff:
            near = isinstance(item, Batch) and item.bounds is self.focus
            heapq.heappush(self._near if near else self._queue, (bound, -item.depth, next(self._tickets), item))
            self._nbytes += item.nbytes
            if self._nbytes > self.most:
                self._make_room()
        self.begun = True  # not before: an interrupt must not find an empty queue that was begun

    def look_away(self) -> None:
        """Have nothing in focus: whatever has the lowest bound comes next."""
        self.focus = None
        for entry in self._near:
            heapq.heappush(self._queue, entry)
        self._near = []

    def push_rows(self, rows: ArrayChoices | Batch) -> None:
        """Queue rows at the bound of the best one."""
        if len(rows):
            self.push(float(rows.bound[0]), rows)

    def _make_room(self) -> None:
        """Keep the lowest bounds, as far as they take half of the memory."""
        self._queue += self._near
        self._near = []
        self._queue.sort(key=lambda entry: entry[:3])
        cutoff, kept, self._nbytes = self.best.cutoff, 0, 0
        for bound, *_, item in self._queue:
            if bound >= cutoff or self._nbytes + item.nbytes > self.most / 2:
                break
            self._nbytes += item.nbytes
            kept += 1
        if kept < len(self._queue) and self._queue[kept][0] < self.let_go:
            self.let_go, _, _, item = self._queue[kept]
            self._lowest_let_go = item if isinstance(item, OpenPlacement) else item.take(np.zeros(1, dtype=np.intp))
        del self._queue[kept:]

    @property
    def is_open(self) -> bool:
        """Whether anything may lead to something better."""
        return self._least < self.best.cutoff

    @property
    def open_rows(self) -> int:
        """Rows of batches that may lead to something better."""
        cutoff, every = self.best.cutoff, (*self._queue, *self._near)
        batches = (entry[-1] for entry in every if entry[0] < cutoff)
        return sum(int(np.searchsorted(one.bound, cutoff)) for one in batches if isinstance(one, Batch))

    @property
    def _least(self) -> float:
        return min((queue[0][0] for queue in (self._queue, self._near) if queue), default=math.inf)

    def take(self) -> Open:
        """Take the lowest to work on, of those in focus if there are any; it counts as open until that is done."""
        self.working_on = self._least  # also while an item is in no queue: an interrupt may come at any moment
        # Of those in focus the lowest, while it may lead to something better.
        queue = self._near if self._near and self._near[0][0] < self.best.cutoff else self._queue
        self.working_on, _, _, item = heapq.heappop(queue)
        self._in_work = item
        self._nbytes -= item.nbytes
        return item

    def done(self) -> None:
        """What has been taken is worked on no more."""
        self.working_on, self._in_work = math.inf, None

    @property
    def lowest(self) -> Open | None:
        """What is open, or was let go of, with the lowest bound; of that, its first row counts."""
        heads = [(queue[0][0], queue[0][-1]) for queue in (self._queue, self._near) if queue]
        others = ((self.working_on, self._in_work), (self.let_go, self._lowest_let_go))
        every: list[tuple[float, Open | None]] = [*heads, *others]
        return min(every, key=lambda entry: entry[0])[1]

    def open_below(self, value: float) -> int:
        """How many rows and placements are open with lower bounds, as far as they were not let go of."""
        every = [(bound, item) for bound, *_, item in (*self._queue, *self._near)]
        if self._in_work is not None:
            every.append((self.working_on, self._in_work))
        placements = sum(bound < value for bound, item in every if isinstance(item, OpenPlacement))
        rows = (item.bound for _, item in every if not isinstance(item, OpenPlacement))
        return placements + sum(int(np.searchsorted(bounds, value)) for bounds in rows)

    @property
    def bound(self) -> float:
        """Nothing that is still open, or was let go of, is below this."""
        return min(self._least, self.working_on, self.let_go)
