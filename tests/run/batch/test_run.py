"""Batches: what is recalled, what runs, and what is left after workers, disks and users break in."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batches import Here, killing_job, questions, undecided_job
from tilewright.ir import TilewrightError, UnwritableStoreError
from tilewright.mapper.answer import Answer
from tilewright.run.batch import run as run_module
from tilewright.run.batch.job import Failure, run_job
from tilewright.run.batch.processes import Processes
from tilewright.run.batch.run import Progress, run_batch
from tilewright.run.store import Claims, NoMapping, Store, stored_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch.sqlite3"


def no_workers() -> Any:
    raise AssertionError("nothing had to run")


def test_a_batch_runs_once_and_is_recalled_afterwards(tmp_path: Path, path: Path) -> None:
    asked = questions(tmp_path, dataflows=("free", "weight-stationary"))
    with Store(path) as store:
        first = run_batch([*asked, *asked], store, partial(Processes, 2))
        assert first.progress.total == first.progress.done == len(asked)
        assert not first.recalled
        again = run_batch(asked, store, no_workers)
    assert again.recalled == {question.key for question in asked}
    assert again.outcomes == first.outcomes
    for question in asked:
        assert first.outcomes[question.key] == run_job_again(question, first.outcomes[question.key])


def run_job_again(question: Any, outcome: Any) -> Any:
    """The same search in this process; only its time may differ."""
    from dataclasses import replace

    answer = run_job(question).result
    assert isinstance(answer, Answer)
    return replace(answer, certificate=replace(answer.certificate, seconds=outcome.certificate.seconds))


def test_nothing_is_kept_without_a_store(tmp_path: Path) -> None:
    found = run_batch(questions(tmp_path), None, Here)
    assert found.progress.done == 3
    assert not found.recalled


def test_the_longest_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "estimated_seconds", lambda question: question.problem.macs)
    here = Here()
    run_batch(questions(tmp_path), None, lambda: here)
    macs = [question.problem.macs for question in here.ran]
    assert macs == sorted(macs, reverse=True)
    assert here.stopped


def test_no_mapping_is_an_answer_and_is_kept(tmp_path: Path, path: Path) -> None:
    file = tmp_path / "impossible.yaml"
    file.write_text("utilization: 1\n", encoding="utf-8")  # the layer has fewer MACs than the machine
    asked = questions(tmp_path, dataflows=(str(file),))[:1]
    with Store(path) as store:
        found = run_batch(asked, store, Here)
        assert found.progress.no_mapping == len(asked)
        assert all(isinstance(outcome, NoMapping) for outcome in found.outcomes.values())
        assert run_batch(asked, store, no_workers).outcomes == found.outcomes


@pytest.mark.long
def test_a_search_whose_worker_dies_once_runs_again(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = with_killed_worker(tmp_path, path, monkeypatch, "once")
    assert found.progress.retried == 1
    assert found.progress.failed == 0
    assert all(isinstance(outcome, Answer) for outcome in found.outcomes.values())


@pytest.mark.long
def test_a_search_whose_worker_always_dies_is_marked(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = with_killed_worker(tmp_path, path, monkeypatch, "always")
    (failure,) = (outcome for outcome in found.outcomes.values() if isinstance(outcome, Failure))
    assert "died 2 times" in failure.message
    assert "signal 9" in failure.message
    assert found.progress.failed == 1
    with Store(path) as store:
        assert len(list(store.records())) == 2


def with_killed_worker(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> Any:
    monkeypatch.setenv("TILEWRIGHT_TEST_MARK", str(tmp_path / kind))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr(run_module, "run_job", killing_job)
    with Store(path) as store:
        return run_batch(questions(tmp_path), store, partial(Processes, 2))


def test_an_error_of_the_program_is_one_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(question: Any) -> Any:
        assert "R" not in question.problem.sizes, "a defect"
        return run_job(question)

    monkeypatch.setattr(run_module, "run_job", broken)
    found = run_batch(questions(tmp_path), None, Here)
    (failure,) = (outcome for outcome in found.outcomes.values() if isinstance(outcome, Failure))
    assert failure.message.startswith("AssertionError: a defect")


def test_a_worker_of_another_version_is_an_error(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "MODEL_VERSION", -1)
    with Store(path) as store:
        with pytest.raises(TilewrightError, match="same tilewright on all machines"):
            run_batch(questions(tmp_path), store, Here)
        assert not list(store.records())


def test_what_another_run_is_at_is_left_to_it(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer is taken from the store when it has come; where that run ends without one, the search is ours."""
    asked = questions(tmp_path)
    theirs, given_up = asked[0], asked[1]
    refused = {stored_key(theirs): 3, stored_key(given_up): 2}
    here = Here()
    with Store(path) as store, Store(path) as other:

        def take(claims: Claims, key: str) -> bool:
            refused[key] = refused.get(key, 0) - 1
            if key == stored_key(theirs) and refused[key] == 0:
                other.keep(theirs, run_job(theirs).result)
            return refused[key] < 0

        monkeypatch.setattr(Claims, "take", take)
        found = run_batch(asked, store, lambda: here)
    assert {question.key for question in here.ran} == {question.key for question in asked} - {theirs.key}
    assert found.recalled == {theirs.key}
    assert len(found.outcomes) == len(asked)


def test_a_full_disk_stops_the_batch_and_loses_nothing(
    tmp_path: Path, path: Path, small_disk: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = questions(tmp_path, dataflows=("free", "weight-stationary", "output-stationary"))
    small_disk(6)
    with Store(path) as store, pytest.raises(UnwritableStoreError, match="no room"):
        run_batch(asked, store, Here)
    monkeypatch.undo()
    with Store(path) as store:
        kept = len(list(store.records()))
        assert 0 < kept < len(asked)
        again = run_batch(asked, store, Here)
    assert again.progress.recalled == kept
    assert again.progress.done == len(asked) - kept


@pytest.mark.long
def test_progress_is_shown_as_it_is(tmp_path: Path) -> None:
    seen: list[tuple[int, int, float | None]] = []

    def watch(progress: Progress) -> None:
        seen.append((progress.done, progress.left, progress.seconds_left))

    run_batch(questions(tmp_path), None, partial(Processes, 1), watch=watch)
    assert seen[0] == (0, 3, None)
    assert seen[-1] == (3, 0, None)
    assert all(done + left == 3 for done, left, _ in seen)
    assert any(left and seconds is not None and seconds > 0 for _, left, seconds in seen)


BATCH = """
import sys
sys.path.insert(0, sys.argv[1])
from collections.abc import Callable
from pathlib import Path
from batches import questions
from tilewright.run.batch.run import run_batch
from tilewright.run.batch.processes import Processes
from tilewright.run.store import Store
asked = questions(Path(sys.argv[2]), archs=("three_level", "eyeriss"), dataflows=("free", "weight-stationary"))
with Store(sys.argv[3]) as store:
    run_batch(asked, store, lambda: Processes(2), watch=lambda progress: print(progress.done, flush=True))
"""


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_batch_that_is_stopped_goes_on(tmp_path: Path, path: Path, how: signal.Signals) -> None:
    words = [sys.executable, "-c", BATCH, str(Path(__file__).parent), str(tmp_path), str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        done = 0
        while done < 3:
            done = int(process.stdout.readline())
        process.send_signal(how)
        assert process.wait(timeout=60) != 0
    asked = questions(tmp_path, archs=("three_level", "eyeriss"), dataflows=("free", "weight-stationary"))
    with Store(path) as store:
        kept = len(list(store.records()))
        assert kept >= done
        found = run_batch(asked, store, Here)
        assert (found.progress.recalled, found.progress.done) == (kept, len(asked) - kept)
        assert len(list(store.records())) == len(asked) == len(found.outcomes)


@pytest.mark.long
@pytest.mark.parametrize("workers", [Here, partial(Processes, 1)])
def test_a_search_that_ends_undecided_is_a_failure_that_says_so(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, workers: Any
) -> None:
    """No mapping was found in its time: that is not to say that there is none, and nothing to be kept."""
    monkeypatch.setattr(run_module, "run_job", undecided_job)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with Store(path) as store:
        outcomes = run_batch(questions(tmp_path), store, workers).outcomes.values()
        assert {str(outcome) for outcome in outcomes} == {str(Failure("gemm: time ran out\nhint: wait longer"))}
        assert not list(store.records())
