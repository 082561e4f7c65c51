"""When a value counts as better than another one, and when a bound reaches it.

Values and bounds are sums of floats. In another order the same sum differs by its rounding, a few parts in 1e13 for the
longest ones, so numbers closer than the tolerance are one: a search that went on for less would never end among equals.
"""

from __future__ import annotations

from typing import Final

RELATIVE_TOLERANCE: Final = 1e-9
"""Objectives closer than this are one."""


def cutoff_of(incumbent: float) -> float:
    """What a bound has to stay below to lead to anything better than the incumbent."""
    return incumbent * (1 - RELATIVE_TOLERANCE)


def is_better(value: float, incumbent: float) -> bool:
    """Whether a value is lower by more than rounding."""
    return value < cutoff_of(incumbent)


def reaches(bound: float, value: float) -> bool:
    """Whether a bound is as high as a value, but for rounding: nothing that it holds for is better."""
    return bound >= cutoff_of(value)


def or_value(bound: float, value: float) -> float:
    """A bound, or the value where it reaches that: as certificates tell it."""
    return value if reaches(bound, value) else bound


def is_equal(one: float, other: float) -> bool:
    """Whether neither of two numbers is better."""
    return reaches(one, other) and reaches(other, one)
