"""Calls of one function by many workers, such as a whole network each: larger pieces than `run.py` has, that keep what
they find themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from .job import Failure
from .processes import CallFailed, WorkerDied
from .run import ATTEMPTS, TICK, Progress, Watch, Workers

A = TypeVar("A")
T = TypeVar("T")


def run_calls(
    work: Callable[[A], T], arguments: Sequence[A], workers: Callable[[], Workers], watch: Watch
) -> list[T | Failure]:
    """What comes of a call for each argument, in their order.

    work     is pickled, as are arguments; an argument as a text says what runs
    workers  makes the workers
    watch    called with the progress, in this thread

    A call that cannot be run to its end is a `Failure`; one whose worker dies is run once more. Ctrl-C ends all calls.
    """
    watch(Progress(len(arguments)))
    calls = _Calls(work, arguments, workers(), watch)
    try:
        return calls.run()
    finally:
        calls.workers.stop()


@dataclass
class _Calls(Generic[A, T]):
    work: Callable[[A], T]
    arguments: Sequence[A]
    workers: Workers
    watch: Watch
    pending: dict[Future[T], int] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    found: dict[int, T | Failure] = field(default_factory=dict)

    def run(self) -> list[T | Failure]:
        started = time.monotonic()
        progress = Progress(len(self.arguments), workers=self.workers.count())
        for number in range(len(self.arguments)):
            self._submit(number)
        while self.pending:
            for future in wait(self.pending, TICK, FIRST_COMPLETED).done:
                self._take(future, self.pending.pop(future))
            progress.done, progress.seconds = len(self.found), time.monotonic() - started
            progress.failed = sum(isinstance(one, Failure) for one in self.found.values())
            progress.retried = sum(times > 1 for times in self.attempts.values())
            running = (self.arguments[number] for future, number in self.pending.items() if future.running())
            progress.running = tuple((argument, self.workers.said(argument)) for argument in running)
            self.watch(replace(progress))
        return [self.found[number] for number in range(len(self.arguments))]

    def _submit(self, number: int) -> None:
        self.attempts[number] = self.attempts.get(number, 0) + 1
        self.pending[self.workers.submit(self.work, self.arguments[number])] = number

    def _take(self, future: Future[T], number: int) -> None:
        try:
            self.found[number] = future.result()
        except WorkerDied as error:
            if self.attempts[number] < ATTEMPTS:
                self._submit(number)
            else:
                self.found[number] = Failure(f"its worker died {ATTEMPTS} times; the last time {error}")
        except CallFailed as error:
            self.found[number] = Failure(str(error))
