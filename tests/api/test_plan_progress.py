"""What is said while the plan of a network is searched."""

from __future__ import annotations

import math

import pytest

from tilewright.cli import progress
from tilewright.mapper.segmentation import PlanProgress


def test_lines_say_value_gap_and_what_is_being_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = iter((0.0, 1.0, 11.0, 12.0, 12.0, 30.0, 30.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(moments))
    monkeypatch.setattr(progress, "is_lively", lambda: False)
    with progress.showing_plan_progress() as watch:
        watch(PlanProgress(0, 9, "each operation on its own", "energy"))  # after a second
        watch(PlanProgress(1, 8, "each operation on its own: a", "energy"))  # there is no plan yet
        watch(PlanProgress(2, 7, "groups: a+b", "energy", 2000.0, 500.0))
        watch(PlanProgress(3, 6, "groups: c", "energy", 1000.0, 750.0))
    assert capsys.readouterr().err.splitlines() == [
        "2 groups searched, 7 left at most: energy 2000, gap 75.0%; groups: a+b",
        "3 groups searched, 6 left at most: energy 1000, gap 25.0%; groups: c",
    ]


def test_a_gap_is_whole_until_something_is_known() -> None:
    assert PlanProgress().gap == 1
    assert PlanProgress(value=0.0).gap == 0
    assert PlanProgress(value=math.inf, bound=3.0).gap == 1
