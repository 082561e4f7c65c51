"""Groups that processes search, as those that this process searches."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cost_models import ENERGY
from tilewright.ir import InfeasibleError, TilewrightError
from tilewright.mapper.answer import Answer
from tilewright.mapper.fusing import answer_below
from tilewright.mapper.question import Question, TreeQuestion
from tilewright.mapper.segmentation import GroupLost
from tilewright.run.batch.group_workers import GroupWorkers


def question() -> TreeQuestion:
    cascade = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=8, k=4, n=16, p=2)
    arch = tw.load_arch("three_level")
    return Question(cascade, arch, ENERGY, "perfect")


def ended(_: TreeQuestion) -> Answer:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def nothing_fits(_: TreeQuestion) -> Answer:
    raise InfeasibleError("nothing fits", where="GLB", hint="a larger one")


def refused(_: TreeQuestion) -> Answer:
    raise TilewrightError("the store is damaged")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.run.batch.group_workers.SOON", -1.0)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # where processes find the functions above


@pytest.mark.long
def test_processes_find_what_this_process_finds() -> None:
    workers = GroupWorkers(answer_below, 2)
    try:
        assert workers.at_once() == 2
        found = workers.begin(question()).result()
        assert isinstance(found, Answer)
        expected = answer_below(question())
        assert isinstance(expected, Answer)
        assert (found.mapping, found.certificate.value) == (expected.mapping, expected.certificate.value)
    finally:
        workers.drop()


@pytest.mark.long
@pytest.mark.parametrize(
    ("solve", "kind", "text"),
    [
        (ended, GroupLost, "died 2 times; the last time it was killed (signal 9)"),
        (nothing_fits, InfeasibleError, "GLB: nothing fits\nhint: a larger one"),
    ],
)
def test_what_comes_to_nothing_says_why(solve: object, kind: type[TilewrightError], text: str) -> None:
    workers = GroupWorkers(solve, 2)  # type: ignore[arg-type]
    try:
        outcome = workers.begin(question()).result()
    finally:
        workers.drop()
    assert isinstance(outcome, kind)
    assert text in str(outcome)


@pytest.mark.long
def test_other_errors_are_raised() -> None:
    workers = GroupWorkers(refused, 2)
    try:
        with pytest.raises(TilewrightError, match="the store is damaged"):
            workers.begin(question()).result()
    finally:
        workers.drop()
