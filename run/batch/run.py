"""Running the searches of a batch: what the store knows is recalled, the rest is searched, longest first.

Every answer is in the store before the next one is looked at. So whatever ends the batch, a crash or Ctrl-C, costs no
more than the searches that were running, and the same batch goes on from there. Batches that run at once on one store
share their searches: what another one is at is left to it, and its answers are taken from the store.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from ...ir import TilewrightError
from ...mapper.answer import Answer
from ...mapper.model_version import MODEL_VERSION
from ...mapper.progress import SearchProgress
from ...mapper.question import NestQuestion
from ...mapper.tilings import grid, linear_growth
from ..store import Claims, NoMapping, Store, stored_key
from .job import Done, Failure, Outcome, run_job
from .processes import CallFailed, Processes, WorkerDied
from .sharing import shared

A = TypeVar("A")
T = TypeVar("T")

TICK = 0.5  # seconds between two looks at what is running
_AHEAD = 2  # searches for each worker that are submitted at once
_LEAST_AHEAD = 8  # of a cluster whose workers are still to come
ATTEMPTS = 2  # of a search whose worker dies


class Workers(Protocol):
    """Whoever runs the searches: processes here, or a cluster."""

    def submit(self, function: Callable[[A], T], argument: A) -> Future[T]: ...

    def count(self) -> int:
        """How many searches can run at once, at the moment."""
        ...

    def said(self, argument: object) -> SearchProgress:
        """How far the call with this argument has come, as far as that is known."""
        ...

    def stop(self) -> None:
        """Give up whatever is running."""
        ...


@dataclass
class Progress:
    """How far a batch has come.

    total     distinct searches
    recalled  of them, answered by the store
    done      of those that had to run, with the ones of which came nothing
    no_mapping, unproven  answers of that kind, recalled ones included
    failed    searches that could not be run to their end
    retried   searches that ran again after their worker had died
    workers   that can run a search each, at the moment
    running   that are known to run now, each with how far it has come
    seconds_left  until all are done, about; None before anything is known
    seconds   since the batch began
    """

    total: int
    recalled: int = 0
    done: int = 0
    no_mapping: int = 0
    unproven: int = 0
    failed: int = 0
    retried: int = 0
    workers: int = 0
    running: tuple[tuple[object, SearchProgress], ...] = ()
    seconds_left: float | None = None
    seconds: float = 0.0

    @property
    def left(self) -> int:
        """Searches that are not done."""
        return self.total - self.recalled - self.done


Watch = Callable[[Progress], None]
"""Called with the progress whenever something has changed, and every half second."""

Each = Callable[[NestQuestion, Outcome], None]
"""Called with what came of a question, once for each, as soon as it is known."""


def unwatched(_: Progress) -> None:
    """A `Watch` that does nothing."""


def unnoticed(_: NestQuestion, __: Outcome) -> None:
    """An `Each` that does nothing."""


@dataclass(frozen=True)
class BatchResult:
    """What came of every question, by its key, but for those that were cancelled; and which of the answers were in the
    store before."""

    outcomes: dict[str, Outcome]
    recalled: frozenset[str]
    progress: Progress


def run_batch(
    questions: Iterable[NestQuestion],
    store: Store | None = None,
    workers: Callable[[], Workers] = Processes,
    watch: Watch = unwatched,
    each: Each = unnoticed,
    cancel: Callable[[], bool] = lambda: False,
) -> BatchResult:
    """Answer every question, from the store where it can.

    store       where answers are looked up and kept; None: nowhere
    workers     makes the workers, if any search has to run
    watch       called with the progress, in this thread
    each        called with the outcome of every question, in this thread
    cancel      asked every half second; from when it says so, no search is begun, and those that run are given up

    A search that cannot be run to its end is a `Failure` among the outcomes, and is not stored. Raises StoreError when
    the store cannot be used, TilewrightError when all workers are lost; what is stored by then stays.
    """
    distinct = list({question.key: question for question in questions}.values())
    progress = Progress(len(distinct))
    batch = _Batch(store, progress, watch, each, cancel)
    missing = [question for question in distinct if not batch.recall(question)]
    watch(replace(progress))
    if missing and not cancel():
        batch.run(missing, workers())
    batch.share(distinct)
    batch.update()
    return BatchResult(batch.outcomes, frozenset(batch.recalled), progress)


@dataclass
class _Batch:
    """One run of a batch."""

    store: Store | None
    progress: Progress
    watch: Watch
    each: Each
    cancel: Callable[[], bool]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    recalled: set[str] = field(default_factory=set)
    started: float = field(default_factory=time.monotonic)

    def recall(self, question: NestQuestion) -> bool:
        """Whether the store answers the question."""
        found = self.store.recall(question) if self.store else None
        if found is None:
            return False
        self.progress.recalled += 1
        self.recalled.add(question.key)
        self._note(question, found.result)
        return True

    def run(self, questions: Sequence[NestQuestion], workers: Workers) -> None:
        """Search them all."""
        self.workers = workers
        self.forecast = _Forecast(questions)
        self.pending: dict[Future[Done], NestQuestion] = {}
        self.attempts: dict[str, int] = {}
        self.finished: SimpleQueue[Future[Done]] = SimpleQueue()
        self.claims = Claims(self.store.path) if self.store is not None else None
        self.waiting = deque(sorted(questions, key=self.forecast.guess, reverse=True))
        try:
            while (self.waiting or self.pending) and not self.cancel():
                self._submit_next()
                self._take_finished()
                self.update()
            self._take_finished(wait=0.0)  # by a search that is cancelled, nothing is lost
        finally:
            workers.stop()
            if self.claims is not None:
                self.claims.close()
        self.progress.running, self.progress.seconds_left = (), None

    def share(self, questions: Sequence[NestQuestion]) -> None:
        """Have searches without a proof take over what others have found in parts of their spaces."""
        better = shared(questions, self.outcomes)
        for question in questions:
            if question.key in better:
                answer, before = better[question.key], self.outcomes[question.key]
                self.progress.failed -= isinstance(before, Failure)
                self.progress.unproven += isinstance(before, Failure) - answer.certificate.proven
                self.outcomes[question.key] = answer
                if self.store is not None:
                    self.store.keep(question, answer, answer.certificate.seconds)

    def update(self) -> None:
        """Bring the progress up to date, and show it."""
        self.progress.seconds = time.monotonic() - self.started
        if self.progress.left and hasattr(self, "workers"):
            self.progress.workers = self.workers.count()
            # They start in the order of submission, which is that of the dict.
            nearest = itertools.islice(self.pending.items(), 2 * self.progress.workers)
            running = (question for future, question in nearest if future.running())
            self.progress.running = tuple((question, self.workers.said(question)) for question in running)
            self.progress.seconds_left = self.forecast.seconds_left(self.progress.workers)
        self.watch(replace(self.progress))

    def _submit_next(self) -> None:
        """Have the workers begin what comes next, and a little ahead; what another run is at waits for its answer."""
        room = max(_AHEAD * self.workers.count(), _LEAST_AHEAD) - len(self.pending)
        for _ in range(len(self.waiting)):
            if room <= 0:
                break
            question = self.waiting.popleft()
            if self.claims is not None and not self.claims.take(stored_key(question)):
                self.waiting.append(question)
            elif self.claims is not None and self.recall(question):  # another run has answered it meanwhile
                self._done_with(question)
            else:
                self._submit(question)
                room -= 1

    def _done_with(self, question: NestQuestion) -> None:
        self.forecast.finish(question)
        if self.claims is not None:
            self.claims.release(stored_key(question))

    def _submit(self, question: NestQuestion) -> None:
        future = self.workers.submit(run_job, question)
        self.pending[future] = question
        future.add_done_callback(self.finished.put)

    def _take_finished(self, wait: float = TICK) -> None:
        """Everything that has finished; waits a moment for it."""
        try:
            future = self.finished.get(timeout=wait)
        except Empty:
            return
        while True:
            self._take(future, self.pending.pop(future))
            if self.finished.empty():
                return
            future = self.finished.get()

    def _take(self, future: Future[Done], question: NestQuestion) -> None:
        """Keep what came of a search; one whose worker died runs once more."""
        key = question.key
        try:
            done = future.result()
        except CancelledError:
            kept = "what was found by then is in the store, and the same command goes on from there"
            hint = kept if self.store is not None else "nothing is kept without a store: leave out --no-cache"
            raise TilewrightError("the connection to the workers was lost", hint=hint) from None
        except WorkerDied as error:
            self.attempts[key] = self.attempts.get(key, 0) + 1
            if self.attempts[key] < ATTEMPTS:
                self.progress.retried += 1
                self._submit(question)
                return
            self._settle(question, Failure(f"its worker died {ATTEMPTS} times; the last time {error}"))
        except (CallFailed, TilewrightError) as error:
            self._settle(question, Failure(str(error)))
        except Exception as error:
            self._settle(question, Failure(f"{type(error).__name__}: {error}"))
        else:
            self._keep(question, done)

    def _keep(self, question: NestQuestion, done: Done) -> None:
        if done.model_version != MODEL_VERSION:
            message = f"a worker has cost model {done.model_version}, expected {MODEL_VERSION}"
            raise TilewrightError(message, hint="install the same tilewright on all machines of the cluster")
        result = done.result if self.store is None else self.store.keep_best(question, done.result, done.seconds)
        self.forecast.learn(question, done.seconds)
        self._settle(question, result)

    def _settle(self, question: NestQuestion, outcome: Outcome) -> None:
        self._done_with(question)
        self.progress.done += 1
        self._note(question, outcome)

    def _note(self, question: NestQuestion, outcome: Outcome) -> None:
        self.outcomes[question.key] = outcome
        self.progress.no_mapping += isinstance(outcome, NoMapping)
        self.progress.unproven += isinstance(outcome, Answer) and not outcome.certificate.proven
        self.progress.failed += isinstance(outcome, Failure)
        self.each(question, outcome)


class _Forecast:
    """How long the rest takes: guesses, corrected by how the guesses have turned out so far."""

    def __init__(self, questions: Sequence[NestQuestion]) -> None:
        self._guesses = {question.key: estimated_seconds(question) for question in questions}
        self._left = sum(self._guesses.values())
        self._guessed = self._measured = 0.0

    def guess(self, question: NestQuestion) -> float:
        """Seconds that the search takes, before anything is known of this machine."""
        return self._guesses[question.key]

    def learn(self, question: NestQuestion, seconds: float) -> None:
        """Note how long a search took."""
        self._guessed += self._guesses[question.key]
        self._measured += seconds

    def finish(self, question: NestQuestion) -> None:
        """A search need not be waited for any more."""
        self._left -= self._guesses[question.key]

    def seconds_left(self, workers: int) -> float | None:
        """Until the last search ends; None before anything is known."""
        if not self._guessed or not workers:
            return None
        return max(self._left, 0.0) * self._measured / self._guessed / workers


# How long a search takes, about: a fit to 97 searches drawn from the layers of four networks on six machines under
# five dataflows (EDP, perfect tilings, even space). A guess is off by a factor of 1.7 in the root mean square; how fast
# this machine is shows in the course of a batch (`_Forecast`).
_SECONDS = 0.005
_TILES_POWER = 0.35
_FACTOR_PER_FANOUT = 3.0
_LARGEST = 2**14  # size of a dimension that is looked at
_UNEVEN_FACTOR = 8.0
"""By how much longer the uneven space takes: of the layers of the README."""


def estimated_seconds(question: NestQuestion) -> float:
    """A guess from the number of tiles in the lattice of the problem, and the number of arrays of the machine."""
    problem = question.problem
    sizes = ((dim, min(size, _LARGEST)) for dim, size in problem.dims)
    tiles = math.prod(len(grid(size, question.tiling, linear_growth(problem, dim))) for dim, size in sizes)
    seconds: float = _SECONDS * float(tiles) ** _TILES_POWER * _FACTOR_PER_FANOUT ** len(question.arch.fanouts)
    return seconds * (_UNEVEN_FACTOR if question.space == "uneven" else 1.0)
