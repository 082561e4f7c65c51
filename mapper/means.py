"""The means of a search: how long it may take, and how much memory.

A search looks at its means between pieces of work. When they run out it hands over the best mapping so far, and what it
has proven until then.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

DEFAULT_MEMORY_LIMIT = 2**30
"""Bytes that a search may take for tables and open mappings, unless told otherwise."""

LEAST_MEMORY_LIMIT = 2**20
"""The least that may be asked for: below it the problem and the machine alone take more."""


GRACE = 0.2
"""Seconds after the deadline for a piece of work to come to its end, or for a first mapping to be found."""


class OutOfMeans(Exception):
    """The time is up, or something would take too much memory. Never leaves the mapper."""


@dataclass(frozen=True)
class Means:
    """What a search may take.

    deadline      of `time.perf_counter()`, in seconds
    memory_limit  bytes, for tables and open mappings together
    """

    deadline: float = math.inf
    memory_limit: int = DEFAULT_MEMORY_LIMIT

    @classmethod
    def from_now(cls, seconds: float | None, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> Means:
        """Means whose time runs from this call; None: as long as it takes."""
        return cls(math.inf if seconds is None else time.perf_counter() + seconds, memory_limit)

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def limits_time(self) -> bool:
        return self.deadline < math.inf

    def share(self, part: float) -> Means:
        """Means with a part of the time that is left."""
        if not self.limits_time:
            return self
        return Means(time.perf_counter() + part * self.seconds_left, self.memory_limit)

    def at_most(self, seconds: float) -> Means:
        """Means with no more than so much of the time that is left."""
        return Means(min(self.deadline, time.perf_counter() + seconds), self.memory_limit)

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() >= self.deadline

    def check(self) -> None:
        """Raises OutOfMeans when the time is well over: between pieces of work a search stops by itself, and those that
        take long look here."""
        if time.perf_counter() >= self.deadline + GRACE:
            raise OutOfMeans

    def check_numbers(self, count: int) -> None:
        """Raises OutOfMeans if an array of so many numbers, and what is worked out from it, would take too much."""
        self.check()
        if 8 * 8 * count > self.memory_limit:
            raise OutOfMeans


UNLIMITED = Means()
"""All the time that it takes, and the usual memory."""
