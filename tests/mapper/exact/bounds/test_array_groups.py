"""What bounds take for granted of groups of arrays."""

from __future__ import annotations

import math

import pytest

from tilewright.mapper.exact.bounds.array_groups import least_at_work


def at_work(instances: int, size: int) -> list[float]:
    """Mean instances at work over all visits, for every tile below an array that deals out a ragged dimension, and
    every number of rounds that a visit takes; only where all instances have work in the first visit."""
    found = []
    for tile in range(1, size + 1):
        if math.ceil(size / tile) < instances:
            break
        for rounds in range(1, size + 1):
            visit = instances * tile * rounds
            starts = range(0, size, visit)
            found.append(sum(min(instances, math.ceil((size - s) / tile)) for s in starts) / len(starts))
            if visit >= size:
                break
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 12, 14, 30, 37])
def test_fewest_instances_at_work_are_never_more_than_in_any_visit(size: int) -> None:
    for instances in range(1, size + 1):
        least = least_at_work(instances, size)
        assert least <= min(at_work(instances, size))
        assert least >= (instances + 1) / 2


def test_all_instances_work_where_what_they_cover_divides_the_size() -> None:
    assert least_at_work(14, 14) == 14
    assert least_at_work(7, 14) == 7
    assert least_at_work(4, 14) == 2.5  # tiles of 3: 12 of 14, and then one of the four instances
