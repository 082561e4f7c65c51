"""What is still open, by its bound: placements, choices of arrays, and batches of partial mappings."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from .arrays.array_choices import ArrayChoices
from .batch import Batch
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
    """

    best: BestFound
    most: float = math.inf
    let_go: float = math.inf
    working_on: float = math.inf
    begun: bool = False
    _queue: list[tuple[float, float, int, Open]] = field(default_factory=list)
    _tickets: Iterator[int] = field(default_factory=itertools.count)
    _nbytes: int = 0
    _later: list[tuple[float, Batch]] = field(default_factory=list)

    def put_off(self, rows: Batch) -> None:
        """Queue rows that are to be looked at when nothing else may lead to something better: what is better on few
        machines only, and takes long to leave aside, takes less with a better mapping at hand."""
        if not len(rows):
            return
        if sum(item.nbytes for _, item in self._later) + rows.nbytes < self.most / 4:
            self._later.append((float(rows.bound[0]), rows))
        else:
            self.push_rows(rows)

    def push(self, bound: float, item: Open) -> None:
        """Queue what may lead to something better."""
        self.begun = True
        if bound < self.best.cutoff:
            heapq.heappush(self._queue, (bound, -item.depth, next(self._tickets), item))
            self._nbytes += item.nbytes
            if self._nbytes > self.most:
                self._make_room()

    def push_rows(self, rows: ArrayChoices | Batch) -> None:
        """Queue rows at the bound of the best one."""
        if len(rows):
            self.push(float(rows.bound[0]), rows)

    def _make_room(self) -> None:
        """Keep the lowest bounds, as far as they take half of the memory."""
        self._queue.sort(key=lambda entry: entry[:3])
        cutoff, kept, self._nbytes = self.best.cutoff, 0, 0
        for bound, *_, item in self._queue:
            if bound >= cutoff or self._nbytes + item.nbytes > self.most / 2:
                break
            self._nbytes += item.nbytes
            kept += 1
        if kept < len(self._queue):
            self.let_go = min(self.let_go, self._queue[kept][0])
        del self._queue[kept:]

    @property
    def is_open(self) -> bool:
        """Whether anything may lead to something better."""
        return bool(self._queue or self._later) and self._least < self.best.cutoff

    @property
    def _least(self) -> float:
        return min(self._queue[0][0] if self._queue else math.inf, *(bound for bound, _ in self._later), math.inf)

    def take(self) -> Open:
        """Take the lowest to work on; it counts as open until that is done."""
        if not self._queue or self._queue[0][0] >= self.best.cutoff:
            later, self._later = self._later, []
            for bound, put_off in later:
                self.push(bound, put_off)
        self.working_on, _, _, item = heapq.heappop(self._queue)
        self._nbytes -= item.nbytes
        return item

    def done(self) -> None:
        """What has been taken is worked on no more."""
        self.working_on = math.inf

    @property
    def bound(self) -> float:
        """Nothing that is still open, or was let go of, is below this."""
        return min(self._least, self.working_on, self.let_go)
