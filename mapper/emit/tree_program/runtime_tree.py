"""The part of an emitted program of a cascade that is the same in every one.

`program.py` pastes everything below the imports into its output, before the runtime of `numpy_program`.
"""

from __future__ import annotations

import math

import numpy as np

# ---- tensors of a cascade --------------------------------------------------------------------------------------------


def erf(values: np.ndarray) -> np.ndarray:
    """The error function, which numpy does not have."""
    return np.array([math.erf(value) for value in np.ravel(values)]).reshape(np.shape(values))


def placed(array: np.ndarray, expected: tuple[int, ...], origin: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """An operand in the outermost memory, its first element at the origin, and zeros around it."""
    if array.shape != expected:
        raise ValueError(f"an operand has shape {array.shape}, expected {expected}")
    whole = np.zeros(shape)
    whole[tuple(slice(o, o + n) for o, n in zip(origin, expected, strict=True))] = array
    return whole


def aligned(array: np.ndarray, axes: tuple[int, ...], count: int) -> np.ndarray:
    """An array whose axes have these labels, with one axis for each of `count` labels, in order."""
    ordered = array.transpose([axes.index(axis) for axis in sorted(axes)])
    lengths = iter(ordered.shape)
    return ordered.reshape([next(lengths) if axis in axes else 1 for axis in range(count)])


def moved_up(array: np.ndarray, axis: int, table: list[tuple[int, int, int]], step: int) -> None:
    """Rows of the step before that are asked for again move to where this step has them; all others are gone.

    table  per step, the first row that is asked for, and more
    """
    rows = np.moveaxis(array, axis, 0)
    before = rows.copy()
    rows[...] = 0
    if step:
        shift = table[step][0] - table[step - 1][0]
        rows[: max(len(rows) - shift, 0)] = before[shift:]


def surrounded(array: np.ndarray, pads: list[tuple[int, int]], shape: tuple[int, ...]) -> np.ndarray:
    """A tensor with zeros around it, as far as an operation reads it."""
    return np.pad(array, pads)[tuple(slice(n) for n in shape)]


def gathered(array: np.ndarray, ranks: list[list[tuple[int, int]]], sizes: tuple[int, ...]) -> np.ndarray:
    """The word of a tensor at every point: ranks are sums of coefficient * index, given as (dimension, coefficient)."""
    indices = []
    for rank in ranks:
        index = np.zeros((1,) * len(sizes), np.int64)
        for axis, coefficient in rank:
            steps = coefficient * np.arange(sizes[axis])
            index = index + steps.reshape([-1 if i == axis else 1 for i in range(len(sizes))])
        indices.append(index)
    return np.broadcast_to(array[tuple(indices)], sizes)


# ---- check of a cascade ----------------------------------------------------------------------------------------------


def random_inputs(shapes: dict[str, tuple[int, ...]], seed: int, exact: bool) -> dict[str, np.ndarray]:
    """Small whole numbers, whose results are exact; else numbers up to 1, of which any function can be taken."""
    rng = np.random.default_rng(seed)
    if exact:
        return {name: rng.integers(-2, 3, shape).astype(float) for name, shape in shapes.items()}
    return {name: 1.0 - rng.random(shape) for name, shape in shapes.items()}
