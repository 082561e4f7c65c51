"""A clock for searches that are cut short at the same step on every machine."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from tilewright.mapper import means


def ticking(monkeypatch: pytest.MonkeyPatch, tick: float = 0.01) -> None:
    """Let so many seconds pass with every look at the clock that limits a search, and none between."""
    ticks = (number * tick for number in itertools.count())

    def looked_at() -> float:
        return next(ticks)

    monkeypatch.setattr(means, "time", SimpleNamespace(perf_counter=looked_at, process_time=looked_at))
