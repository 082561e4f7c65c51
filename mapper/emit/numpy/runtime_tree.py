"""The part of an emitted program of a cascade that is the same in every one.

`program.py` pastes everything below the imports into its output, before the runtime of one operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# ---- tensors of a cascade --------------------------------------------------------------------------------------------


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


# ---- words that are complete -----------------------------------------------------------------------------------------

Index = tuple[np.ndarray, ...]
Arrays = dict[str, np.ndarray]


class Visited(NamedTuple):
    """Positions of one axis of a tensor that a visit of a branch makes.

    at      in the tensor: an axis for each of the buffer's instances, and one for the positions
    inside  which of these are there: ragged ends are not
    held    where they lie in the buffer of an instance
    """

    at: np.ndarray
    inside: np.ndarray
    held: np.ndarray


def visited(
    loops: list[tuple[int, ...] | tuple[int, int, int | None]], extent: int, size: int, base: int, instances: int
) -> Visited:
    """What a visit makes of a dimension.

    loops      around the visit, outermost first: (first index as the first instance sees it, tile) in time, and
               (trips, tile, axis) over instances: of the buffer, or None where these share one
    extent     of what the visit makes
    base       where the buffer's tile begins, as its first instance sees it
    instances  axes of the buffer that stand for instances
    """
    first = 0
    shift = np.zeros((1,) * (instances + 1), np.int64)
    end = np.full_like(shift, size)
    for loop in loops:
        if len(loop) == 2:
            first, tile = loop
        else:
            trips, tile, axis = loop
            steps = tile * np.arange(trips)
            if axis is None:
                shift = (shift[..., None] + steps).reshape(*shift.shape[:-1], -1)
                end = np.repeat(np.broadcast_to(end, (*end.shape[:-1], shift.shape[-1] // trips)), trips, axis=-1)
            else:
                shift = shift + steps.reshape([-1 if i == axis else 1 for i in range(instances + 1)])
        end = np.minimum(end, first + shift + tile)
    shape = (*end.shape[:-1], -1)
    at = (first + shift[..., None] + np.arange(extent)).reshape(*shift.shape[:-1], -1)
    return Visited(at, at < np.repeat(end, extent, axis=-1).reshape(shape), at[(0,) * instances] - base)


def finish_words(
    buffer: np.ndarray, parts: list[Visited], finish: Callable[[np.ndarray, Index, Arrays], np.ndarray], given: Arrays
) -> None:
    """Replace the words that a visit has made, one list of positions for each axis of the tensor."""
    instances, rank = buffer.ndim - len(parts), len(parts)

    def along(values: np.ndarray, axis: int) -> np.ndarray:
        return values.reshape(*values.shape[:-1], *(values.shape[-1] if i == axis else 1 for i in range(rank)))

    where = (slice(None),) * instances + np.ix_(*(part.held for part in parts))
    words = buffer[where]
    inside = np.ones((1,) * words.ndim, bool)
    for axis, part in enumerate(parts):
        inside = inside & along(part.inside, axis)
    at = tuple(along(np.where(part.inside, part.at, 0), axis) for axis, part in enumerate(parts))
    buffer[where] = np.where(inside, finish(words, at, given), words)


def finished(
    words: np.ndarray,
    finish: Callable[[np.ndarray, Index, Arrays], np.ndarray],
    given: Arrays,
    first: tuple[int, ...] = (),
) -> np.ndarray:
    """All words of a tensor, or a part of it that begins at `first`, after what is done with them."""
    begun = first or (0,) * words.ndim
    at = np.ix_(*(np.arange(begin, begin + count) for begin, count in zip(begun, words.shape, strict=True)))
    return np.broadcast_to(finish(words, at, given), words.shape)


# ---- check of a cascade ----------------------------------------------------------------------------------------------


def random_inputs(shapes: dict[str, tuple[int, ...]], seed: int, exact: bool) -> dict[str, np.ndarray]:
    """Small whole numbers, whose results are exact; else numbers up to 1, of which any function can be taken."""
    rng = np.random.default_rng(seed)
    if exact:
        return {name: rng.integers(-2, 3, shape).astype(float) for name, shape in shapes.items()}
    return {name: 1.0 - rng.random(shape) for name, shape in shapes.items()}
