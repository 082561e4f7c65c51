"""Calls of one function: results in order, what fails, what is run again."""

from __future__ import annotations

import signal

from tilewright.run.batch.calls import run_calls
from tilewright.run.batch.job import Failure
from tilewright.run.batch.processes import Processes
from tilewright.run.batch.run import Progress


def test_results_are_in_order_and_failures_among_them() -> None:
    seen: list[Progress] = []
    found = run_calls(int, ["3", "x", "5"], lambda: Processes(1), seen.append)
    assert [found[0], found[2]] == [3, 5]
    assert isinstance(found[1], Failure)
    assert "invalid literal" in found[1].message
    assert (seen[0].total, seen[-1].done, seen[-1].failed, seen[-1].left) == (3, 3, 1, 0)


def test_a_call_whose_worker_dies_is_run_once_more() -> None:
    seen: list[Progress] = []
    kill = f"__import__('os').kill(__import__('os').getpid(), {int(signal.SIGKILL)})"
    (died,) = run_calls(eval, [kill], lambda: Processes(1), seen.append)
    assert isinstance(died, Failure)
    assert died.message.startswith("its worker died 2 times; the last time it was killed (signal 9)")
    assert seen[-1].retried == 1
