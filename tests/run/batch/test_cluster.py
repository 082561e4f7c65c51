"""A real Dask scheduler and real workers, as separate processes on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from batches import Here, questions
from tilewright.ir import TilewrightError
from tilewright.run.batch.cluster import Cluster
from tilewright.run.batch.run import Progress, run_batch
from tilewright.run.store import Store

_DASK = (sys.executable, "-m", "dask")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*_DASK, *words], cwd=folder, start_new_session=True, **quiet)  # type: ignore[call-overload,no-any-return]


def start_worker(folder: Path, address: str, name: str) -> subprocess.Popen[bytes]:
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, "--local-directory", str(folder))
    return start(folder, "worker", address, *options)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler without workers."""
    port = free_port()
    folder = tmp_path_factory.mktemp("dask")
    process = start(folder, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"tcp://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.mark.long
def test_a_batch_survives_the_death_of_a_worker(tmp_path: Path, address: str) -> None:
    """Nothing is lost, and nothing is counted twice."""
    asked = questions(tmp_path, archs=("three_level", "eyeriss"), dataflows=("free", "weight-stationary"))
    workers = [start_worker(tmp_path, address, f"worker-{number}") for number in range(2)]
    seen: list[int] = []

    def watch(progress: Progress) -> None:
        seen.append(progress.done)
        if progress.done >= 2:  # several may be done at once
            workers[0].send_signal(signal.SIGKILL)

    try:
        with Store(tmp_path / "results.sqlite3") as store:
            found = run_batch(asked, store, partial(Cluster, address), watch=watch)
            records = list(store.records())
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert workers[0].returncode == -signal.SIGKILL
    assert found.progress.done == len(asked) == len(records) == len({record.key for record in records})
    assert found.progress.failed == 0
    assert seen[-1] == len(asked)
    here = run_batch(asked, None, Here)
    for question in asked:
        one, other = found.outcomes[question.key], here.outcomes[question.key]
        assert one.cost == other.cost  # type: ignore[union-attr]
        assert one.mapping == other.mapping  # type: ignore[union-attr]


def test_workers_that_join_later_are_counted(tmp_path: Path, address: str) -> None:
    cluster = Cluster(address)
    try:
        deadline = time.monotonic() + 30
        while cluster.count() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert cluster.count() == 0
        answer = cluster.submit(os.path.basename, "a/b")
        worker = start_worker(tmp_path, address, "late")
        assert answer.result(timeout=60) == "b"
        assert cluster.count() == 1
        worker.kill()
        worker.wait()
    finally:
        cluster.stop()


@pytest.mark.long
def test_nothing_is_known_of_a_scheduler_that_has_just_gone_away(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers were asked for before the client noticed: a KeyError."""
    cluster = Cluster(address)
    try:
        monkeypatch.setattr("distributed.Client.scheduler_info", lambda *_, **__: {})
        assert cluster.count() == 0
    finally:
        cluster.stop()


@pytest.mark.long
def test_a_scheduler_that_cannot_be_reached_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.run.batch.cluster._PATIENCE", 1.0)
    with pytest.raises(TilewrightError, match="the scheduler cannot be reached") as caught:
        Cluster(f"tcp://127.0.0.1:{free_port()}")
    assert "dask scheduler" in str(caught.value)


@pytest.mark.long
def test_a_scheduler_that_goes_away_loses_nothing(tmp_path: Path) -> None:
    port = free_port()
    scheduler = start(tmp_path, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = start_worker(tmp_path, f"tcp://127.0.0.1:{port}", "only")
    asked = questions(tmp_path, archs=("three_level", "eyeriss"), dataflows=("free", "weight-stationary"))

    def watch(progress: Progress) -> None:
        if progress.done:
            scheduler.kill()
            worker.kill()

    try:
        with Store(tmp_path / "results.sqlite3") as store:
            with pytest.raises(TilewrightError, match="the connection to the workers was lost"):
                run_batch(asked, store, lambda: patient_cluster(port), watch=watch)
            kept = len(list(store.records()))
            assert 1 <= kept < len(asked)
            assert run_batch(asked, store, Here).progress.recalled == kept
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def patient_cluster(port: int) -> Cluster:
    """The cluster, once its scheduler listens."""
    for _ in range(20):
        try:
            return Cluster(f"tcp://127.0.0.1:{port}")
        except TilewrightError:
            time.sleep(0.5)
    return Cluster(f"tcp://127.0.0.1:{port}")
