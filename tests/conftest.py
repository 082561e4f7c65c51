"""What all tests have in common."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sqlite3
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import longer

# How long an example takes says nothing on a machine that does other things too. Few examples by default, as of seeds.
settings.register_profile("patient", deadline=None, max_examples=100 if longer.ALL else 10)
settings.load_profile("patient")

_NUMBERS = itertools.count()

# A shell starts what runs in its background with interrupts ignored, and so would be what the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: it is not looked through whenever there may be garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `long` come first, so that in the end no process is left alone with one. By default they are left
    out, and of those marked `some(n)` all cases but n, spread evenly."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    if longer.ALL or config.getoption("-m"):
        return
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for cases in tests.values() for item in kept_of(cases)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def kept_of(cases: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of one test that are run by default."""
    if cases[0].get_closest_marker("long"):
        return []
    mark = cases[0].get_closest_marker("some")
    most = min(mark.args[0] if mark else len(cases), len(cases))
    return [cases[number * len(cases) // most] for number in range(most)]


@pytest.fixture(autouse=True, scope="module")
def _store_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures share between tests is not answered by the store of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_STORE", str(tmp_path_factory.mktemp("module") / "store.sqlite3"))
        yield


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Leave databases that are opened from now on room for so many pages."""
    connect = sqlite3.connect

    def leave(pages: int) -> None:
        def limited(*told: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(*told, **options)
            connection.execute(f"PRAGMA max_page_count = {pages}")
            return connection

        monkeypatch.setattr(sqlite3, "connect", limited)

    return leave


@pytest.fixture(autouse=True)
def _store_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test is answered by another one, nor by the store of whoever runs it. (A folder made by `tmp_path` for each
    of thousands of tests would take longer than most of them: it looks at all that are there.)"""
    of_module = Path(os.environ["TILEWRIGHT_STORE"])
    monkeypatch.setenv("TILEWRIGHT_STORE", str(of_module.with_name(f"store-{next(_NUMBERS)}.sqlite3")))
