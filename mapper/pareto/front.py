"""Fronts: the points of energy and latency that no other point dominates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ...cost_models import ENERGY, LATENCY, Objective
from ..kernel.tolerance import RELATIVE_TOLERANCE, is_better

Point = tuple[float, float]
"""Energy and latency."""

STEP = 1e-7
"""A point of the front is better than the one before it in one objective by more than this fraction."""

Each = TypeVar("Each")


def front_of(found: Iterable[Each], point: Callable[[Each], Point], part: float = RELATIVE_TOLERANCE) -> list[Each]:
    """Those that no other dominates, by rising energy, each faster than the one before by more than a part."""
    front: list[Each] = []
    for one in sorted(found, key=point):
        if not front or point(one)[1] < point(front[-1])[1] * (1 - part):
            front.append(one)
    return front


def front_in_turn(
    best: Callable[[Objective], Each | None], point: Callable[[Each], Point], slowest: float = math.inf
) -> Iterator[Each]:
    """The front by epsilon-constraint: each point has the least energy of all that are faster than the one before, and
    of these the least latency.

    best     by energy, or latency, within a limit on the other; None: nothing is, or nothing more is to be searched
    slowest  only points of no more latency
    """
    while (least := best(ENERGY if slowest == math.inf else ENERGY.capped(latency=slowest))) is not None:
        found = best(LATENCY.capped(energy=point(least)[0])) or least
        yield found
        slowest = point(found)[1] * (1 - STEP)


def end_of(matters: Callable[[float], bool], low: float, high: float) -> float:
    """From where on nothing matters, where something does at `low` and nothing at `high`."""
    while is_better(low, high):
        middle = (low + high) / 2
        low, high = (middle, high) if matters(middle) else (low, middle)
    return high
