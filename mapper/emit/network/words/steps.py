"""Whole numbers that are at equal distances along each axis of an array."""

from __future__ import annotations

from typing import Any

import numpy as np


def steps_along(values: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[int, ...] | None:
    """The first value and the step along each axis; None where there are no such, or a value is below zero."""
    if values.size == 0 or (values < 0).any():
        return None
    first = int(values.flat[0])
    steps = [int(values.take(1, axis).flat[0]) - first if n > 1 else 0 for axis, n in enumerate(values.shape)]
    grid = np.indices(values.shape)
    rebuilt = first + sum(step * one for step, one in zip(steps, grid, strict=True))
    return (first, *steps) if np.array_equal(rebuilt, values) else None
