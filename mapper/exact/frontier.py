"""What is still open, by its bound: placements, and batches of partial mappings."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from .batch import Batch
from .found import BestFound
from .hierarchy import Outline

Open = Outline | Batch
"""An outline in which nothing is decided, or rows that have been grown, sorted by their bounds."""


@dataclass
class Frontier:
    """A queue, lowest bound first; of equal bounds the one that has grown furthest, since where time steps alone decide
    most bounds are equal; and then the one that came first.

    best  what has been found: what cannot be better is not queued
    """

    best: BestFound
    _queue: list[tuple[float, int, int, Open]] = field(default_factory=list)
    _tickets: Iterator[int] = field(default_factory=itertools.count)
    _working_on: float = float("inf")

    def push(self, bound: float, item: Open) -> None:
        """Queue what may lead to something better."""
        if bound < self.best.cutoff:
            node_groups = 0 if isinstance(item, tuple) else len(item.path.node_groups)
            heapq.heappush(self._queue, (bound, -node_groups, next(self._tickets), item))

    def push_batch(self, batch: Batch) -> None:
        """Queue a batch at the bound of its best row."""
        if len(batch):
            self.push(float(batch.bound[0]), batch)

    def lowest(self, count: int) -> list[Open]:
        """The first few, which stay in the queue."""
        return [item for *_, item in heapq.nsmallest(count, self._queue, key=lambda entry: entry[:3])]

    @property
    def is_open(self) -> bool:
        """Whether anything may lead to something better."""
        return bool(self._queue) and self._queue[0][0] < self.best.cutoff

    def take(self) -> Open:
        """Take the lowest to work on; it counts as open until that is done."""
        self._working_on, _, _, item = heapq.heappop(self._queue)
        return item

    def done(self) -> None:
        """What has been taken is worked on no more."""
        self._working_on = float("inf")

    @property
    def bound(self) -> float:
        """Nothing that is still open is below this."""
        return min(self._queue[0][0] if self._queue else float("inf"), self._working_on)
