"""The open states of a search, lowest bound first, within a limit of memory.

Where that runs out, the highest bounds are dropped, and the lowest of those is remembered."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import Generic

from .incumbents import Incumbents
from .states import AnswerT, OpenState

Entry = tuple[float, float, int, OpenState[AnswerT]]
"""Bound, negative depth, number, state."""


class Frontier(Generic[AnswerT]):
    """A queue, lowest bound first; of equal bounds the one that has grown furthest, since where most bounds are equal
    nothing else leads to an answer; and then the one that came first.

    Where memory runs out, the highest bounds are let go of. The lowest of these is remembered: nothing is proven beyond
    it, unless a better answer is found that is below it.

    best        what has been found: what cannot be better is not queued
    most        bytes that may be queued
    let_go      nothing that was let go of is below this
    working_on  the bound of what has been taken and is not done
    begun       whether anything was ever pushed
    focus       states of this group are taken before all others
    """

    def __init__(self, best: Incumbents[AnswerT], most: float = math.inf) -> None:
        self.best, self.most = best, most
        self.let_go = self.working_on = math.inf
        self.begun = False
        self.focus: object | None = None
        self._queue: list[Entry[AnswerT]] = []
        self._near: list[Entry[AnswerT]] = []
        self._tickets = itertools.count()
        self._nbytes = 0
        self._in_work: OpenState[AnswerT] | None = None
        self._lowest_let_go: OpenState[AnswerT] | None = None

    def push(self, state: OpenState[AnswerT]) -> bool:
        """Queue what may lead to something better; whether it does."""
        bound = state.bound
        may_be_better = bound < self.best.cutoff
        if may_be_better:
            near = self.focus is not None and state.group is self.focus
            heapq.heappush(self._near if near else self._queue, (bound, -state.depth, next(self._tickets), state))
            self._nbytes += state.nbytes
            if self._nbytes > self.most:
                self._make_room()
        self.begun = True  # not before: an interrupt must not find an empty queue that was begun
        return may_be_better

    def look_away(self) -> None:
        """Have nothing in focus: whatever has the lowest bound comes next."""
        self.focus = None
        for entry in self._near:
            heapq.heappush(self._queue, entry)
        self._near = []

    def leave_open(self, bound: float) -> None:
        """Know of answers that stay open, and are at no place in the queue."""
        self.let_go = min(self.let_go, bound)

    def _make_room(self) -> None:
        """Keep the lowest bounds, as far as they take half of the memory."""
        self._queue += self._near
        self._near = []
        self._queue.sort(key=lambda entry: entry[:3])
        cutoff, kept, self._nbytes = self.best.cutoff, 0, 0
        for bound, *_, state in self._queue:
            if bound >= cutoff or self._nbytes + state.nbytes > self.most / 2:
                break
            self._nbytes += state.nbytes
            kept += 1
        if kept < len(self._queue) and self._queue[kept][0] < self.let_go:
            self.let_go = self._queue[kept][0]
            self._lowest_let_go = self._queue[kept][-1].lowest_part()
        del self._queue[kept:]

    @property
    def is_open(self) -> bool:
        """Whether anything may lead to something better."""
        return self._least < self.best.cutoff

    @property
    def states(self) -> Iterator[OpenState[AnswerT]]:
        """All that is queued, as far as it was not let go of."""
        return (entry[-1] for entry in (*self._queue, *self._near))

    def open_below(self, value: float) -> int:
        """How many sets of answers are open with lower bounds."""
        in_work = () if self._in_work is None else (self._in_work,)
        return sum(one.count_below(value) for one in (*self.states, *in_work))

    @property
    def _least(self) -> float:
        least = self._queue[0][0] if self._queue else math.inf
        return min(least, self._near[0][0]) if self._near else least

    def take(self) -> OpenState[AnswerT]:
        """Take the lowest to work on, of those in focus if there are any; it counts as open until that is done."""
        self.working_on = self._least  # also while a state is in no queue: an interrupt may come at any moment
        near = self._near if self._near and self._near[0][0] < self.best.cutoff else None
        self.working_on, _, _, state = heapq.heappop(near or self._queue)
        self._in_work = state
        self._nbytes -= state.nbytes
        return state

    def done(self) -> None:
        """What has been taken is worked on no more."""
        self.working_on, self._in_work = math.inf, None

    @property
    def lowest(self) -> OpenState[AnswerT] | None:
        """What is open, or was let go of, with the lowest bound."""
        heads = [(queue[0][0], queue[0][-1]) for queue in (self._queue, self._near) if queue]
        others = ((self.working_on, self._in_work), (self.let_go, self._lowest_let_go))
        every: list[tuple[float, OpenState[AnswerT] | None]] = [*heads, *others]
        return min(every, key=lambda entry: entry[0])[1]

    @property
    def bound(self) -> float:
        """Nothing that is still open, or was let go of, is below this."""
        return min(self._least, self.working_on, self.let_go)
