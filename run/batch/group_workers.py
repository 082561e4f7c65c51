"""Groups of one network, searched by several processes at once."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError, Future
from functools import partial

from ...ir import TilewrightError
from ...mapper.cascades import SharedBranches, sharing
from ...mapper.question import TreeQuestion
from ...mapper.segmentation import GroupLost, GroupOutcome, OneAfterTheOther, Solve, outcome_of
from .processes import CallFailed, Processes, WorkerDied, usable_cores
from .run import ATTEMPTS

SOON = 1.0
"""Seconds that searches are made in this process first: whoever is done by then need not wait for others to start."""


class GroupWorkers:
    """As `mapper.segmentation.GroupSolvers`: processes that are started once a network takes longer than a moment.

    solve  answers a question about a group; it is pickled
    count  processes at most; None: one for each core

    A search whose process dies is made once more; if that one dies as well, it is lost.
    """

    def __init__(self, solve: Solve, count: int | None = None) -> None:
        self._solve = solve
        self._count = usable_cores() if count is None else count
        self._here = OneAfterTheOther(solve)
        self._started = time.perf_counter()
        self._processes: Processes | None = None

    def at_once(self) -> int:
        return 1 if self._is_here() else self._count

    def begin(self, question: TreeQuestion) -> Future[GroupOutcome]:
        if self._is_here():
            return self._here.begin(question)
        self._processes = self._processes or Processes(self._count)
        found: Future[GroupOutcome] = Future()
        self._call(self._processes, question, found, ATTEMPTS)
        return found

    def _call(self, processes: Processes, question: TreeQuestion, found: Future[GroupOutcome], attempts: int) -> None:
        """Have a group searched by a process that may die, and by another one then."""
        calling = processes.submit(partial(_outcome_in_worker, self._solve), question)

        def hand_over(called: Future[GroupOutcome]) -> None:
            try:
                found.set_result(called.result())
            except CancelledError:
                found.cancel()
            except WorkerDied as error:
                if attempts > 1 and processes is self._processes:
                    self._call(processes, question, found, attempts - 1)
                else:
                    message = f"the process that searched it died {ATTEMPTS} times; the last time {error}"
                    found.set_result(GroupLost(message, where=question.cascade.name, hint="run the same command again"))
            except CallFailed as error:
                found.set_exception(TilewrightError(str(error)))

        calling.add_done_callback(hand_over)

    def drop(self) -> None:
        processes, self._processes = self._processes, None
        if processes is not None:
            processes.stop()

    def _is_here(self) -> bool:
        """Whether this process searches still, or alone."""
        return self._count == 1 or time.perf_counter() - self._started < SOON


_LEARNED = SharedBranches()
"""What this process, if it is a worker, has learned in its searches: it lives as long as those of one network."""


def _outcome_in_worker(solve: Solve, question: TreeQuestion) -> GroupOutcome:
    """As `outcome_of`, with what searches before it have learned."""
    with sharing(_LEARNED):
        return outcome_of(solve, question)
