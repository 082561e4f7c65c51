"""How far a search has come, for whoever watches it.

Whoever watches asks, from another thread if need be, and the outermost search answers, so that a search that nobody
watches loses no time, and one that is long in one piece of work need not say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Event, Thread


@dataclass(frozen=True)
class SearchProgress:
    """How far a search has come.

    done       of a network, groups that have been searched
    left       of a network, groups that there may be to search, at most
    doing      what is being done
    objective  what is minimized at the moment
    value      of the best answer so far by it; infinite where there is none
    bound      no answer has less
    cheaper    a smaller space that was searched to its end and has an answer of this value, and the seconds it took
    """

    done: int = 0
    left: int = 0
    doing: str = ""
    objective: str = ""
    value: float = math.inf
    bound: float = 0.0
    cheaper: tuple[str, float] | None = None

    @property
    def gap(self) -> float:
        """How much better than the best answer so far another one could be at most, as a fraction of its value."""
        return max(0.0, 1 - self.bound / self.value) if self.value else 0.0


LAYER, CASCADE, TREES, NETWORK = range(4)
"""Ranks of searches, from those that others ask to those that ask them."""

Watch = Callable[[SearchProgress], None]
"""Called with the progress."""


class Watched:
    """The search that runs, if any does, as somebody watches it.

    watches  called whenever a search tells how far it has come by itself
    """

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self.rank = -1
        self.answer: Callable[[], SearchProgress] | None = None
        self._last = SearchProgress()

    def now(self) -> SearchProgress:
        """How far the search has come, or the last one; what was known before where it changes just now what it is
        asked about."""
        answer = self.answer
        if answer is not None:
            with suppress(IndexError, RuntimeError):
                self._last = answer()
        return self._last


_WATCHED: ContextVar[Watched | None] = ContextVar("_WATCHED", default=None)


@contextmanager
def watched(watch: Watch | None = None) -> Iterator[Watched]:
    """Have whatever is searched inside be watched."""
    token = _WATCHED.set(one := _WATCHED.get() or Watched())
    one.watches += [watch] if watch is not None else []
    try:
        yield one
    finally:
        one.watches = [other for other in one.watches if other is not watch]
        _WATCHED.reset(token)


@contextmanager
def answering(how_far: Callable[[], SearchProgress], rank: int = LAYER) -> Iterator[None]:
    """Answer whoever watches; inside a search of the same rank or a higher one, which answers itself, nobody asks."""
    watching = _WATCHED.get()
    if watching is None or watching.rank >= rank:
        yield
        return
    before = watching.rank, watching.answer
    watching.rank, watching.answer = rank, how_far
    try:
        yield
    finally:
        watching.now()
        watching.rank, watching.answer = before


def tell(progress: SearchProgress) -> None:
    """Tell whoever watches how far the search of a network, which answers so from now on, has come."""
    watching = _WATCHED.get()
    if watching is not None:
        watching.rank, watching.answer = NETWORK, lambda: progress
        for watch in watching.watches:
            watch(progress)


@contextmanager
def again_and_again(draw: Callable[[], object], first: float, pause: float) -> Iterator[None]:
    """Call a function meanwhile, after some seconds and then with pauses."""
    over = Event()

    def work() -> None:
        seconds = first
        while not over.wait(seconds):
            draw()
            seconds = pause

    thread = Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
