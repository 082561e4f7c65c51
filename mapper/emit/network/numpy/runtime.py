"""The part of an emitted numpy program of a network that is the same in every one.

`network.py` pastes everything below the imports into its output, before the runtime of its groups.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...numpy.runtime import Arrays
from ...numpy.runtime_meters import WordTable

# ---- networks --------------------------------------------------------------------------------------------------------

Taken = list[np.ndarray]


class GroupFunctions(NamedTuple):
    """The program of a group.

    run       executes its tree: outputs, and the words that it moves
    direct    its operations, one after the other
    expected  the words that the plan promises
    """

    run: Callable[[Arrays, Arrays], tuple[Arrays, WordTable]]
    direct: Callable[[Arrays, Arrays], Arrays]
    expected: WordTable


class ReadWords(NamedTuple):
    """What an operation between groups reads.

    positions  for each axis, the positions of the output that it is read for
    offsets    for each axis and these positions, where the words lie that are taken; their sum over all axes is the
               place. Below zero there is none
    """

    words: np.ndarray
    positions: Taken
    offsets: Taken


def steps(first: int, step: int, count: int) -> np.ndarray:
    """Whole numbers at equal distances."""
    return first + step * np.arange(count)


def framed(words: np.ndarray, made: tuple[int, ...], before: tuple[int, ...], extents: tuple[int, ...]) -> np.ndarray:
    """A tensor as a group counts it: with zeros before its first position and after its last one, without what is not
    read."""
    whole = np.zeros(extents)
    taken = tuple(slice(min(n, e - b)) for n, b, e in zip(made, before, extents, strict=True))
    there = tuple(slice(b, b + s.stop) for b, s in zip(before, taken, strict=True))
    whole[there] = words.reshape(made)[taken]
    return whole


def places(read: ReadWords, taken: int) -> np.ndarray:
    """Where the words lie that are taken for each position: an axis for each axis of the output, and if `taken`, one
    for all that is taken there."""
    count = len(read.offsets)
    found, inside = np.zeros((1,) * (2 * count), np.int64), np.ones((1,) * (2 * count), bool)
    for axis, offsets in enumerate(read.offsets):
        shape = [1] * (2 * count)
        shape[axis], shape[count + axis] = offsets.shape
        found, inside = found + offsets.reshape(shape), inside & (offsets >= 0).reshape(shape)
    found = np.where(inside, found, -1)
    return found.reshape(*found.shape[:count], -1) if taken else found.reshape(found.shape[:count])


def moved_words(shape: tuple[int, ...], fill: float, reads: list[tuple[tuple[int, ...], ReadWords]]) -> np.ndarray:
    """Each word is one of those that are read, or `fill`; reads come with the axes in which they are read."""
    result = np.full(shape, fill)
    for extents, read in reads:
        there = result.reshape(extents)
        where = places(read, 0)
        target = np.ix_(*read.positions)
        there[target] = np.where(where >= 0, read.words[np.maximum(where, 0)], there[target])
        result = there.reshape(shape)
    return result


def spread(shape: tuple[int, ...], extents: tuple[int, ...], read: ReadWords) -> np.ndarray:
    """What is read for each word of the output."""
    found = np.zeros(extents)
    found[np.ix_(*read.positions)] = read.words[places(read, 0)]
    return found.reshape(shape)


def reduced(read: ReadWords, how: str) -> np.ndarray:
    """The sum, mean, product or maximum of what is taken for each word, the number of the largest, or the logarithm of
    the sum of exponentials."""
    where = places(read, 1)
    words, inside = read.words[np.maximum(where, 0)], where >= 0
    if how in ("max", "argmax"):
        words = np.where(inside, words, -np.inf)
        return np.asarray(words.max(axis=-1) if how == "max" else words.argmax(axis=-1).astype(float))
    if how == "product":
        return np.asarray(np.where(inside, words, 1).prod(axis=-1))
    if how == "log_sum_exp":
        words = np.where(inside, words, -np.inf)
        largest = words.max(axis=-1, keepdims=True)
        largest = np.where(np.isinf(largest), 0, largest)
        return np.asarray(np.log(np.exp(words - largest).sum(axis=-1)) + largest[..., 0])
    total = np.asarray(np.where(inside, words, 0).sum(axis=-1))
    return np.asarray(total / inside.sum(axis=-1)) if how == "mean" else total


def normalized(read: ReadWords, how: str, epsilon: float) -> np.ndarray:
    """Every word beside all that are taken with it: its softmax, the logarithm of that, or its distance from their
    mean in standard deviations."""
    words = read.words[places(read, 1)]
    if how == "norm":
        apart = words - words.mean(axis=-1, keepdims=True)
        found = apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + epsilon)
    else:
        apart = words - words.max(axis=-1, keepdims=True)
        total = np.exp(apart).sum(axis=-1, keepdims=True)
        found = apart - np.log(total) if how == "log_softmax" else np.exp(apart) / total
    sizes = [each.shape for each in read.offsets]
    whole = found.reshape([*(size[0] for size in sizes), *(size[1] for size in sizes)])
    order = [axis for pair in zip(range(len(sizes)), range(len(sizes), 2 * len(sizes)), strict=True) for axis in pair]
    return np.asarray(whole.transpose(order).reshape([a * b for a, b in sizes]))


def weighted(read: ReadWords, factors: Taken) -> np.ndarray:
    """The sum of what is taken for each word, each times its factors of all axes."""
    count = len(factors)
    whole = np.ones((1,) * (2 * count))
    for axis, each in enumerate(factors):
        shape = [1] * (2 * count)
        shape[axis], shape[count + axis] = each.shape
        whole = whole * each.reshape(shape)
    words = read.words[places(read, 1)]
    return np.asarray((words * whole.reshape(words.shape)).sum(axis=-1))


def rows_along(rows: ReadWords, chosen: ReadWords, axis: int) -> np.ndarray:
    """Rows along an axis, those that words name; from the last one backwards where these are negative."""
    whole = rows.words[places(rows, 0)]
    which = chosen.words[places(chosen, 0)].astype(np.int64)
    count = whole.shape[axis]
    return np.asarray(np.take(whole, np.clip(np.where(which < 0, which + count, which), 0, count - 1), axis))


def computed(model: str, operands: list[tuple[str, str, np.ndarray]], results: list[str]) -> np.ndarray:
    """What onnx.reference makes of an operator that no mapping has, in the model's types: its results, one behind the
    other.

    model     the operator's, as text
    operands  each with its name and type there
    """
    import onnx
    from onnx.helper import tensor_dtype_to_np_dtype
    from onnx.reference import ReferenceEvaluator

    types = onnx.TensorProto.DataType
    evaluator = ReferenceEvaluator(onnx.load_model_from_string(base64.b64decode(model)))
    given = {key: words.astype(tensor_dtype_to_np_dtype(types.Value(kind))) for key, kind, words in operands}
    found = evaluator.run(results, given)
    return np.concatenate([np.ravel(np.asarray(one)).astype(float) for one in found])


def added(moved: WordTable, more: WordTable) -> None:
    """Count the words of one more group."""
    for key, (reads, writes) in more.items():
        before = moved.get(key, (0, 0))
        moved[key] = before[0] + reads, before[1] + writes


def by_memory(words: WordTable) -> WordTable:
    """All tensors of a memory together."""
    found: dict[Any, tuple[int, int]] = {}
    for (memory, _), both in words.items():
        added(found, {(memory, "all"): both})
    return found
