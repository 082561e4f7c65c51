"""Searches inside a program: many at once, from threads and processes, cancelled, and answered from a store."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.ir import InfeasibleError, SearchCancelledError, StoreError
from tilewright.run.batch.run import Progress

SMALL = [tw.gemm(M=8, N=4, K=4), tw.gemm(M=6, N=4, K=9), tw.conv2d(K=2, C=2, P=4, Q=1, R=3, S=1)]
LONG = tw.conv2d(K=61, C=59, P=53, Q=47, R=5, S=3, name="long")  # not proven in a minute with ragged tiles
ASKED: list[tuple[tw.Problem, str, dict[str, Any]]] = [
    (SMALL[0], "three_level", {}),
    (SMALL[1], "eyeriss", {"tiling": "ragged", "objective": "energy"}),
    (SMALL[2], "three_level", {"objective": "energy * latency ** 0.5"}),
    (SMALL[2], "eyeriss", {"objective": "latency,energy"}),
    (SMALL[0], "eyeriss", {"space": "uneven", "objective": "latency"}),
    (SMALL[1], "three_level", {"constraints": "weight-stationary"}),
]


def timeless(result: Any) -> Any:
    """A result but for the time that it took."""
    assert isinstance(result, tw.SearchResult), result
    return replace(result, certificate=replace(result.certificate, seconds=0.0))


@pytest.fixture
def _hasty_threads() -> Iterator[None]:
    """Threads take turns a thousand times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_hasty_threads")
def test_searches_in_threads_find_what_searches_in_turn_find() -> None:
    with ThreadPoolExecutor(6) as threads:  # first: what is computed once and kept is computed there
        calls = [threads.submit(tw.search, problem, arch, **how) for problem, arch, how in [*ASKED, *ASKED[:3]]]
        found = [timeless(call.result()) for call in calls]
    expected = [timeless(tw.search(problem, arch, **how)) for problem, arch, how in ASKED]
    assert found == [*expected, *expected[:3]]


def test_threads_leave_the_warnings_of_the_program_alone() -> None:
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: tw.search(SMALL[0], "three_level", f"energy * {n} + latency"), range(1, 9)))
    assert list(warnings.filters) == before


@pytest.mark.long
def test_searches_in_a_pool_of_processes() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        one = processes.submit(tw.search, SMALL[0], "three_level")
        many = processes.submit(tw.search_many, SMALL, "three_level", workers=1, cache=False)
        wrong = processes.submit(tw.search, SMALL[0], "three_levels")
        assert timeless(one.result()) == timeless(tw.search(SMALL[0], "three_level"))
        assert [timeless(r) for r in many.result()] == [timeless(tw.search(p, "three_level")) for p in SMALL]
        error = wrong.exception()
    assert isinstance(error, tw.TilewrightError)
    assert error.message.startswith("no architecture is named 'three_levels'")
    assert error.hint is not None


@pytest.mark.long
def test_calls_from_several_threads_share_a_store(tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite3"
    with ThreadPoolExecutor(3) as threads:
        outer = SMALL[::2]
        calls = [threads.submit(tw.search_many, outer, "three_level", workers=1, store=store) for _ in range(2)]
        calls.append(threads.submit(tw.search_many, outer, "eyeriss", workers=1, store=store))
        found = [[timeless(result) for result in call.result()] for call in calls]
    for results, arch in zip(found, ("three_level", "three_level", "eyeriss"), strict=True):
        assert results == [timeless(tw.search(problem, arch)) for problem in outer]


@pytest.mark.long
def test_callbacks_see_every_layer(capfd: pytest.CaptureFixture[str]) -> None:
    layers = [SMALL[0], replace(SMALL[0], name="the same"), SMALL[1], tw.gemm(M=4, N=4, K=4, name="too small")]
    seen: dict[int, Any] = {}
    shown: list[Progress] = []
    threads: set[int] = set()

    def each(number: int, result: Any) -> None:
        assert number not in seen
        seen[number] = result
        threads.add(threading.get_ident())

    constraints = "utilization>=0.5"
    found = tw.search_many(
        layers, "three_level", constraints=constraints, workers=2, cache=False, watch=shown.append, each=each
    )
    assert [str(seen[number]) for number in range(4)] == [str(result) for result in found]
    assert [result.problem.name for result in found[:3] if isinstance(result, tw.SearchResult)] == [
        layer.name for layer in layers[:3]
    ]
    assert isinstance(found[3], InfeasibleError)
    assert threads == {threading.get_ident()}
    assert shown[0].left == shown[0].total == 3
    assert [progress.done for progress in shown] == sorted(progress.done for progress in shown)
    assert (shown[-1].done, shown[-1].no_mapping, shown[-1].running) == (3, 1, ())
    assert len({id(progress) for progress in shown}) == len(shown)
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
def test_cancelling_ends_a_search_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kill, killed = subprocess.Popen.kill, []

    def noted(process: subprocess.Popen[bytes]) -> None:
        kill(process)
        killed.append(process)

    stop = threading.Event()
    seen: list[int] = []

    def each(number: int, result: object) -> None:
        seen.append(number)
        if len(seen) == 2:
            stop.set()

    def search() -> list[Any]:
        return list(
            tw.search_many(
                [LONG, *SMALL[:2]],
                "eyeriss",
                tiling="ragged",
                workers=2,
                store=tmp_path / "s.sqlite3",
                each=each,
                cancel=stop.is_set,
            )
        )

    with monkeypatch.context() as patch:
        patch.setattr(subprocess.Popen, "kill", noted)
        first, *others = search()
    assert any(process.wait(timeout=60) for process in killed)  # by itself the long search would go on for longer
    assert isinstance(first, SearchCancelledError)
    assert "long on eyeriss" in str(first)
    assert [timeless(r) for r in others] == [timeless(tw.search(p, "eyeriss", tiling="ragged")) for p in SMALL[:2]]
    seen.clear()
    again = search()  # cancelled from the start: what is in the store is had all the same
    assert [timeless(result) for result in again[1:]] == [timeless(result) for result in others]
    assert isinstance(again[0], SearchCancelledError)
    assert sorted(seen) == [1, 2]


@pytest.mark.long
def test_an_error_of_a_callback_ends_the_searches() -> None:
    def each(number: int, result: object) -> None:
        raise ValueError(f"layer {number}")

    with pytest.raises(ValueError, match="layer 1"):
        tw.search_many([LONG, SMALL[0]], "eyeriss", tiling="ragged", workers=2, cache=False, each=each)


def test_a_search_is_answered_from_the_store_that_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "results.sqlite3"
    found = tw.search(SMALL[1], "three_level", store=store)
    front = tw.search_pareto(SMALL[1], "three_level", store=store)
    assert timeless(found) == timeless(tw.search(SMALL[1], "three_level"))
    assert [timeless(r) for r in front] == [timeless(r) for r in tw.search_pareto(SMALL[1], "three_level")]
    with pytest.raises(InfeasibleError) as infeasible:
        tw.search(SMALL[0], "three_level", constraints="utilization>=1", store=store)
    assert tw.search_many([SMALL[1]], "three_level", store=store, cancel=lambda: True) == [found]
    monkeypatch.delattr("tilewright.stored.Exact")
    assert tw.search(replace(SMALL[1], name="other"), "three_level", store=store).cost == found.cost
    assert tw.search_pareto(SMALL[1], "three_level", store=store) == front
    with pytest.raises(InfeasibleError) as again:
        tw.search(SMALL[0], "three_level", constraints="utilization>=1", store=store)
    assert str(again.value) == str(infeasible.value)


def test_a_store_is_for_the_exact_strategy(tmp_path: Path) -> None:
    with pytest.raises(tw.TilewrightError, match="found strategy random"):
        tw.search(SMALL[0], "three_level", strategy="random", store=tmp_path / "s.sqlite3")
    with pytest.raises(StoreError, match="this is a directory"):
        tw.search(SMALL[0], "three_level", store=tmp_path)


def test_a_store_that_fills_up_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise StoreError("no room", where="s.sqlite3")

    monkeypatch.setattr("tilewright.run.store.Store.keep", full)
    with pytest.warns(RuntimeWarning, match="no room; the result is not kept"):
        assert tw.search(SMALL[0], "three_level", store=tmp_path / "s.sqlite3").certificate.proven
