"""Worker processes: what they return, what they raise, and that one that dies takes nothing with it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from batches import searching
from tilewright.mapper.progress import SearchProgress
from tilewright.run.batch.processes import CallFailed, Processes, WorkerDied, usable_cores
from tilewright.run.batch.worker import PAUSE


@pytest.fixture
def workers() -> Iterator[Processes]:
    pool = Processes(2)
    yield pool
    pool.stop()


def test_calls_are_answered_in_other_processes(workers: Processes) -> None:
    found = [workers.submit(abs, -number) for number in range(20)]
    assert [future.result() for future in found] == list(range(20))
    assert workers.submit(eval, "__import__('os').getpid()").result() != os.getpid()


def test_what_is_printed_does_not_disturb(workers: Processes) -> None:
    assert workers.submit(print, "hello").result() is None
    assert workers.submit(os.system, "echo hello").result() == 0


def test_an_exception_is_raised_here(workers: Processes) -> None:
    with pytest.raises(CallFailed, match="ZeroDivisionError: division by zero"):
        workers.submit(eval, "1 / 0").result()
    assert workers.submit(abs, -1).result() == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("__import__('os').kill(__import__('os').getpid(), 9)", "killed .signal 9., as the system does when memory"),
        ("__import__('os').kill(__import__('os').getpid(), 15)", "ended by signal 15"),
        ("__import__('os')._exit(3)", "exit code 3"),
    ],
)
def test_a_worker_that_dies_takes_only_its_own_call(workers: Processes, code: str, message: str) -> None:
    dying = workers.submit(eval, code)
    others = [workers.submit(abs, -number) for number in range(10)]
    with pytest.raises(WorkerDied, match=message):
        dying.result()
    assert [future.result() for future in others] == list(range(10))


def test_stopping_ends_what_is_running() -> None:
    pool = Processes(1)
    running, waiting = pool.submit(time.sleep, 600), pool.submit(time.sleep, 600)
    while not running.running():
        time.sleep(0.01)
    time.sleep(0.2)
    pool.stop()
    with pytest.raises(WorkerDied):
        running.result(timeout=10)
    assert waiting.cancelled()


def test_workers_end_with_the_program_that_started_them() -> None:
    import subprocess
    import sys

    code = (
        "import time\nfrom tilewright.run.batch.processes import Processes\n"
        "pool = Processes(1)\nprint(pool.submit(eval, \"__import__('os').getpid()\").result(), flush=True)\n"
        "pool.submit(time.sleep, 600)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 30
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_there_is_a_core() -> None:
    assert usable_cores() >= 1
    assert Processes().count() == usable_cores()


def test_a_worker_says_how_far_its_search_has_come(workers: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    seconds = PAUSE + 2.0
    running = workers.submit(searching, seconds)
    while not running.done() and not workers.said(seconds).doing:
        time.sleep(0.05)
    assert workers.said(seconds).gap == 0.25
    assert running.result() == seconds
    assert workers.said(seconds) == SearchProgress()
