"""The means of a search: how long it may take, and how much memory.

A search looks at its means between pieces of work. When they run out it hands over the best mapping so far, and what it
has proven until then.

Limits are those of a call, whatever it is made of: `one_call` opens one clock and one account of memory, and all means
that are asked for inside it, by searches of forms, groups, points or operations, end with these.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

LEAST_MEMORY_LIMIT = 2**20
"""The least that may be asked for: below it the problem and the machine alone take more."""

DEFAULT_MEMORY_LIMIT = 1024 * LEAST_MEMORY_LIMIT
"""Bytes that a search may take for tables and open mappings, unless told otherwise."""

MOST_NUMBERS = DEFAULT_MEMORY_LIMIT // 64
"""Numbers of one array, at most: eight bytes each, and eight times as many for all that is worked out from it."""

ENOUGH = 20.0
"""Seconds, where nobody has stated a limit, for trees that take longer than all others: as long as these took, if that
is more."""

GRACE = 0.2
"""Seconds after the deadline for a piece of work to come to its end, or for a first mapping to be found."""


MARGIN = 64 * LEAST_MEMORY_LIMIT
"""Bytes by which a process may grow beyond a limit: what Python and its libraries keep for themselves comes to so
much."""

LOOK_AFTER = 0.02
"""Seconds between two looks at how large the process is."""


class OutOfMeans(Exception):
    """The time is up, or something would take too much memory. Never leaves the mapper."""


class Account:
    """The memory that a call takes: by how much this process has grown since it began.

    Searches count beforehand what their tables would take; this is for all that nobody counts.
    """

    def __init__(self, limit: int) -> None:
        self._most = _resident_bytes() + limit + MARGIN
        self._next = self._clean = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the process has grown by more than the limit, as it was a moment ago."""
        now = time.perf_counter()
        if now < self._next:
            return False
        if _resident_bytes() > self._most:
            if now < self._clean:
                return True
            gc.collect()  # a search has it done rarely, and what is in cycles may be most; here once a second
            self._clean = time.perf_counter() + 1.0
            if _resident_bytes() > self._most:
                return True
        self._next = now + LOOK_AFTER
        return False


def _resident_bytes() -> int:
    """The size of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True)
class Means:
    """What a search may take.

    deadline      of `time.perf_counter()`, in seconds
    memory_limit  bytes, for tables and open mappings together
    account       of all memory that the call takes; None: nobody counts it
    work_until    of `time.process_time()`, in seconds: parts of a limit are counted in those of the processor, so that
                  what is found depends on what else the machine does only where the whole limit ends it
    """

    deadline: float = math.inf
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    account: Account | None = field(default=None, compare=False, repr=False)
    work_until: float = math.inf

    @classmethod
    def from_now(cls, seconds: float | None, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> Means:
        """Means whose time runs from this call, inside those of the call that is under way; None: as long as it
        takes."""
        call = _CALL.get()
        deadline = math.inf if seconds is None else time.perf_counter() + seconds
        account = call.account or Account(memory_limit)
        return cls(min(deadline, call.deadline), memory_limit, account, call.work_until)

    @classmethod
    def of_its_own(cls, seconds: float, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> Means:
        """Means from now on for what comes after a call that may be over, such as why it found nothing."""
        return cls(time.perf_counter() + seconds, memory_limit, Account(memory_limit))

    @property
    def seconds_left(self) -> float:
        left = self.deadline - time.perf_counter()
        return max(0.0, left if self.work_until == math.inf else min(left, self.work_until - time.process_time()))

    @property
    def limits_time(self) -> bool:
        return self.deadline < math.inf or self.work_until < math.inf

    def share(self, part: float = 0.5) -> Means:
        """Means with a part of the time that is left: half of it for whatever has others after it, unless it is said to
        be quick."""
        return self.at_most(part * self.seconds_left) if self.limits_time else self

    def at_most(self, seconds: float) -> Means:
        """Means with no more than so much of the time that is left."""
        return replace(self, work_until=min(self.work_until, time.process_time() + seconds))

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self._is_over(0.0)

    def _is_over(self, grace: float) -> bool:
        """Whether the time is up since so many seconds."""
        if time.perf_counter() >= self.deadline + grace:
            return True
        return self.work_until < math.inf and time.process_time() >= self.work_until + grace

    def check(self) -> None:
        """Raises OutOfMeans when the time is well over, or the memory: between pieces of work a search stops by itself,
        and those that take long look here."""
        if self._is_over(GRACE) or (self.account is not None and self.account.is_over):
            raise OutOfMeans

    def check_numbers(self, count: int) -> None:
        """Raises OutOfMeans if an array of so many numbers, and what is worked out from it, would take too much."""
        self.check()
        if 8 * 8 * count > self.memory_limit:
            raise OutOfMeans


UNLIMITED = Means()
"""All the time that it takes, and the usual memory."""

_CALL: ContextVar[Means] = ContextVar("_CALL", default=UNLIMITED)


@contextmanager
def one_call(seconds: float | None, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> Iterator[Means]:
    """The means of a call: whatever is made inside it ends with them. A call inside another one has what that has
    left."""
    with within(Means.from_now(seconds, memory_limit)) as means:
        yield means


@contextmanager
def within(means: Means) -> Iterator[Means]:
    """Whatever is made inside ends with some means."""
    token = _CALL.set(means)
    try:
        yield means
    finally:
        _CALL.reset(token)


def check_call() -> None:
    """Raises OutOfMeans as `Means.check` does for the call that is under way: for what has no means at hand."""
    _CALL.get().check()
