"""Garbage is looked for more rarely while searches run, and as before when none does."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from threading import Event, Thread

import pytest

import tilewright as tw
from tilewright.ir import Cascade, InfeasibleError
from tilewright.mapper.garbage import OBJECTS, collecting_rarely

TWO = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,n] = exp(T[m,n])"], m=4, n=4, k=4)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "within"),
    [((700, 10, 10), (OBJECTS, 10, 10)), ((0, 5, 5), (0, 5, 5)), ((90_000, 3, 4), (90_000, 3, 4))],
)
def test_a_program_that_asks_for_less_has_its_way(before: tuple[int, ...], within: tuple[int, ...]) -> None:
    gc.set_threshold(*before)
    with collecting_rarely, collecting_rarely:
        assert gc.get_threshold() == within
    assert gc.get_threshold() == before


def test_what_a_program_sets_meanwhile_stays() -> None:
    with collecting_rarely:
        gc.set_threshold(1234)
    assert gc.get_threshold()[0] == 1234


def test_the_last_of_several_threads_ends_it() -> None:
    inside, leave = Event(), Event()

    @collecting_rarely
    def other() -> None:
        inside.set()
        assert leave.wait(60)

    thread = Thread(target=other)
    with collecting_rarely:
        thread.start()
        assert inside.wait(60)
    assert gc.get_threshold()[0] == OBJECTS
    leave.set()
    thread.join()
    assert gc.get_threshold()[0] == 700


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked off")
def test_a_process_that_is_forked_off_waits_for_no_thread_of_the_other_one() -> None:
    """One of them may just begin a search at that moment: the first search of the new process waited for it."""
    code = (
        "import os; from tilewright.mapper.garbage import collecting_rarely as rarely\n"
        "rarely._lock.acquire(); child = os.fork()\n"
        "if not child:\n    with rarely: os._exit(0)\n"
        "raise SystemExit(os.waitpid(child, 0)[1])\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


@pytest.mark.some(1)
@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("what", [tw.gemm(4, 4, 4), TWO], ids=["one", "two"])
def test_searches_are_such_functions(what: tw.Problem | Cascade, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that fail leave nothing behind either."""
    seen: list[int] = []
    set_threshold = gc.set_threshold

    def noted(first: int, *older: int) -> None:
        seen.append(first)
        set_threshold(first, *older)

    monkeypatch.setattr(gc, "set_threshold", noted)
    arch = tw.load_arch("three_level", {} if fits else {"GLB.size": "1 B", "GLB.keep": "must"})
    with contextlib.nullcontext() if fits else pytest.raises(InfeasibleError):
        tw.search(what, arch)
    assert OBJECTS in seen
    assert gc.get_threshold()[0] == 700
