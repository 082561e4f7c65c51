"""When a value counts as better, and when a bound reaches it."""

from __future__ import annotations

import math

import pytest

from tilewright.mapper.kernel.tolerance import cutoff_of, is_better, is_equal, or_value, reaches


@pytest.mark.parametrize("value", [1e-30, 1.0, 3.7e18])
def test_what_differs_by_rounding_is_equal(value: float) -> None:
    close = value * (1 - 1e-12)
    assert is_equal(value, close)
    assert is_equal(close, value)
    assert not is_better(close, value)
    assert reaches(close, value)
    assert or_value(close, value) == value


@pytest.mark.parametrize("value", [1e-30, 1.0, 3.7e18])
def test_what_differs_by_more_is_better(value: float) -> None:
    lower = value * (1 - 1e-7)
    assert is_better(lower, value)
    assert not is_better(value, lower)
    assert reaches(value, lower)
    assert not reaches(lower, value)
    assert or_value(lower, value) == lower
    assert lower < cutoff_of(value) < value


def test_nothing_known_is_infinite_and_what_costs_nothing_is_least() -> None:
    assert cutoff_of(math.inf) == math.inf
    assert is_better(1.0, math.inf)
    assert not is_better(math.inf, math.inf)
    assert reaches(math.inf, math.inf)
    assert reaches(0.0, 0.0)
    assert not is_better(0.0, 0.0)
