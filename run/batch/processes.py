"""Workers on this machine: a process each, so that one that dies takes nothing but its own search with it.

The pool of the standard library is not enough for that: when one of its processes is killed, all pending work of the
pool fails, and nobody knows which piece was to blame. It also needs a guarded `__main__` in every script that uses it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

from ...mapper.progress import SearchProgress
from .worker import receive, send

A = TypeVar("A")
T = TypeVar("T")

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Workers share the cores among them already."""

_COMMAND = (sys.executable, "-m", "tilewright.run.batch.worker")


class WorkerDied(Exception):
    """A worker ended while it was at work; its text says how."""


class CallFailed(Exception):
    """A call raised an exception; its text says which."""


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_MOST = 4096
"""More workers than this have no use on one machine."""


class Processes:
    """Worker processes, as `run.Workers`. A call whose worker dies raises `WorkerDied`; the next one has a new worker.

    count  how many at most; by default one for each core. They are made when there is something to do for them
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = min(count or usable_cores(), _MOST)
        self._stopped = threading.Event()
        self._workers: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._said: dict[int, SearchProgress] = {}
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="tilewright-worker")

    def submit(self, function: Callable[[A], T], argument: A) -> Future[T]:
        """Have a worker call the function; both it and its argument are pickled."""
        return self._threads.submit(self._call, function, argument)

    def count(self) -> int:
        return self._count

    def said(self, argument: object) -> SearchProgress:
        """How far the call with this argument has come; nothing where its worker has not said so yet."""
        return self._said.get(id(argument), SearchProgress())

    def stop(self) -> None:
        """End all workers, whatever they are doing; calls that have not begun are cancelled."""
        self._stopped.set()
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _call(self, function: Callable[[A], T], argument: A) -> T:
        worker = self._free()
        try:
            return cast(T, worker.call(partial(self._said.__setitem__, id(argument)), function, argument))
        except WorkerDied:
            worker.close()
            raise
        finally:
            self._said.pop(id(argument), None)
            self._idle.put(worker)

    def _free(self) -> _Worker:
        """A worker with nothing to do, or a new one; there are no more of them than threads."""
        try:
            return self._idle.get_nowait()
        except Empty:
            worker = _Worker(self._stopped)
            self._workers.append(worker)
            return worker


class _Worker:
    """One process; started when it is first called, and not any more when `stopped` is set."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, hear: Callable[[SearchProgress], None], function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a call in the process; `hear` is told now and then how far it has come.

        Raises CallFailed for what it raises, WorkerDied when it ends.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, (function, arguments))
            while (message := pickle.loads(receive(process.stdout)))[0] is None:
                hear(message[1])
        except (EOFError, OSError):
            raise WorkerDied(_end_of(process)) from None
        good, value = message
        if good:
            return value
        raise CallFailed(value)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process; it has nothing to do."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # of a message that nobody reads any more
                    continue
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C on the terminal reaches the program alone, which then decides.
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,
        )
        if self._stopped.is_set():  # it was too late for `kill` to see it
            self._process.kill()
        return self._process


def _end_of(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    if code == -9:
        return "it was killed (signal 9), as the system does when memory runs out"
    return f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
