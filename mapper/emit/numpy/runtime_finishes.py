"""The part of an emitted numpy program that does something with complete words."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .runtime import Arrays

# ---- words that are complete -----------------------------------------------------------------------------------------

Index = tuple[np.ndarray, ...]


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
