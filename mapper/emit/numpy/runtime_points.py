"""The part of an emitted numpy program that is for other operations than one sum of products."""

from __future__ import annotations

import math

import numpy as np

# ---- points ----------------------------------------------------------------------------------------------------------


def erf(values: np.ndarray) -> np.ndarray:
    """The error function, which numpy does not have."""
    return np.array([math.erf(value) for value in np.ravel(values)]).reshape(np.shape(values))


def single(values: np.ndarray) -> np.ndarray:
    """Rounded to single precision."""
    return np.asarray(values, np.float32).astype(np.float64)


def wrapped(words: np.ndarray, low: float, span: float) -> np.ndarray:
    """Whole numbers as a type has them, the least of which is `low`; beyond 2^53, which doubles do not tell apart, they
    are no numbers."""
    found = words - span * np.floor((words - low) / span)
    return np.where((np.abs(words) < 2.0**53) & (np.abs(found) < 2.0**53), found, np.nan)


def whole_product(left: np.ndarray, right: np.ndarray, low: float, span: float) -> np.ndarray:
    """Products of whole numbers, as a type has them."""
    found = np.multiply(left, right)
    if span <= 2.0**32:  # their lowest bits are those of the products of 64 bits
        lowest = np.asarray(left, np.int64) * np.asarray(right, np.int64) % np.int64(span)
        found = np.where(np.abs(found) < 2.0**53, found, lowest)
    return wrapped(found, low, span)


def whole_power(base: np.ndarray, exponent: np.ndarray, low: float, span: float) -> np.ndarray:
    """Powers of whole numbers, as a type has them."""
    found = np.trunc(np.power(base, exponent))
    if span <= 2.0**32:
        lowest = np.power(np.asarray(base, np.int64), np.maximum(np.asarray(exponent, np.int64), 0)) % np.int64(span)
        found = np.where(np.abs(found) < 2.0**53, found, lowest)
    return wrapped(found, low, span)


def quotient(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Quotients of whole numbers, towards zero; 0 where nothing is divided by."""
    return np.where(np.equal(right, 0), 0, np.trunc(np.divide(left, right)))


def whole_remainder(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Remainders of whole numbers with the sign of the divisor; 0 where nothing is divided by."""
    return np.where(np.equal(right, 0), 0, np.mod(left, right))


def whole_fmod(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Remainders of whole numbers with the sign of what is divided; 0 where nothing is divided by."""
    return np.where(np.equal(right, 0), 0, np.fmod(left, right))


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
